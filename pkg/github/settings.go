package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Settings are the settings of a repository that a run depends on.
type Settings struct {
	// ShowsMerges reports whether the fields about merges are known: GitHub shows them only to those who may push.
	ShowsMerges bool
	// SquashMessage is the default message of squash merges, "BLANK" or "PR_BODY", if it drops the message of the commit;
	// empty if it keeps that, or without squash merges.
	SquashMessage  string
	AllowAutoMerge bool
	// TokenExpires is when the token expires; zero if GitHub does not report it.
	TokenExpires time.Time
}

// Settings reads the settings of the repository, once.
func (r *Repository) Settings(ctx context.Context) (Settings, error) {
	found, err := r.about(ctx)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{
		ShowsMerges: found.AllowSquashMerge != nil, AllowAutoMerge: found.GetAllowAutoMerge(),
		TokenExpires: r.tokenExpires,
	}
	if message := found.GetSquashMergeCommitMessage(); found.GetAllowSquashMerge() && message != "COMMIT_MESSAGES" {
		s.SquashMessage = message
	}
	return s, nil
}

// Rules returns the types of the active rules for a branch, which need not exist, such as "creation". It skips rulesets
// that the owner of the token may bypass, and branch protection rules, which GitHub does not list.
func (r *Repository) Rules(ctx context.Context, branch string) ([]string, error) {
	op := operation{act: "read the branch rules", need: "metadata: read"}
	var rules []struct { // go-github refuses types that it does not know
		Type    string
		Ruleset int64 `json:"ruleset_id"`
	}
	if err := r.get(ctx, op, "rules/branches/"+url.PathEscape(branch)+"?per_page=100", &rules); err != nil {
		return nil, err
	}
	var types []string
	bypassed := map[int64]bool{}
	for _, rule := range rules {
		if _, known := bypassed[rule.Ruleset]; !known {
			var set struct {
				Bypass string `json:"current_user_can_bypass"`
			}
			if err := r.get(ctx, op, fmt.Sprintf("rulesets/%d", rule.Ruleset), &set); err != nil {
				return nil, err
			}
			bypassed[rule.Ruleset] = set.Bypass == "always" || set.Bypass == "exempt"
		}
		if !bypassed[rule.Ruleset] {
			types = append(types, rule.Type)
		}
	}
	return types, nil
}

// IsProtected reports whether a branch exists and a branch protection rule applies to it.
func (r *Repository) IsProtected(ctx context.Context, branch string) (bool, error) {
	var found struct{ Protection struct{ Enabled bool } }
	err := r.get(ctx, operation{act: "read the branch", need: "contents: read"}, "branches/"+url.PathEscape(branch), &found)
	var missing *Error
	if errors.As(err, &missing) && missing.Status == http.StatusNotFound {
		return false, nil
	}
	return found.Protection.Enabled, err
}

// WorkflowToken reads the permissions of the GITHUB_TOKEN of workflows: to write by default, and to open pull requests.
func (r *Repository) WorkflowToken(ctx context.Context) (writes, opens bool, err error) {
	var found struct {
		Default string `json:"default_workflow_permissions"`
		Opens   bool   `json:"can_approve_pull_request_reviews"`
	}
	err = r.get(ctx, operation{act: "read the settings of Actions", need: "administration: read"}, "actions/permissions/workflow", &found)
	return found.Default == "write", found.Opens, err
}

func (r *Repository) get(ctx context.Context, op operation, path string, into any) error {
	request, err := r.client.api.NewRequest(http.MethodGet, "repos/"+r.owner+"/"+r.name+"/"+path, nil)
	if err == nil {
		_, err = r.client.api.Do(ctx, request, into)
	}
	return r.explain(op, err)
}
