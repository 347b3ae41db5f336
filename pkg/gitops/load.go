package gitops

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// ruleBaseAhead is the notice that the base branch has moved on.
const ruleBaseAhead = "base-ahead"

// WorktreeBase as ControlPlane.Base reads the base from the work tree of the control plane.
const WorktreeBase = "worktree"

// ControlPlane says where a fleet is read from.
type ControlPlane struct {
	// Repo is a URL or a local path.
	Repo string
	// BaseBranch holds the Environments; empty for the default branch of the repository, or "main"
	// if that is a local path: in a clone any branch may be checked out.
	BaseBranch string
	// Base is a branch or commit that is read instead of what the BaseRepo "main" names, or
	// WorktreeBase: "what if this were promoted?". Empty for the BaseRepo as it is.
	Base string
	// Options says how sources are parsed.
	Options model.Options
}

// BranchOf is a branch of a repository.
type BranchOf struct {
	// Repo is in normal form; empty for the control plane.
	Repo, Branch string
}

// Loader reads the environments of one control plane. What two of them share is fetched once.
type Loader struct {
	reader       *Reader
	controlPlane ControlPlane
	// instead is what is read instead of the tip of a branch; see At.
	instead map[BranchOf]string
	// main is the base branch of the control plane, once it is read.
	main *model.Source
}

// NewLoader returns a Loader that reads through reader.
func NewLoader(reader *Reader, controlPlane ControlPlane) *Loader {
	return &Loader{reader: reader, controlPlane: controlPlane}
}

// BaseBranch is the branch that holds the Environments, once they are read.
func (l *Loader) BaseBranch() string { return l.controlPlane.BaseBranch }

// At returns a Loader of the same control plane that reads another state instead of the tip of a branch: another branch, a
// commit, or WorktreeBase. Of the base branch it reads both the Environments and what they see of it there. The
// Environments must have been read.
func (l *Loader) At(branch BranchOf, state string) *Loader {
	at := NewLoader(l.reader, l.controlPlane)
	at.instead = map[BranchOf]string{branch: state}
	if branch == (BranchOf{Branch: l.controlPlane.BaseBranch}) {
		at.controlPlane.Base = state
	} else {
		at.main = l.main
	}
	return at
}

// Owns tells whether the branch of an environment is in the repository of the control plane. The Environments must have been
// read.
func (l *Loader) Owns(e *model.Environment) bool {
	if l.main == nil {
		return false
	}
	own, err := l.reader.Where(l.main.Ref)
	at, failed := l.reader.Where(PlatformRef(e))
	return err == nil && failed == nil && own == at // names may differ, with replacements
}

// Environments reads the environments of the control plane, in order of name.
func (l *Loader) Environments(ctx context.Context) ([]*model.Environment, diag.List) {
	source, diags := l.readMain(ctx)
	if source == nil {
		return nil, diags
	}
	objects, problems := model.Parse(source, nil, l.controlPlane.Options)
	if name := l.standsFor(objects.Environments); name != "" {
		// Once more, so that places name the repository as they do everywhere else.
		source.Repo = name
		objects, problems = model.Parse(source, nil, l.controlPlane.Options)
	}
	diags.Add(problems)
	environments, problems := model.UniqueEnvironments(objects)
	diags.Add(problems)
	if len(environments) == 0 && !diags.HasErrors() {
		diags.Error("no-environments", diag.Place{File: source.File(model.EnvironmentsFolder)},
			fmt.Sprintf("the control plane has no Environment in %s/", model.EnvironmentsFolder),
			diag.Hint("an Environment says in which branch its data is: https://github.com/kalypso-gitops/kalypso/blob/main/docs/reference/model.md has an example"))
	}
	return environments, diags
}

