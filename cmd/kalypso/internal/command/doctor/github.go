package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// soon is how long before its end a token is reported.
const soon = 14 * 24 * time.Hour

// unchecked adds a check that could not be made.
func (r *run) unchecked(check, what string, err error) {
	var refused *github.Error
	_, hint := session.CauseOf(err)
	if errors.As(err, &refused) && refused.Permission != "" {
		r.warn(check, hint, "not checked: %s (needs %s)", what, refused.Permission)
		return
	}
	r.warn(check, hint, "not checked: %s: %v", what, err)
}

// connect returns the GitHub repository at a place. It is nil, and what is not checked, if there is none.
func (r *run) connect(ctx context.Context, check string, role model.Role, at, what string) *github.Repository {
	forge, err := r.ConnectForge(ctx, role, at)
	switch {
	case err != nil:
		r.unchecked(check, what, err)
	case forge.Repo == nil && forge.Note != "":
		r.warn(check, "set "+credentials.RoleVariable(role)+", or use a GitHub App", "not checked: %s (needs a token)", what)
	case forge.Repo == nil:
		r.warn(check, "see "+scaffold.Doc("how-to/set-up-github"), "not checked: %s (needs GitHub)", what)
	}
	return forge.Repo
}

// page is where merge settings are.
const page = "in Settings, General, Pull Requests of the repository, "

// onGitHub checks what GitHub requires of a publication, and what it does to one.
func (r *run) onGitHub(ctx context.Context, at string, repo *model.GitOpsRepo) {
	found, known := r.repos[at]
	if !known {
		found = r.connect(ctx, "github", model.Output, at, "pull requests, branch rules and merge settings of "+at)
		r.repos[at] = found
	}
	if found == nil {
		return
	}
	if !known {
		r.settings(ctx, found, at)
	}
	auto := r.autoMerge || repo.Publishing.PullRequest.AutoMerge.Value != ""
	if s, err := found.Settings(ctx); auto && err == nil && s.ShowsMerges && !s.AllowAutoMerge && !r.once["auto-merge "+at] {
		r.once["auto-merge "+at] = true
		r.warn("merge-settings", page+`select "Allow auto-merge"`, "%s does not allow auto-merge, which pull requests into %q use", at, repo.Branch.Value)
	}
	if _, err := found.Open(ctx, repo.Branch.Value); err != nil {
		r.errorOf("pull-requests", "", err)
	}
	r.rules(ctx, found, at, repo)
}

// settings checks the settings of a GitOps repository and its token.
func (r *run) settings(ctx context.Context, found *github.Repository, at string) {
	origin := r.origin(ctx, model.Output, at)
	r.workflowToken = r.workflowToken || origin != credentials.AppOrigin && origin != credentials.EnvGitOps
	if origin == credentials.EnvGitHub && r.Env("GITHUB_ACTIONS") == "true" {
		r.warn("token", "use a GitHub App", "pull requests that GITHUB_TOKEN opens in %s start no workflows, so their checks do not run", at)
	}
	s, err := found.Settings(ctx)
	const check = "merge-settings"
	switch {
	case err != nil:
		r.unchecked(check, "merge settings of "+at, err)
	case !s.ShowsMerges:
		r.warn(check, "the token needs push access", "not checked: merge settings of %s (needs contents: write)", at)
	case s.SquashMessage != "":
		r.warn(check, page+`set the default message of squash merging to "Pull request title and commit details"`,
			"squash merges in %s drop the commit trailers, from which kalypso knows what is published (default message %s)", at, s.SquashMessage)
	default:
		r.ok(check, "merges in %s keep the commit trailers", at)
	}
	r.expiry(origin, s.TokenExpires)
}

// expiry checks, once, when a token expires. Those of an App are renewed.
func (r *run) expiry(origin string, expires time.Time) {
	if expires.IsZero() || expires.Sub(r.Now()) > soon || origin == credentials.AppOrigin || r.once[origin] {
		return
	}
	r.once[origin] = true
	r.warn("token", "replace it, or use a GitHub App", "the token in %s expires on %s", origin, expires.UTC().Format(time.DateOnly))
}

// rules checks the branch rules that can stop pushes of kalypso or merges of what it pushed.
func (r *run) rules(ctx context.Context, found *github.Repository, at string, repo *model.GitOpsRepo) {
	const check = "branch-rules"
	base, head := repo.Branch.Value, gitops.DeploymentBranch(repo)
	merging := []string{"required_signatures", "commit_message_pattern", "commit_author_email_pattern", "committer_email_pattern"}
	pushing := append([]string{"creation", "update", "non_fast_forward", "pull_request", "required_status_checks"}, merging...)
	warned := r.counts.warnings
	for _, branch := range []string{head, base} {
		types := pushing
		if branch == base {
			types = merging
		}
		active, err := found.Rules(ctx, branch)
		if err != nil {
			r.unchecked(check, fmt.Sprintf("branch rules for %q of %s", branch, at), err)
			continue
		}
		active = slices.DeleteFunc(active, func(kind string) bool { return !slices.Contains(types, kind) })
		if len(active) > 0 {
			r.warn(check, "let kalypso's App or account bypass the ruleset, or exclude the branch; with --signing-key commits are signed",
				"rulesets of %s can stop kalypso on %q: %s", at, branch, strings.Join(active, ", "))
		}
	}
	protected, err := found.IsProtected(ctx, head)
	switch {
	case err != nil:
		r.unchecked(check, fmt.Sprintf("branch protection of %q of %s", head, at), err)
	case r.counts.warnings > warned:
	case protected:
		r.warn(check, "exclude the branch from the branch protection rule, or let kalypso's App or account push and force-push",
			"%q of %s is protected, which can stop kalypso's pushes", head, at)
	default:
		r.ok(check, "no branch rules of %s stop pushes to %q or pull requests into %q", at, head, base)
	}
}

// actions checks the token for the control plane, and whether its workflows may open pull requests, if they have no other
// token for that.
func (r *run) actions(ctx context.Context) {
	const check, settings = "actions", "in Settings, Actions, General, Workflow permissions of the repository, "
	ref := r.Loader.Main().Ref
	at := r.where(ref)
	what := "Actions settings of " + at
	found := r.connect(ctx, check, ref.Role, at, what)
	if found == nil {
		return
	}
	if s, err := found.Settings(ctx); err == nil {
		r.expiry(r.origin(ctx, ref.Role, at), s.TokenExpires)
	}
	if !r.workflowToken {
		return
	}
	writes, opens, err := found.WorkflowToken(ctx)
	switch {
	case err != nil:
		r.unchecked(check, what, err)
	case !opens:
		r.warn(check, settings+`select "Allow GitHub Actions to create and approve pull requests", or use a GitHub App`,
			"workflows of %s may not create pull requests with GITHUB_TOKEN", at)
	case writes:
		r.warn(check, settings+`select "Read repository contents and packages permissions": kalypso's workflows request what they need`,
			"GITHUB_TOKEN of workflows of %s can write by default", at)
	default:
		r.ok(check, "workflows of %s may create pull requests with GITHUB_TOKEN, which only reads by default", at)
	}
}
