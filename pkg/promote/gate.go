package promote

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// The rules of what keeps a commit from being promoted.
const (
	// RuleNotOnBase is a commit that is not on the base branch.
	RuleNotOnBase = "not-on-base"
	// RuleOlderCommit is a commit that would revert what an environment has.
	RuleOlderCommit = "older-commit"
	// RuleGateClosed is a commit that an environment before has not deployed.
	RuleGateClosed = "gate-closed"
	// RuleGateUnknown is a gate whose state cannot be determined.
	RuleGateUnknown = "gate-unknown"
)

// Overrides are the guards that a person has disabled.
type Overrides struct {
	// Unmerged promotes a commit that is not on the base branch.
	Unmerged bool
	// Rollback promotes one that reverts what the environment has.
	Rollback bool
	// SkipGates promotes one that the environments before have not deployed.
	SkipGates bool
}

// facts are the input of the guards.
type facts struct {
	environment *model.Environment
	base        string
	commit      string
	// onBase says that the commit is on the base branch.
	onBase bool
	// current is what the environment has; empty if nothing was ever promoted. currentAt is where that is written.
	current   string
	currentAt diag.Place
	// relation is that of the commit seen from current, if both are on the base branch.
	relation gitobject.Relation
	// currentOnBase says that current still is on it: a branch that was rewritten has lost it.
	currentOnBase bool
	// proposed is a newer commit that waits in an open pull request, proposedIn its number; empty for none.
	proposed   string
	proposedIn int
	// gates are those of the environments before.
	gates []gate
}

// gate is the status of an environment before.
type gate struct {
	environment string
	// open is true if it has deployed the commit, unknown if that cannot be determined.
	open, unknown bool
	// status is the status that counts; zero if there is none.
	status Status
	// untrusted is a newer status that does not count; zero if there is none.
	untrusted Status
}

// guard returns all reasons against a promotion.
func guard(f facts, o Overrides) diag.List {
	var diags diag.List
	switch {
	case f.onBase:
	case o.Unmerged:
		diags.Notice(RuleNotOnBase, diag.Place{}, fmt.Sprintf("promoting commit %.12s although it is not on %q", f.commit, f.base))
	default:
		diags.Error(RuleNotOnBase, diag.Place{}, fmt.Sprintf("commit %.12s is not on the branch %q of the control plane", f.commit, f.base),
			diag.Hint("merge it first; kalypso promote --unmerged promotes it anyway"))
	}
	guardOrder(f, o, &diags)
	for _, g := range f.gates {
		guardGate(f, g, o, &diags)
	}
	return diags
}

// guardOrder keeps a late job from reverting a newer promotion.
func guardOrder(f facts, o Overrides, diags *diag.List) {
	name := f.environment.Name.Value
	if o.Rollback {
		return
	}
	if f.proposed != "" {
		diags.Error(RuleOlderCommit, diag.Place{}, fmt.Sprintf("pull request #%d proposes commit %.12s for %s, which is newer than %.12s", f.proposedIn, f.proposed, name, f.commit),
			diag.Hint("no action is needed if another run promoted it; kalypso promote --rollback proposes this one instead"))
	}
	if f.current == "" {
		return
	}
	if !f.currentOnBase {
		diags.Notice(RuleOlderCommit, f.currentAt, fmt.Sprintf("%s has commit %.12s, which is no longer on %q: cannot determine whether it is older",
			name, f.current, f.base))
		return
	}
	switch {
	case !f.onBase: // where it belongs is not known, and a person has decided
	case f.relation == gitobject.Older:
		diags.Error(RuleOlderCommit, f.currentAt, fmt.Sprintf("%s has commit %.12s, which is newer than %.12s", name, f.current, f.commit),
			diag.Hint("no action is needed if another run promoted it; kalypso promote --rollback rolls the environment back"))
	case f.relation == gitobject.Apart, f.relation == gitobject.Unknown:
		diags.Error(RuleOlderCommit, f.currentAt, fmt.Sprintf("%s has commit %.12s, and %.12s does not contain it", name, f.current, f.commit),
			diag.Hint(fmt.Sprintf("promote a commit of %q that contains both; kalypso promote --rollback promotes this one anyway", f.base)))
	}
}

