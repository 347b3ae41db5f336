package promote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote/baserepo"
)

// Promoter promotes commits in a control plane as it was read at one time. After gitops.ErrMoved, read it anew.
type Promoter struct {
	Reader *gitops.Reader
	Loader *gitops.Loader
	Chain  *Chain
	// Statuses are those of the control plane's commits; nil if there are none, and NoStatuses says why.
	Statuses   Statuses
	NoStatuses string
	// Ancestry answers for git servers that cannot; nil if there is nothing to ask.
	Ancestry gitops.Ancestry
	// TargetURL is the page that statuses link to; it may be empty.
	TargetURL string
	// Version is that of the program, for the commit.
	Version string

	history *gitops.History
}

// Request is what is to be promoted.
type Request struct {
	Environment *model.Environment
	// Commit is a full id or the beginning of one; empty for the tip of the base branch.
	Commit string
	Overrides
	// Deployed are environments of which this run itself has found out that they have deployed the commit.
	Deployed []string
	// DryRun finds out what would be done, and does nothing.
	DryRun bool
	// PullRequest proposes the promotion instead of pushing it.
	PullRequest bool
	// Forge opens the pull request; nil if the control plane is on no forge that kalypso knows.
	Forge gitops.PullRequests
	// Submission is what the command line says about the pull request.
	Submission gitops.Submission
	// Force overwrites what others committed to the branch of the pull request.
	Force bool
	// Author says who commits.
	Author func(context.Context) (gitops.Identity, error)
	// Key signs the commit; nil for no signature.
	Key *gitops.SigningKey
}

// Action says what became of a request.
type Action string

// What can become of a request.
const (
	// ActionPromoted: the environment has the commit now.
	ActionPromoted Action = "promoted"
	// ActionProposed: a pull request has it.
	ActionProposed Action = "proposed"
	// ActionUnchanged: the environment had it already.
	ActionUnchanged Action = "unchanged"
	// ActionDispatched: a workflow was started that promotes it.
	ActionDispatched Action = "dispatched"
	// ActionWaiting: another environment before has not deployed it yet.
	ActionWaiting Action = "waiting"
	// ActionNotPromotable: the commit is a promotion itself, and nothing else.
	ActionNotPromotable Action = "not-promotable"
	// ActionRefused: the diagnostics say why.
	ActionRefused Action = "refused"
)

// Outcome is what became of a request.
type Outcome struct {
	Environment string
	Action      Action
	// Commit is the promoted one, and From what the environment had before; empty if there was none.
	Commit, From string
	// DryRun says that nothing was done.
	DryRun bool
	// Newer says that the environment has something newer than the commit.
	Newer bool
	// Repo, Branch and File are where the commit is written, and Pushed is the commit that writes it; empty if nothing
	// was pushed.
	Repo, Branch, File, Pushed string
	// Request is the pull request; nil if there is none.
	Request *gitops.SubmissionResult
	// Status is what was said on the commit; nil if nothing was.
	Status *Status
	Diags  diag.List
	// Notes are for people.
	Notes []string
}

// Promote promotes a commit. What keeps it from being promoted is in the diagnostics of the outcome. The error wraps
// gitops.ErrMoved if somebody was faster.
func (p *Promoter) Promote(ctx context.Context, r Request) (Outcome, error) {
	step := &step{Promoter: p, Request: r, out: Outcome{Environment: r.Environment.Name.Value, Action: ActionRefused, DryRun: r.DryRun}}
	err := step.run(ctx)
	return step.out, err
}

// step is one promotion on its way.
type step struct {
	*Promoter
	Request
	out Outcome

	branch *gitops.Branch
	base   *model.BaseRepo
	// files are those that change.
	files    map[string][]byte
	newest   time.Time
	statuses []Status
	facts    facts
}

func (s *step) run(ctx context.Context) error {
	for _, part := range []func(context.Context) error{s.open, s.resolve, s.loops, s.compare, s.gates, s.decide, s.write, s.tell} {
		if err := part(ctx); err != nil || s.out.Diags.HasErrors() {
			if s.out.Diags.HasErrors() {
				s.out.Action = ActionRefused
			}
			return err
		}
		if s.out.Action == ActionNotPromotable || s.out.Action == ActionWaiting {
			return nil
		}
	}
	return nil
}

