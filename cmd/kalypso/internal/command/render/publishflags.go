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
}

// Add adds the flags to a command.
func (f *PublishFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.branch, "branch", "", "push to this `branch` (default deployment/BRANCH, with the branch of the GitOpsRepo)")
	flags.BoolVar(&f.createBranch, "create-branch", false, "create the GitOps branch if it is missing")
	flags.BoolVar(&f.direct, "direct", false, "push to the GitOps branch directly, without a pull request")
	flags.BoolVar(&f.Force, "force", false, "overwrite commits of others on the deployment branch")
	flags.BoolVar(&f.allowDeletions, "allow-deletions", false, "publish even if most targets would be removed")
	flags.StringVar(&f.author, "author", "", "commit author: `\"NAME <EMAIL>\"` (default: the bot of the GitHub App or workflow, else kalypso)")
	flags.StringVar(&f.signingKey, "signing-key", "", "sign the commit with the ssh-ed25519 key in this `file`")
	flags.StringArrayVar(&f.labels, "label", nil, "add a `label` to the pull request (repeatable)")
	flags.StringArrayVar(&f.reviewers, "reviewer", nil, "request a review from a `user` or OWNER/TEAM (repeatable)")
	flags.StringArrayVar(&f.assignees, "assignee", nil, "assign the pull request to a `user` (repeatable)")
	flags.BoolVar(&f.draft, "draft", false, "open the pull request as a draft")
	flags.StringVar(&f.autoMerge, "auto-merge", "", "merge the pull request when its requirements are met; `when` is always or no-change (only if no cluster changes)")
	flags.Lookup("auto-merge").NoOptDefVal = string(pullrequest.AutoMergeAlways)
	flags.BoolVar(&f.reportIssues, "report-issues", false, "open an issue in the GitOps repository if an environment fails, and close it when it succeeds")
	flags.BoolVar(&f.recompile, "recompile", false, "compile even if nothing changed since the last output")
	flags.StringVar(&f.saveBody, "save-body", "", "write the pull request text to this `file` in Markdown, for forges that kalypso does not support")
	flags.BoolVar(&f.reopen, "reopen", false, "reopen a pull request that a person closed")
	cli.Group(flags, cli.Publishing, "direct force allow-deletions",
		"branch create-branch recompile report-issues draft label reviewer assignee auto-merge reopen save-body author signing-key")
	_ = cmd.RegisterFlagCompletionFunc("auto-merge", cobra.FixedCompletions(
		[]string{string(pullrequest.AutoMergeAlways), string(pullrequest.AutoMergeNoChange)}, cobra.ShellCompDirectiveNoFileComp))
}

// Check finds wrong values.
func (f *PublishFlags) Check() error {
	switch pullrequest.AutoMerge(f.autoMerge) {
	case pullrequest.AutoMergeNever, pullrequest.AutoMergeAlways, pullrequest.AutoMergeNoChange:
	default:
		return cli.Usage("--auto-merge %s: write %s or %s", f.autoMerge, pullrequest.AutoMergeAlways, pullrequest.AutoMergeNoChange)
	}
	if f.draft && f.autoMerge != "" {
		return cli.Usage("--draft keeps a pull request from being merged, --auto-merge merges it: give one of them")
	}
	if f.direct && f.branch != "" {
		return cli.Usage("--direct commits to the GitOps branch, --branch names another one: give one of them")
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

// PublishOptions turns the flags into what publishing needs. Without --author there is none.
func (f *PublishFlags) PublishOptions() (gitops.PublishOptions, error) {
	options := gitops.PublishOptions{
		Direct: f.direct, Force: f.Force, CreateBranch: f.createBranch, AllowDeletions: f.allowDeletions,
	}
	if f.author != "" {
		var err error
		if options.Author, err = gitobject.ParseIdentity(f.author); err != nil {
			return options, cli.Usage("--author %q: %v", f.author, err)
		}
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
	if slices.ContainsFunc(cli.Split(f.reviewers), func(who string) bool { return strings.Contains(who, "/") }) {
		needs.Optional["members"] = "read" // to ask a team
	}
	return needs
}

// Permissions are those on the repositories of a role; nil where nothing is published.
func (f *PublishFlags) Permissions(role model.Role) *github.Needs {
	if role != model.Output {
		return nil
	}
	needs := f.needs()
	return &needs
}

// Request is what the flags say about the pull request.
func (f *PublishFlags) Request() pullrequest.Options {
	return pullrequest.Options{
		Labels: cli.Split(f.labels), Reviewers: cli.Split(f.reviewers), Assignees: cli.Split(f.assignees),
		Draft: f.draft, AutoMerge: pullrequest.AutoMerge(f.autoMerge), Reopen: f.reopen,
	}
}
