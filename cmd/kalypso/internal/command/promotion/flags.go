package promotion

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/render"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// promoteFlags are the flags of commands that promote.
type promoteFlags struct {
	// dryRun says that nothing is to be changed, so nothing need be allowed to.
	dryRun bool
	render.PublishFlags
	pullRequest bool
	render      bool
	targetURL   string
	overrides   promote.Overrides
	// dispatch is the workflow that promotes instead; empty to promote here.
	dispatch string
	// given are the flags of the command; they tell which were given.
	given *pflag.FlagSet
}

func (f *promoteFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.pullRequest, "pull-request", false, "propose the promotion with a pull request from promotion/ENVIRONMENT instead of pushing it")
	flags.BoolVar(&f.render, "render", false, "then compile and publish what was promoted, as kalypso render does")
	flags.BoolVar(&f.overrides.SkipGates, "skip-gates", false, "promote although an environment before has not deployed the commit")
	flags.StringVar(&f.targetURL, "target-url", "", "`page` that the statuses of the commit link to (default: the run of the workflow)")
	f.PublishFlags.Add(cmd)
	for _, name := range renderFlags() {
		flags.Lookup(name).Usage = "with --render: " + flags.Lookup(name).Usage
	}
	for _, name := range pullRequestFlags() {
		flags.Lookup(name).Usage = "with --pull-request or --render: " + flags.Lookup(name).Usage
	}
	f.given = flags
}

// renderFlags are those that mean something with --render only, if the command has them.
func renderFlags() []string {
	return []string{"allow-deletions", "branch", "create-branch", "direct", "ignore-kustomization", "recompile", "report-issues", "save-body", "tenant-limit"}
}

// pullRequestFlags are those about pull requests, of a promotion or of what is rendered.
func pullRequestFlags() []string {
	return []string{"assignee", "auto-merge", "draft", "force", "label", "reopen", "reviewer"}
}

// checkIdle refuses flags that would do nothing. Those that a job sets for all its commands, as variables, may.
func (f *promoteFlags) checkIdle(env func(string) string) error {
	given := func(name string) bool { return f.given.Changed(name) && env(cli.Variable(name)) == "" }
	for _, name := range renderFlags() {
		if given(name) && !f.render {
			return cli.Usage("--%s is about what --render publishes: give both, or neither", name)
		}
	}
	for _, name := range pullRequestFlags() {
		if given(name) && !f.render && !f.pullRequest {
			return cli.Usage("--%s is about a pull request: give --pull-request or --render too", name)
		}
	}
	return nil
}

// check finds wrong values.
func (f *promoteFlags) check() error {
	if f.targetURL != "" && !strings.HasPrefix(f.targetURL, "https://") && !strings.HasPrefix(f.targetURL, "http://") {
		return cli.Usage("--target-url %s: write a URL that begins with https://", f.targetURL)
	}
	if f.dispatch != "" && (f.render || f.pullRequest) {
		return cli.Usage("--dispatch lets a workflow promote, --render and --pull-request are for promoting here: give one of them")
	}
	if f.dispatch != "" && !strings.HasSuffix(f.dispatch, ".yaml") && !strings.HasSuffix(f.dispatch, ".yml") {
		return cli.Usage("--dispatch %s: write the file of a workflow, such as cd.yaml", f.dispatch)
	}
	return f.PublishFlags.Check()
}

// needs are the permissions on the control plane.
func (f *promoteFlags) needs() github.Needs {
	if f.dryRun {
		return github.Needs{Required: map[string]string{"contents": "read", "statuses": "read"}, Optional: map[string]string{}}
	}
	needs := github.Needs{Required: map[string]string{"contents": "write", "statuses": "write"}, Optional: map[string]string{}}
	if f.pullRequest {
		needs.Required["pull_requests"] = "write"
	}
	if f.dispatch != "" {
		needs.Required["actions"] = "write"
	}
	return needs
}

// permissions are those on the repositories of a role; nil where nothing is promoted or published.
func (f *promoteFlags) permissions(role model.Role) *github.Needs {
	switch {
	case role == model.Main || role == model.Platform || role == model.Base:
		needs := f.needs()
		return &needs
	case f.render:
		return f.PublishFlags.Permissions(role)
	default:
		return nil
	}
}

// pageOfRun is what statuses link to: what the command line says, else the run of the workflow.
func (f *promoteFlags) pageOfRun(env func(string) string) string {
	server, repo, run := env("GITHUB_SERVER_URL"), env("GITHUB_REPOSITORY"), env("GITHUB_RUN_ID")
	if f.targetURL != "" || server == "" || repo == "" || run == "" {
		return f.targetURL
	}
	return server + "/" + repo + "/actions/runs/" + run
}
