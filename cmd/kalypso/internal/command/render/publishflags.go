package render

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// PublishFlags are the flags about publishing.
type PublishFlags struct {
	branch       string
	createBranch bool
	direct       bool
	Force        bool
	reopen       bool
	reportIssues bool
	recompile    bool
	saveBody     string

	allowDeletions bool
	author         string
	signingKey     string

	labels, reviewers, assignees []string
	draft                        bool
	autoMerge                    string

	// changed reports whether a flag was given: then it replaces the setting of the GitOpsRepo or Environment.
	changed func(name string) bool
	// teams says that a GitOpsRepo requests reviews from teams.
	teams bool
}

// Add adds the flags to a command.
func (f *PublishFlags) Add(cmd *cobra.Command, e *cli.Host) {
	flags := cmd.Flags()
	f.changed = flags.Changed
	flags.StringVar(&f.branch, "branch", "", "push to this `branch` (default: spec.pullRequest.branch, else deployment/BRANCH)")
	flags.BoolVar(&f.createBranch, "create-branch", false, "create the GitOps branch if it is missing")
	flags.BoolVar(&f.direct, "direct", false, "push to the GitOps branch directly, without a pull request")
	flags.BoolVar(&f.Force, "force", false, "overwrite commits of others on the deployment branch")
	flags.BoolVar(&f.allowDeletions, "allow-deletions", false, "publish even if most targets would be removed")
	flags.StringVar(&f.author, "author", "", "commit author: `\"NAME <EMAIL>\"` (default: spec.commit.author, else the bot of the GitHub App or workflow, else kalypso)")
	flags.StringVar(&f.signingKey, "signing-key", "", "sign the commit with the ssh-ed25519 key in this `file`")
	flags.StringArrayVar(&f.labels, "label", nil, "add a `label` to the pull request (repeatable; default: spec.pullRequest.labels)")
	flags.StringArrayVar(&f.reviewers, "reviewer", nil, "request a review from a `user` or OWNER/TEAM (repeatable; default: spec.pullRequest.reviewers)")
	flags.StringArrayVar(&f.assignees, "assignee", nil, "assign the pull request to a `user` (repeatable; default: spec.pullRequest.assignees)")
	flags.BoolVar(&f.draft, "draft", false, "open the pull request as a draft (default: spec.pullRequest.draft)")
	flags.StringVar(&f.autoMerge, "auto-merge", "", "merge the pull request when its requirements are met; `mode` is always, no-change (only if no cluster changes) or never (default: spec.pullRequest.autoMerge)")
	flags.Lookup("auto-merge").NoOptDefVal = string(pullrequest.AutoMergeAlways)
	flags.BoolVar(&f.reportIssues, "report-issues", false, "open an issue in the GitOps repository if an environment fails, and close it when it succeeds")
	flags.BoolVar(&f.recompile, "recompile", false, "compile even if nothing changed since the last output")
	flags.StringVar(&f.saveBody, "save-body", "", "write the pull request text to this `file` in Markdown, for forges that kalypso does not support")
	flags.BoolVar(&f.reopen, "reopen", false, "reopen a pull request that was closed manually")
	cli.Group(flags, cli.Publishing, "direct force allow-deletions",
		"branch create-branch recompile report-issues draft label reviewer assignee auto-merge reopen save-body author signing-key")
	e.CompleteFlag(cmd, "auto-merge", string(pullrequest.AutoMergeAlways), string(pullrequest.AutoMergeNoChange), never)
}

// never is the value of --auto-merge that turns spec.pullRequest.autoMerge off.
const never = "never"

func (f *PublishFlags) when() pullrequest.AutoMerge {
	if f.autoMerge == never {
		return pullrequest.AutoMergeNever
	}
	return pullrequest.AutoMerge(f.autoMerge)
}

