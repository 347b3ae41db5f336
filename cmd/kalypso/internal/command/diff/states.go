package diff

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/impact"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// promotedState is the state of the base branch that the environments see now.
const promotedState = "promoted"

// branchStates are two states of a branch.
type branchStates struct {
	// repo is in normal form; empty for the control plane.
	repo, branch string
	// base says that one of the branches is the base branch of the control plane.
	base     bool
	from, to string
	// others are other branches of the control plane with commits that are not pushed, and their last pushed states.
	others map[string]string
	// request is the number of the pull request that is looked at; 0 for none.
	request int
}

// describe names a state of a branch for people.
func describe(branch, state string) string {
	switch {
	case state == promotedState:
		return "promoted commits"
	case state == source.WorktreeBase:
		return "working tree"
	case giturl.IsFullCommit(state):
		return fmt.Sprintf("%s at %.12s", branch, state)
	default:
		return state
	}
}

// reaches reports whether a fleet is made of the branch. Of one that could not be read that is not known.
func (s *branchStates) reaches(fleet *model.Fleet) bool {
	return s.repo == "" || fleet == nil || slices.ContainsFunc(fleet.Registrations, func(r *model.WorkloadRegistration) bool {
		repo, err := giturl.NormalURL(r.Workload.Repo.Value)
		return err == nil && repo == s.repo && r.Workload.Branch.Value == s.branch
	})
}

// command compares the same states.
func (s *branchStates) command() string {
	command := "kalypso diff"
	if len(s.others) > 0 {
		return command
	}
	if s.repo != "" {
		command += " --repo " + s.repo
	}
	if s.request > 0 { // no clone has what merging would make
		command = fmt.Sprintf("git fetch origin pull/%d/merge && ", s.request) + command
	}
	return fmt.Sprintf("%s --branch %s --from %s --to %s", command, s.branch, s.from, s.to)
}

// states finds out which states of which branch are compared.
func (c *comparison) states(ctx context.Context) (*branchStates, error) {
	f := c.flags
	s := &branchStates{branch: f.branch, from: f.from, to: f.to}
	if request := runningFor(c.Env); request != nil && f.branch == "" && f.from == "" && f.to == "" {
		s.branch, s.to, s.request = request.base, request.merge, request.number
		changes, err := c.Reader.CommitChanges(ctx, model.Ref{Repo: c.Loader.Main().Ref.Repo, Commit: request.merge, Role: model.Main})
		if err != nil {
			return nil, err
		}
		s.from = changes.Parent
	}
	checkedOut, err := c.place(ctx, s)
	if err != nil {
		return nil, err
	}
	if s.to == "" {
		s.to = s.branch
		if checkedOut == s.branch || checkedOut != "" && !slices.Contains(c.Branches(), checkedOut) { // work on the branch
			s.to = c.workState(s.branch)
		}
	}
	if err := c.findPushed(ctx, s); err != nil {
		return nil, err
	}
	if s.to == source.WorktreeBase && checkedOut != s.branch && slices.Contains(c.Branches(), checkedOut) {
		return nil, cli.Usage("the working tree has branch %s checked out, not %s", checkedOut, s.branch)
	}
	for _, name := range c.named {
		if e := session.Named(c.Known, name); e != nil && !c.readBy(s, e) {
			return nil, cli.UsageHint(fmt.Sprintf("set --branch to %s or %s", c.Loader.BaseBranch(), e.ControlPlane.Branch.Value),
				"environment %q does not use the branch %q", name, s.branch)
		}
	}
	if s.from == s.to {
		return nil, cli.UsageHint("set --from or --to to another state", "nothing to compare: --from and --to are both %s", describe(s.branch, s.to))
	}
	c.command = s.command()
	for _, state := range []string{s.from, s.to} {
		if state == promotedState && !s.base {
			return nil, cli.Usage("the state %q exists only for the base branch %s of the control plane", promotedState, c.Loader.BaseBranch())
		}
	}
	return s, nil
}

// workState is what is compared by default of a branch that is worked on.
func (c *comparison) workState(branch string) string {
	if c.flags.Committed {
		return branch
	}
	return source.WorktreeBase
}

// findPushed sets the default of the state before: the branch or, if nothing says what to compare, what is pushed of it and
// of the other branches of the control plane.
func (c *comparison) findPushed(ctx context.Context, s *branchStates) (err error) {
	if s.from != "" || c.flags.branch != "" || c.flags.to != "" {
		s.from = cmp.Or(s.from, s.branch)
		return nil
	}
	for _, name := range c.Branches() {
		ref := c.Loader.Main().Ref
		ref.Branch, ref.Commit = name, ""
		pushed, ahead, err := c.Reader.Pushed(ctx, ref)
		switch {
		case name == s.branch && err == nil:
			s.from = pushed
		case name == s.branch:
			return err
		case ahead: // one that cannot be read is reported when its environment is
			if s.others == nil {
				s.others = map[string]string{}
			}
			s.others[name] = pushed
			s.base = s.base || name == c.Loader.BaseBranch()
		}
	}
	return nil
}