// open reads the branch of the environment.
func (s *step) open(ctx context.Context) error {
	objects, diags := s.Loader.Platform(ctx, s.Environment)
	s.out.Diags.Add(diags)
	if objects == nil {
		return nil
	}
	s.out.Diags = onlyNeeded(s.out.Diags, objects)
	head := ""
	if s.PullRequest {
		head = HeadBranch(s.Environment.Name.Value)
	}
	var err error
	if s.branch, err = s.Reader.OpenBranch(ctx, gitops.PlatformRef(s.Environment), head); err != nil {
		return err
	}
	s.newest = objects.Source.Committed
	s.out.Repo, s.out.Branch = s.branch.At, s.branch.Branch
	if s.branch.Tip != objects.Source.Commit {
		return fmt.Errorf("branch %q: %w", s.branch.Branch, gitops.ErrMoved)
	}
	s.findBase(objects)
	return nil
}

// onlyNeeded leaves out what is wrong with objects that promoting does not touch: rendering reports that.
func onlyNeeded(diags diag.List, objects *model.Objects) diag.List {
	if objects.Incomplete {
		return diags // a BaseRepo may be in what could not be read
	}
	broken := map[diag.File]bool{}
	for _, base := range objects.BaseRepos {
		if base.Broken {
			broken[*base.At.File] = true
		}
	}
	var needed diag.List
	for _, d := range diags {
		if d.At.File != nil && broken[*d.At.File] {
			needed = append(needed, d)
		}
	}
	return needed
}

// RuleForeignBase is a BaseRepo "main" that is not the base branch of the control plane.
const RuleForeignBase = "foreign-base"

// findBase finds the BaseRepo to be changed; none is fine.
func (s *step) findBase(objects *model.Objects) {
	for _, base := range objects.BaseRepos {
		if base.Name.Value != model.MainBase {
			continue
		}
		if s.base != nil {
			s.out.Diags.Error("duplicate-object", base.Name.At, fmt.Sprintf("there is another BaseRepo %q", model.MainBase),
				diag.See(s.base.Name.At, "first defined here"))
			return
		}
		s.base = base
	}
	if s.base == nil || s.base.Broken {
		return
	}
	main := s.Loader.Main()
	s.out.From = strings.ToLower(s.base.Commit.Value)
	if repo, err := gitops.NormalURL(s.base.Repo.Value); err != nil || repo != main.Repo {
		s.out.Diags.Error(RuleForeignBase, s.base.Repo.At, fmt.Sprintf("BaseRepo %q is %s, not the control plane %s: its commits cannot be promoted",
			model.MainBase, s.base.Repo.Value, main.Repo), diag.Hint("a BaseRepo of another name may hold further common data"))
	}
	if s.base.Branch.Value != main.Ref.Branch {
		s.out.Diags.Error(RuleForeignBase, s.base.Branch.At, fmt.Sprintf("BaseRepo %q is on the branch %q, and commits of %q are promoted",
			model.MainBase, s.base.Branch.Value, main.Ref.Branch), diag.Hint("--base-branch says which is meant"))
	}
}

// resolve finds the commit.
func (s *step) resolve(ctx context.Context) error {
	history, err := s.History(ctx)
	if err != nil {
		return err
	}
	s.out.Commit, s.facts.onBase = s.Commit, true
	switch {
	case s.Commit == "":
		s.out.Commit = history.Tip()
	default:
		if s.out.Commit, err = history.Resolve(ctx, s.Commit); err == nil {
			break
		}
		var known *gitops.Error
		if !errors.As(err, &known) || known.Rule != gitops.RuleCommitNotFound || !isFullID(s.Commit) {
			return err
		}
		s.out.Commit, s.facts.onBase = s.Commit, false
		if s.Unmerged {
			return s.exists(ctx)
		}
	}
	return nil
}

// exists makes sure that the repository has a commit that is not on the base branch.
func (s *step) exists(ctx context.Context) error {
	main := s.Loader.Main()
	ref := main.Ref
	ref.Commit, ref.Branch = s.out.Commit, ""
	_, err := s.Reader.CommitChanges(ctx, ref)
	return err
}