// readMain reads the base branch, and keeps its name if it was not given: Fleet needs it for --base and
// for messages.
func (l *Loader) readMain(ctx context.Context) (*model.Source, diag.List) {
	ref := model.Ref{
		Repo: l.controlPlane.Repo, Branch: l.controlPlane.BaseBranch, Path: ".",
		Role: model.Main, Subject: "the control plane",
	}
	local := ref.Branch == "" && l.reader.IsLocal(ref.Repo)
	if local {
		ref.Branch = "main"
	}
	ref = l.replaced("", ref)
	sources, diags := l.reader.Read(ctx, []model.Ref{ref})
	if local && slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Rule == RuleBranchNotFound }) {
		ref.Branch = ""
		if again, more := l.reader.Read(ctx, []model.Ref{ref}); again[0] != nil {
			sources, diags = again, more
		}
	}
	if sources[0] != nil {
		l.main = sources[0]
		if len(l.instead) == 0 { // else it is given
			l.controlPlane.BaseBranch = l.main.Ref.Branch
		}
	}
	return sources[0], diags
}

// standsFor lets a control plane that was given as a path stand for the URL that its Environments
// name, and returns that URL. If they name several, the path stands for the first.
func (l *Loader) standsFor(environments []*model.Environment) string {
	if !IsLocal(l.controlPlane.Repo) {
		return ""
	}
	for _, e := range environments {
		name, err := NormalURL(e.ControlPlane.Repo.Value)
		if err == nil {
			l.reader.StandFor(name, l.controlPlane.Repo)
			return name
		}
	}
	return ""
}

// Fleet reads everything that an environment is made of. names are those of all environments. The
// fleet is nil if its own branch cannot be read.
func (l *Loader) Fleet(ctx context.Context, environment *model.Environment, names []string) (*model.Fleet, diag.List) {
	return l.FleetHolding(ctx, environment, names, nil)
}

// FleetHolding is Fleet with registrations held back: each is read at the commit that the hold says, or
// not at all. nil holds none.
func (l *Loader) FleetHolding(ctx context.Context, environment *model.Environment, names []string, hold *Hold) (*model.Fleet, diag.List) {
	run := &fleetLoad{Loader: l, environment: environment, hold: hold}
	if !run.readPlatform(ctx) {
		return nil, run.diags
	}
	run.readBases(ctx)
	run.readTenants(ctx)
	fleet, diags := model.NewFleet(environment, names, run.parts)
	fleet.Incomplete = fleet.Incomplete || run.unread || run.baseUnread
	fleet.PlatformIncomplete = fleet.PlatformIncomplete || run.baseUnread
	run.diags.Add(diags)
	if l.controlPlane.Base != "" {
		fleet.PromotedCommit = run.baseCommit
	}
	return fleet, run.diags
}

// Platform reads the branch of an environment alone, without its base and without applications. The objects are
// nil if it cannot be read.
func (l *Loader) Platform(ctx context.Context, environment *model.Environment) (*model.Objects, diag.List) {
	run := &fleetLoad{Loader: l, environment: environment}
	if !run.readPlatform(ctx) {
		return nil, run.diags
	}
	return run.parts[0], run.diags
}

// ClusterTypes reads the cluster types that an environment sees: those of its branch and of its BaseRepos. known says
// that these are all; else the reasons are in the list.
func (l *Loader) ClusterTypes(ctx context.Context, environment *model.Environment) (all []*model.ClusterType, known bool, reasons diag.List) {
	run := &fleetLoad{Loader: l, environment: environment}
	if !run.readPlatform(ctx) {
		return nil, false, run.diags
	}
	run.readBases(ctx)
	known = !run.baseUnread
	for _, part := range run.parts {
		all = append(all, part.ClusterTypes...)
		known = known && !part.Incomplete && !slices.ContainsFunc(part.ClusterTypes, func(c *model.ClusterType) bool { return c.Broken })
	}
	return all, known, run.diags
}

// fleetLoad is the reading of one environment.
type fleetLoad struct {
	*Loader
	environment *model.Environment
	hold        *Hold
	parts       []*model.Objects
	// unread says that a source is missing, baseUnread that common data is.
	unread, baseUnread bool
	// baseCommit is the commit of the BaseRepo "main" that was read.
	baseCommit string
	diags      diag.List
}