// before and after name all states for people.
func (s *branchStates) before() string {
	names := []string{describe(s.branch, s.from)}
	for _, branch := range slices.Sorted(maps.Keys(s.others)) {
		names = append(names, describe(branch, s.others[branch]))
	}
	return strings.Join(names, " and ")
}

func (s *branchStates) after() string {
	return strings.Join(append([]string{describe(s.branch, s.to)}, slices.Sorted(maps.Keys(s.others))...), " and ")
}

// instead are the states of all branches, before or after.
func (s *branchStates) instead(state string) map[source.BranchOf]string {
	all := map[source.BranchOf]string{{Repo: s.repo, Branch: s.branch}: state}
	for branch, pushed := range s.others {
		if state != s.from {
			pushed = branch
		}
		all[source.BranchOf{Branch: branch}] = pushed
	}
	return all
}

// readBy reports whether an environment reads one of the branches.
func (c *comparison) readBy(s *branchStates, e *model.Environment) bool {
	return s.repo != "" || s.base || c.Loader.Owns(e) && (e.ControlPlane.Branch.Value == s.branch || s.others[e.ControlPlane.Branch.Value] != "")
}

// place finds the repository and the branch, and returns which branch is checked out where that is a clone on this
// machine.
func (c *comparison) place(ctx context.Context, s *branchStates) (checkedOut string, err error) {
	if c.flags.repo != "" {
		if s.repo, err = giturl.NormalURL(c.flags.repo); err != nil {
			return "", cli.Usage("--repo: %w", err)
		}
		return c.Reader.CheckedOut(ctx, c.flags.repo), nil
	}
	repo, err := c.flags.FindControlPlane(c.Host)
	if err != nil {
		return "", err
	}
	checkedOut = c.Reader.CheckedOut(ctx, repo)
	if s.branch = cmp.Or(s.branch, checkedOut); s.branch == "" {
		if clone := c.Reader.Local(ctx, repo); clone != nil && clone.WorkTree != "" {
			return "", cli.UsageHint("check one out, or set --branch to "+diag.Alternatives(c.Branches()), "no branch is checked out")
		}
		hint := "to compare two environments, use --env and --with-env"
		if c.InClone(ctx) {
			hint = "to compare the edits in this clone, use --control-plane ."
		}
		return "", cli.UsageHint(hint, "required flag: --branch (%s)", diag.Alternatives(c.Branches()))
	}
	if c.flags.branch == "" && s.branch == checkedOut && !slices.Contains(c.Branches(), checkedOut) {
		return "", cli.UsageHint("set --branch to "+diag.Alternatives(c.Branches()), "no environment uses the branch %q, which is checked out", checkedOut)
	}
	if !slices.Contains(c.Branches(), s.branch) {
		return "", cli.UsageHint(diag.DidYouMean(s.branch, c.Branches()), "no environment uses the branch %q", s.branch)
	}
	s.base = s.branch == c.Loader.BaseBranch()
	return checkedOut, nil
}

// compilerState is what compiles a state.
type compilerState struct {
	compiler     *session.Compiler
	environments []*model.Environment
	// broken says why its Environments cannot be compiled; empty if they can.
	broken diag.List
}

// compilerAt returns what compiles a state of a branch; nil if the branch cannot be read, and then the diagnostics of the
// run say why.
func (c *comparison) compilerAt(ctx context.Context, s *branchStates, state string) *compilerState {
	if state == promotedState || ctx.Err() != nil {
		return &compilerState{compiler: c.Compiler, environments: c.Known}
	}
	loader := c.Loader.At(s.instead(state))
	environments := c.Known
	var broken diag.List
	if s.base {
		read, diags := loader.Environments(ctx)
		if loader.Main() == nil {
			c.Diags.Add(diags.Only(diag.Error))
			return nil
		}
		if environments = read; diags.HasErrors() {
			broken = diags.Only(diag.Error)
		}
	}
	return &compilerState{&session.Compiler{Reader: c.Reader, Loader: loader, Names: session.EnvironmentNames(environments)}, environments, broken}
}

// compileState compiles an environment. One that is not there has nothing; as is what it is on the other side.
func (c *comparison) compileState(ctx context.Context, with *session.Compiler, environment, as *model.Environment) *session.Compiled {
	if environment == nil || ctx.Err() != nil {
		return emptyState(as)
	}
	return with.Line(ctx, environment, session.Stages{Begin: c.Begin})
}

// emptyState is that of an environment that is not there.
func emptyState(environment *model.Environment) *session.Compiled {
	return &session.Compiled{Environment: environment, Fleet: &model.Fleet{Environment: environment}, Tree: &render.Tree{}}
}

func stateOf(c *session.Compiled) impact.State {
	return impact.State{Absent: len(c.Fleet.Sources) == 0, Fleet: c.Fleet, Assignments: c.Assignments, Tree: c.Tree}
}
