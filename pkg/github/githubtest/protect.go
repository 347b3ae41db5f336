package githubtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// RulePullRequest is the type of the rule that lets a branch change by pull requests only.
const RulePullRequest = "pull_request"

// hook is run by git for every branch that is pushed. What it says is what GitHub says.
const hook = `#!/bin/sh
grep -qxF -e "$1" hooks/protected || exit 0
echo "error: GH013: Repository rule violations found for $1." >&2
echo >&2
echo "- Changes must be made through a pull request." >&2
exit 1
`

// Protect makes a rule that a branch is changed by pull requests only: pushes to it are refused, by whomever.
func (r *Repo) Protect(branch string) {
	r.act(func() error {
		if r.options.Rules == nil {
			r.options.Rules = map[string][]Rule{}
		}
		if !r.needsPullRequest(branch) {
			r.options.Rules[branch] = append(r.options.Rules[branch], pullRequestRule())
		}
		if r.options.Dir == "" {
			return nil // nobody can push to it
		}
		return r.writeHook()
	})
}

// pullRequestRule is the rule as it is made with nothing ticked: nobody has to approve.
func pullRequestRule() Rule {
	return Rule{Type: RulePullRequest, Ruleset: 1, Parameters: map[string]any{
		"required_approving_review_count": 0, "dismiss_stale_reviews_on_push": false, "require_code_owner_review": false,
		"require_last_push_approval": false, "required_review_thread_resolution": false,
	}}
}

func (r *Repo) needsPullRequest(branch string) bool {
	return slices.ContainsFunc(r.options.Rules[branch], func(rule Rule) bool { return rule.Type == RulePullRequest })
}

// writeHook makes git refuse pushes to protected branches.
func (r *Repo) writeHook() error {
	folder := filepath.Join(r.options.Dir, "hooks")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	protected := ""
	for _, branch := range slices.Sorted(maps.Keys(r.options.Rules)) {
		if r.needsPullRequest(branch) {
			protected += fmt.Sprintf("refs/heads/%s\n", branch)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "protected"), []byte(protected), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "update"), []byte(hook), 0o755)
}