// History is that of the base branch.
func (p *Promoter) History(ctx context.Context) (*gitops.History, error) {
	if p.history != nil {
		return p.history, nil
	}
	history, err := p.Reader.History(ctx, p.Loader.Main().Ref, p.Ancestry)
	if err == nil {
		p.history = history
	}
	return history, err
}

// Possession is what an environment has, compared with a commit.
type Possession int

// The possessions.
const (
	// HasOlder: something older, something else, or nothing.
	HasOlder Possession = iota
	// HasIt: the commit.
	HasIt
	// HasNewer: a newer one that contains it.
	HasNewer
)

// Has tells whether an environment has a commit, or something newer.
func (p *Promoter) Has(ctx context.Context, environment *model.Environment, commit string) (Possession, error) {
	objects, diags := p.Loader.Platform(ctx, environment)
	if objects == nil {
		return HasOlder, &Unread{diags}
	}
	i := slices.IndexFunc(objects.BaseRepos, func(base *model.BaseRepo) bool { return base.Name.Value == model.MainBase })
	if i < 0 || objects.BaseRepos[i].Commit.Value == "" {
		return HasOlder, nil
	}
	current := strings.ToLower(objects.BaseRepos[i].Commit.Value)
	if current == commit {
		return HasIt, nil
	}
	history, err := p.History(ctx)
	if err != nil {
		return HasOlder, err
	}
	relation, err := history.Relation(ctx, commit, current)
	if err == nil && relation == gitops.Newer {
		return HasNewer, nil
	}
	return HasOlder, err
}

// Unread is a branch that could not be read, with the reasons.
type Unread struct{ diag.List }

func (e *Unread) Error() string {
	for _, d := range e.List {
		if d.Severity == diag.Error {
			return d.Message
		}
	}
	return "it cannot be read"
}

// loops stops where an environment and its base share a branch, and all that a commit does is to promote: promoting
// that would be a commit to be promoted, for ever.
func (s *step) loops(ctx context.Context) error {
	main := s.Loader.Main()
	if s.branch.Branch != main.Ref.Branch || !s.sharesRepo() || !s.facts.onBase {
		return nil
	}
	ref := main.Ref
	ref.Commit = s.out.Commit
	changes, err := s.Reader.CommitChanges(ctx, ref)
	if err != nil {
		return err
	}
	if s.onlyPromotes(changes) {
		s.out.Action = ActionNotPromotable
		s.out.Notes = append(s.out.Notes, fmt.Sprintf("commit %.12s only promotes another: promoting it would never end", s.out.Commit))
	}
	return nil
}

// onlyPromotes tells whether all that a commit does is to promote another one.
func (s *step) onlyPromotes(changes gitops.CommitChanges) bool {
	if changes.More || len(changes.Files) == 0 || changes.Parent == "" {
		return false
	}
	for _, f := range changes.Files {
		old := f.Old
		if old == nil { // the first promotion makes the file
			spec := s.newSpec()
			spec.Commit = changes.Parent
			old = baserepo.New(spec)
		}
		if f.Opaque || !baserepo.OnlyCommitChanged(old, f.New) {
			return false
		}
	}
	return true
}

// sharesRepo tells whether the environment is in the same repository as the base branch.
func (s *step) sharesRepo() bool {
	repo, err := gitops.NormalURL(s.Environment.ControlPlane.Repo.Value)
	return err == nil && repo == s.Loader.Main().Repo
}

// compare finds out how the commit stands to what the environment has.
func (s *step) compare(ctx context.Context) error {
	s.facts.environment, s.facts.base = s.Environment, s.Loader.Main().Ref.Branch
	s.facts.commit, s.facts.current = s.out.Commit, s.out.From
	if s.base != nil {
		s.facts.currentAt = s.base.Commit.At
	}
	if s.out.From == "" || s.out.From == s.out.Commit {
		s.facts.currentOnBase = true
		return nil
	}
	history, err := s.History(ctx)
	if err != nil {
		return err
	}
	if s.facts.currentOnBase, err = history.Has(ctx, s.out.From); err != nil || !s.facts.currentOnBase || !s.facts.onBase {
		return err
	}
	s.facts.relation, err = history.Relation(ctx, s.out.From, s.out.Commit)
	s.out.Newer = s.facts.relation == gitops.Older
	return err
}