// Check finds wrong values.
func (f *PublishFlags) Check() error {
	switch f.when() {
	case pullrequest.AutoMergeNever, pullrequest.AutoMergeAlways, pullrequest.AutoMergeNoChange:
	default:
		return cli.InvalidValue("auto-merge", f.autoMerge, "always, no-change or never")
	}
	if f.draft && f.when() != pullrequest.AutoMergeNever {
		return cli.Usage("--draft and --auto-merge cannot be combined")
	}
	if f.direct && f.branch != "" {
		return cli.Usage("--direct and --branch cannot be combined")
	}
	if err := model.CheckBranch(f.branch); f.branch != "" && err != nil {
		return cli.Usage("--branch %q: %v", f.branch, err)
	}
	if f.author != "" {
		if _, err := gitobject.ParseIdentity(f.author); err != nil {
			return cli.Usage("--author %q: %v", f.author, err)
		}
	}
	return nil
}

// Author is what --author or else the setting says; the zero value if neither does.
func (f *PublishFlags) Author(of model.Commit) gitobject.Identity {
	text := f.author
	if !f.changed("author") {
		text = of.Author.Value
	}
	author, _ := gitobject.ParseIdentity(text) // both were checked
	return author
}

// PublishOptions turns the flags into what publishing needs, but for the author.
func (f *PublishFlags) PublishOptions() (gitops.PublishOptions, error) {
	options := gitops.PublishOptions{
		Direct: f.direct, Force: f.Force, CreateBranch: f.createBranch, AllowDeletions: f.allowDeletions,
	}
	if f.signingKey != "" {
		pem, err := os.ReadFile(f.signingKey)
		if err == nil {
			options.Key, err = gitobject.ParseSigningKey(pem)
		}
		if err != nil {
			return options, cli.Usage("--signing-key %s: %w", f.signingKey, err)
		}
	}
	return options, nil
}

// needs are the permissions on a GitOps repository that the flags need. Without those that are optional the output is
// published all the same.
func (f *PublishFlags) needs() github.Needs {
	needs := github.Needs{
		Required: map[string]string{"contents": "write", "pull_requests": "write"}, Optional: map[string]string{},
	}
	if f.direct { // only to close what stands open
		delete(needs.Required, "pull_requests")
		needs.Optional["pull_requests"] = "write"
	}
	if f.reportIssues {
		needs.Optional["issues"] = "write"
	}
	if f.teams || hasTeam(cli.Split(f.reviewers)) {
		needs.Optional["members"] = "read" // to ask a team
	}
	return needs
}

// expectTeams finds out whether a GitOpsRepo requests reviews from teams, before there is a token for it.
func (f *PublishFlags) expectTeams(platform *model.Objects) {
	if platform == nil {
		return
	}
	for _, repo := range platform.GitOpsRepos {
		f.teams = f.teams || hasTeam(f.Request(repo.Publishing.PullRequest).Reviewers)
	}
}

func hasTeam(reviewers []string) bool {
	return slices.ContainsFunc(reviewers, func(who string) bool { return strings.Contains(who, "/") })
}

// Permissions are those on the repositories of a role; nil where nothing is published.
func (f *PublishFlags) Permissions(role model.Role) *github.Needs {
	if role != model.Output {
		return nil
	}
	needs := f.needs()
	return &needs
}

// Request is what flags and settings say about the pull request. A flag that was given replaces its setting, and one that
// contradicts it: --draft autoMerge, --auto-merge draft.
func (f *PublishFlags) Request(of model.PullRequest) pullrequest.Options {
	options := pullrequest.Options{
		Labels: f.list("label", f.labels, of.Labels), Reviewers: f.list("reviewer", f.reviewers, of.Reviewers),
		Assignees: f.list("assignee", f.assignees, of.Assignees), Draft: f.draft, AutoMerge: f.when(), Reopen: f.reopen,
	}
	if !f.changed("draft") && f.when() == pullrequest.AutoMergeNever {
		options.Draft = of.Draft.Value
	}
	if !f.changed("auto-merge") && !f.draft {
		options.AutoMerge = pullrequest.AutoMerge(of.AutoMerge.Value)
	}
	return options
}

// list is what a flag that repeats says, or else its setting.
func (f *PublishFlags) list(flag string, given []string, setting []model.Text) []string {
	if f.changed(flag) {
		return cli.Split(given)
	}
	var values []string
	for _, text := range setting {
		values = append(values, text.Value)
	}
	return values
}