func guardGate(f facts, g gate, o Overrides, diags *diag.List) {
	name := f.environment.Name.Value
	switch {
	case g.open:
	case o.SkipGates && diags.HasErrors(): // it does not go on
	case o.SkipGates:
		diags.Notice(RuleGateClosed, diag.Place{}, fmt.Sprintf("promoting %.12s to %s although %s", f.commit, name, g.describe()))
	case g.unknown:
		diags.Error(RuleGateUnknown, f.environment.Name.At, fmt.Sprintf("cannot determine whether %s has deployed %.12s: %s", g.environment, f.commit, g.status.Description),
			diag.Hint(fmt.Sprintf("kalypso check-promote --env %s promotes it if it is deployed; --skip-gates promotes it anyway", g.environment)))
	default:
		diags.Error(RuleGateClosed, f.environment.Name.At, fmt.Sprintf("%.12s must be deployed in %s before %s: %s", f.commit, g.environment, name, g.describe()),
			diag.Hint(g.hint()))
	}
}

// hint returns how to open a closed gate.
func (g gate) hint() string {
	hint := fmt.Sprintf("kalypso check-promote --env %s checks whether it is; --skip-gates promotes it anyway", g.environment)
	if isDeployed(g.untrusted) {
		hint += trustHint(g.environment, g.untrusted)
	}
	return hint
}

// trustHint returns the end of a hint that says how to trust the creator of a status; empty if the creator is unknown.
func trustHint(environment string, s Status) string {
	if s.Creator == "" {
		return ""
	}
	return fmt.Sprintf("; to trust statuses of %s, add the login to %s of Environment %q", s.Creator, StatusLoginsField, environment)
}

// describe returns the state of a gate for messages.
func (g gate) describe() string {
	switch {
	case g.unknown:
		return fmt.Sprintf("it is unknown whether %s has deployed it", g.environment)
	case isDeployed(g.untrusted):
		return fmt.Sprintf("the status %q is %s (%s), but was set by %s, whose statuses do not count",
			statusContext(g.environment), g.untrusted.State, g.untrusted.Description, g.untrusted.creator())
	case g.status.State == "":
		return fmt.Sprintf("it has no status %q", statusContext(g.environment))
	default:
		return fmt.Sprintf("its status %q is %s (%s)", statusContext(g.environment), g.status.State, g.status.Description)
	}
}

// StatusSource reads and writes the statuses of commits, including those of other creators.
type StatusSource interface {
	Statuses
	// Login returns the login that is the creator of kalypso's own statuses.
	Login(ctx context.Context) (string, error)
}

// StatusLoginsField is the field of an Environment with the logins whose statuses count besides kalypso's own.
const StatusLoginsField = "spec.promotion.checks.statusLogins"

// TrustStatuses returns the statuses of source, with Untrusted set if the creator is neither kalypso's own login nor
// one that the Environment names: everybody with write access to a repository can set a status there.
func TrustStatuses(source StatusSource, environments []*model.Environment) Statuses {
	logins := map[string][]model.Text{}
	for _, e := range environments {
		name := statusContext(e.Name.Value)
		logins[name] = nil
		if e.Promotion != nil {
			logins[name] = e.Promotion.Checks.StatusLogins
		}
	}
	return &trustedStatuses{source, logins}
}

// trustedStatuses marks statuses as untrusted. logins has the trusted logins of each environment by status context.
type trustedStatuses struct {
	StatusSource
	logins map[string][]model.Text
}

// Statuses returns the statuses of a commit and marks those that are not trusted. It requests kalypso's own login only
// for statuses of environments whose creator is not named.
func (t *trustedStatuses) Statuses(ctx context.Context, commit string) ([]Status, error) {
	statuses, err := t.StatusSource.Statuses(ctx, commit)
	if err != nil {
		return nil, err
	}
	for i, s := range statuses {
		logins, known := t.logins[strings.ToLower(s.Context)]
		if !known { // that of no environment
			statuses[i].Untrusted = true
			continue
		}
		if slices.ContainsFunc(logins, func(login model.Text) bool { return strings.EqualFold(login.Value, s.Creator) }) {
			continue
		}
		ours, err := t.Login(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w; without it the status %q of %s cannot be trusted, unless %s of the Environment names that login",
				err, s.Context, s.creator(), StatusLoginsField)
		}
		statuses[i].Untrusted = !strings.EqualFold(s.Creator, ours)
	}
	return statuses, nil
}

// creator returns the creator of a status for messages.
func (s Status) creator() string {
	if s.Creator == "" {
		return "a deleted account"
	}
	return s.Creator
}