// gates reads what the environments before say.
func (s *step) gates(ctx context.Context) error {
	if s.Statuses != nil {
		var err error
		if s.statuses, err = s.Statuses.Statuses(ctx, s.out.Commit); err != nil {
			return err
		}
	}
	for _, name := range s.Chain.Previous(s.Environment.Name.Value) {
		g := gate{environment: name, unknown: s.Statuses == nil}
		g.status, _ = find(s.statuses, name)
		if g.unknown {
			g.status.Description = s.NoStatuses
		}
		for _, deployed := range s.Deployed {
			g.open = g.open || deployed == name
		}
		g.open = g.open || isDeployed(g.status)
		s.facts.gates = append(s.facts.gates, g)
	}
	return nil
}

// decide refuses, or makes the new file.
func (s *step) decide(context.Context) error {
	if s.out.From == s.out.Commit {
		s.out.Action = ActionUnchanged
		return nil
	}
	refusals := guard(s.facts, s.Overrides)
	if len(s.Deployed) > 0 && s.settles(refusals) {
		return nil
	}
	s.out.Diags.Add(refusals)
	if s.out.Diags.HasErrors() {
		return nil
	}
	if s.base == nil {
		return s.newBase()
	}
	s.out.File = s.base.At.File.Path
	old, err := fs.ReadFile(s.branch.FS, s.out.File)
	if err != nil {
		return err
	}
	file, err := baserepo.SetCommit(old, s.base, s.out.Commit)
	if err != nil {
		return s.cannotEdit(err)
	}
	s.files = map[string][]byte{s.out.File: file}
	return nil
}

// settles tells whether all that speaks against going on from a deployed environment is what happens every day: other
// environments have to deploy the commit too, or there is a newer one.
func (s *step) settles(refusals diag.List) bool {
	if !refusals.HasErrors() {
		return false
	}
	if s.out.Newer {
		s.out.Action = ActionUnchanged
		return true
	}
	for _, d := range refusals {
		if d.Severity == diag.Error && d.Rule != RuleGateClosed {
			return false
		}
	}
	s.out.Action = ActionWaiting
	for _, d := range refusals {
		s.out.Notes = append(s.out.Notes, d.Message)
	}
	return true
}

// cannotEdit reports a file that a person must change.
func (s *step) cannotEdit(err error) error {
	var edit *baserepo.EditError
	if !errors.As(err, &edit) {
		return err
	}
	at := edit.At
	if at.IsZero() {
		at = diag.Place{File: &diag.File{Repo: s.out.Repo, Branch: s.out.Branch, Path: s.out.File}}
	}
	s.out.Diags.Error(baserepo.RuleUnsafeEdit, at, edit.Message, diag.Hint(edit.Hint))
	return nil
}

// baseFile is what a new BaseRepo is written to.
const baseFile = "base-repo.yaml"

// newBase makes the BaseRepo of an environment that nothing was ever promoted to.
func (s *step) newBase() error {
	s.out.File = path.Join(s.Environment.ControlPlane.Path.Value, baseFile)
	spec := s.newSpec()
	old, err := fs.ReadFile(s.branch.FS, s.out.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.files = map[string][]byte{s.out.File: baserepo.New(spec)}
		return nil
	case err != nil:
		return err
	}
	file, err := baserepo.Append(old, spec)
	if err != nil {
		return s.cannotEdit(err)
	}
	s.files = map[string][]byte{s.out.File: file}
	return nil
}

// newSpec is that of a new BaseRepo, which names the control plane as its environment does.
func (s *step) newSpec() baserepo.Spec {
	main := s.Loader.Main()
	spec := baserepo.Spec{Repo: s.Environment.ControlPlane.Repo.Value, Branch: main.Ref.Branch, Path: ".", Commit: s.out.Commit}
	if !s.sharesRepo() {
		spec.Repo = main.Repo
	}
	return spec
}

func isFullID(commit string) bool {
	if len(commit) != 40 {
		return false
	}
	for _, c := range commit {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