// read reads and parses refs side by side; a source that cannot be read is nil in the result.
func (l *fleetLoad) read(ctx context.Context, refs []model.Ref, registration func(i int) *model.WorkloadRegistration) []*model.Objects {
	sources, diags := l.reader.Read(ctx, refs)
	l.diags.Add(diags)
	objects, problems := make([]*model.Objects, len(refs)), make([]diag.List, len(refs))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, source := range sources {
		if source == nil || ctx.Err() != nil {
			l.unread = true
			continue
		}
		if len(l.parts) > 0 && sameSource(source, l.parts[0].Source) {
			objects[i] = &model.Objects{Source: source} // the environment's own data, which is read
			continue
		}
		group.Go(func() error {
			objects[i], problems[i] = model.Parse(source, registration(i), l.controlPlane.Options)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	for i := range objects {
		l.diags.Add(problems[i])
	}
	return objects
}

func noRegistration(int) *model.WorkloadRegistration { return nil }

// PlatformRef is the branch of an environment.
func PlatformRef(e *model.Environment) model.Ref {
	return model.Ref{
		Repo: e.ControlPlane.Repo.Value, Branch: e.ControlPlane.Branch.Value, Path: e.ControlPlane.Path.Value,
		Role: model.Platform, At: e.ControlPlane.Repo.At, BranchAt: e.ControlPlane.Branch.At, PathAt: e.ControlPlane.Path.At,
		Subject: fmt.Sprintf("Environment %q", e.Name.Value),
	}
}

func (l *fleetLoad) readPlatform(ctx context.Context) bool {
	ref := PlatformRef(l.environment)
	if l.Owns(l.environment) {
		ref = l.replaced("", ref)
	}
	objects := l.read(ctx, []model.Ref{ref}, noRegistration)
	if objects[0] == nil {
		return false
	}
	l.parts = append(l.parts, objects[0])
	l.checkOutputs(objects[0].GitOpsRepos)
	return true
}

// checkOutputs refuses GitOps repositories that could never be read, before anything is.
func (l *fleetLoad) checkOutputs(repos []*model.GitOpsRepo) {
	for _, repo := range repos {
		ref := OutputRef(repo)
		if _, err := l.reader.locate(ref); err != nil && !repo.Broken {
			report(&l.diags, ref, l.reader.clean(err))
		}
	}
}

// readBases reads the common data that the environment sees.
func (l *fleetLoad) readBases(ctx context.Context) {
	refs, main := l.baseRefs(ctx)
	for i, objects := range l.read(ctx, refs, noRegistration) {
		if objects == nil {
			l.baseUnread = true
			continue
		}
		if i == main {
			l.baseCommit = objects.Source.Commit
		}
		l.parts = append(l.parts, objects)
	}
	if main >= 0 {
		l.explainPromotion(refs[main].Subject)
	}
}

// baseRefs returns what the BaseRepos name, and which of it is the promoted base; -1 if none is.
func (l *fleetLoad) baseRefs(ctx context.Context) (refs []model.Ref, main int) {
	main = -1
	for _, base := range l.parts[0].BaseRepos {
		if base.Broken {
			l.baseUnread = true
			continue
		}
		ref := baseRef(base)
		if base.Name.Value == model.MainBase {
			main = len(refs)
			l.noticeAhead(ctx, base, ref)
			l.override(&ref)
		}
		refs = append(refs, ref)
	}
	switch {
	case main >= 0:
	case l.controlPlane.Base != "":
		ref := model.Ref{
			Repo: l.environment.ControlPlane.Repo.Value, Branch: l.controlPlane.BaseBranch, Path: ".",
			Role: model.Base, At: l.environment.ControlPlane.Repo.At,
		}
		l.override(&ref)
		main, refs = len(refs), append(refs, ref)
	default:
		l.neverPromoted(l.parts[0].BaseRepos)
	}
	return refs, main
}

func baseRef(base *model.BaseRepo) model.Ref {
	return model.Ref{
		Repo: base.Repo.Value, Branch: base.Branch.Value, Commit: base.Commit.Value, Path: base.Path.Value,
		Role: model.Base, At: base.Repo.At, BranchAt: base.Branch.At, CommitAt: base.Commit.At, PathAt: base.Path.At,
		Subject: fmt.Sprintf("BaseRepo %q", base.Name.Value),
	}
}

// override reads the base that the command line names instead of the pinned one.
func (l *fleetLoad) override(ref *model.Ref) {
	switch base := l.controlPlane.Base; {
	case base == "":
	case len(l.instead) > 0: // no flag names it
		readAt(ref, base, base)
	default:
		readAt(ref, base, "--base "+base)
	}
}

// replaced returns the ref of what is read instead of a branch; repo is empty for the control plane.
func (l *Loader) replaced(repo string, ref model.Ref) model.Ref {
	if state := l.instead[BranchOf{repo, ref.Branch}]; state != "" {
		readAt(&ref, state, fmt.Sprintf("%s instead of branch %q", state, ref.Branch))
	}
	return ref
}

// readAt makes a ref read a branch, a commit or WorktreeBase, of which subject says who wants it.
func readAt(ref *model.Ref, state, subject string) {
	switch {
	case state == WorktreeBase:
		ref.Commit, ref.WorkTree = "", true
	case IsFullCommit(state):
		ref.Commit = strings.ToLower(state)
	default:
		ref.Branch, ref.Commit = state, ""
	}
	ref.Subject = subject
	ref.BranchAt, ref.CommitAt = diag.Place{}, diag.Place{}
}

// howToPromote says how the base of an environment is set.
func (l *fleetLoad) howToPromote() string {
	return fmt.Sprintf("kalypso promote --env %s promotes the newest commit of %q to it; --base BRANCH-OR-COMMIT compiles another state",
		l.environment.Name.Value, l.controlPlane.BaseBranch)
}

// neverPromoted reports an environment without a BaseRepo "main", unless it has one that is broken, or
// it may be in what could not be read.
func (l *fleetLoad) neverPromoted(bases []*model.BaseRepo) {
	l.baseUnread = true
	if l.parts[0].Incomplete {
		return
	}
	hint := l.howToPromote()
	for _, base := range bases {
		if base.Name.Value == model.MainBase {
			return
		}
		if diag.Nearest(base.Name.Value, []string{model.MainBase}) != "" {
			hint = fmt.Sprintf("did you mean %q by %q?", model.MainBase, base.Name.Value)
		}
	}
	l.diags.Error("not-promoted", l.environment.Name.At,
		fmt.Sprintf("Environment %q has no BaseRepo %q, so nothing was ever promoted to it", l.environment.Name.Value, model.MainBase),
		diag.Hint(hint))
}

// explainPromotion adds what to do about a base that cannot be read; subject is what asked for it.
func (l *fleetLoad) explainPromotion(subject string) {
	notThere := false
	for i, d := range l.diags {
		switch {
		case !strings.HasPrefix(d.Message, subject+": "):
		case d.Rule == RuleCommitNotFound:
			l.diags[i].Hint = l.howToPromote()
			notThere = true
		case d.Rule == RuleBranchNotFound && len(l.controlPlane.Base) >= 7 && isHex(l.controlPlane.Base):
			l.diags[i].Hint = "a commit is given by its full id of 40 digits"
		}
	}
	if notThere { // then nothing is ahead of it
		l.diags = slices.DeleteFunc(l.diags, func(d diag.Diagnostic) bool { return d.Rule == ruleBaseAhead })
	}
}

func isHex(s string) bool { return strings.Trim(strings.ToLower(s), "0123456789abcdef") == "" }

// noticeAhead says when the base branch has moved on since the environment was promoted.
func (l *fleetLoad) noticeAhead(ctx context.Context, base *model.BaseRepo, ref model.Ref) {
	if ref.Commit == "" || l.controlPlane.Base != "" {
		return
	}
	ref.Commit = ""
	tip, err := l.reader.Tip(ctx, ref)
	if err != nil || tip == "" || strings.HasPrefix(tip, base.Commit.Value) {
		return // that the commit itself can be read is all that is needed
	}
	l.diags.Notice(ruleBaseAhead, base.Commit.At, fmt.Sprintf("%s of the control plane is at %.12s, this environment at %.12s",
		ref.Branch, tip, base.Commit.Value), diag.Hint("--base "+ref.Branch+" compiles what it would get"))
}

func sameSource(a, b *model.Source) bool {
	return a.Repo == b.Repo && a.Commit == b.Commit && a.Ref.Branch == b.Ref.Branch && cleanPath(a.Ref.Path) == cleanPath(b.Ref.Path)
}

// registrationSubject begins what is said of an application repository.
const registrationSubject = "WorkloadRegistration "

// place identifies what a registration points to.
type place struct{ repo, branch, path string }

// readTenants reads the application repositories.
func (l *fleetLoad) readTenants(ctx context.Context) {
	refs, admitted := l.tenantRefs()
	for _, objects := range l.read(ctx, refs, func(i int) *model.WorkloadRegistration { return admitted[i] }) {
		if objects != nil {
			l.parts = append(l.parts, objects)
		}
	}
	l.explainGone()
}

// tenantRefs returns what the registrations name, and which of them names what.
func (l *fleetLoad) tenantRefs() (refs []model.Ref, admitted []*model.WorkloadRegistration) {
	var registrations []*model.WorkloadRegistration
	for _, part := range l.parts {
		registrations = append(registrations, part.Registrations...)
	}
	slices.SortFunc(registrations, func(a, b *model.WorkloadRegistration) int { return a.At.Compare(b.At) })
	seen := map[place]*model.WorkloadRegistration{}
	ofRepo := map[string]int{}
	for _, r := range registrations {
		if ofRepo[r.Workload.Repo.Value]++; l.registeredTooOften(r, ofRepo[r.Workload.Repo.Value]) {
			l.unread = true
			continue
		}
		if r.Broken || l.registeredTwice(r, seen) {
			l.unread = true
			continue
		}
		commit, leftOut := l.hold.commitOf(placeOf(r))
		if leftOut {
			l.unread = true
			continue
		}
		admitted = append(admitted, r)
		refs = append(refs, l.replaced(placeOf(r).repo, model.Ref{
			Repo: r.Workload.Repo.Value, Branch: r.Workload.Branch.Value, Commit: commit, Path: r.Workload.Path.Value,
			Role: model.Tenant, At: r.Workload.Repo.At, BranchAt: r.Workload.Branch.At, PathAt: r.Workload.Path.At,
			Subject: registrationSubject + fmt.Sprintf("%q", r.Name.Value),
		}))
	}
	return refs, admitted
}

// explainGone adds what to do about an application repository that is gone on purpose. What runs of
// it is not removed before somebody says so.
func (l *fleetLoad) explainGone() {
	for i, d := range l.diags {
		if d.Rule == RuleAccessDenied && strings.HasPrefix(d.Message, registrationSubject) {
			l.diags[i].Hint = strings.TrimPrefix(d.Hint+"; if the repository is gone for good, remove the WorkloadRegistration, and its deployment targets go", "; ")
		}
	}
}

// ruleDuplicateRegistration is a place that is registered more often than may be.
const ruleDuplicateRegistration = "duplicate-registration"

// mostRegistrations is how often one repository may be registered: each registration is read by itself.
const mostRegistrations = 1000

// registeredTooOften reports, once, a repository that has more registrations than may be. It is the
// n-th.
func (l *fleetLoad) registeredTooOften(r *model.WorkloadRegistration, n int) bool {
	if n == mostRegistrations+1 {
		l.diags.Error(ruleDuplicateRegistration, r.Workload.Repo.At,
			fmt.Sprintf("%s is registered more than %d times", r.Workload.Repo.Value, mostRegistrations),
			diag.Hint("register a folder that holds several workloads once"))
	}
	return n > mostRegistrations
}

// registeredTwice reports a place that another registration has already: its workloads would all be
// there twice.
func (l *fleetLoad) registeredTwice(r *model.WorkloadRegistration, seen map[place]*model.WorkloadRegistration) bool {
	repo, err := NormalURL(r.Workload.Repo.Value)
	if err != nil {
		return false // reported when it is read
	}
	key := place{repo, r.Workload.Branch.Value, cleanPath(r.Workload.Path.Value)}
	first, twice := seen[key]
	if !twice {
		seen[key] = r
		return false
	}
	l.diags.Error(ruleDuplicateRegistration, r.Workload.Repo.At,
		fmt.Sprintf("WorkloadRegistration %q registers the same place as %q", r.Name.Value, first.Name.Value),
		diag.See(first.Workload.Repo.At, "first registered here"), diag.Hint("remove one of them"))
	return true
}
