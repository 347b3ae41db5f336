package source

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// RuleBaseAhead is the notice that the base branch has moved on.
const RuleBaseAhead = "base-ahead"

// WorktreeBase as ControlPlane.Base reads the base from the work tree of the control plane.
const WorktreeBase = "worktree"

// ControlPlane is the location of a fleet.
type ControlPlane struct {
	// Repo is a URL or a local path.
	Repo string
	// Remote is true if Repo is the remote of a clone. It then replaces the URL in the Environments, as a path does.
	Remote bool
	// BaseBranch has the Environments; empty for the default branch of the repository, which is for a local path "main",
	// else the default branch of the remote, else the checked-out branch.
	BaseBranch string
	// Base is a branch or commit that replaces that of the BaseRepo "main", or WorktreeBase; empty for the BaseRepo.
	Base string
	// Options are those of parsing sources.
	Options model.Options
}

// BranchOf is a branch of a repository.
type BranchOf struct {
	// Repo is in normal form; empty for the control plane.
	Repo, Branch string
}

// Loader reads the environments of one control plane. Shared sources are fetched once.
type Loader struct {
	Reader       *remote.Reader
	controlPlane ControlPlane
	// instead are the states of At.
	instead map[BranchOf]string
	// baseSubject is the subject of errors about controlPlane.Base.
	baseSubject string
	// main is the base branch of the control plane; nil before it is read.
	main *model.Source
}

// BaseFlag begins the subject of a revision that the command line names.
const BaseFlag = "--base "

// NewLoader returns a Loader that uses reader.
func NewLoader(reader *remote.Reader, controlPlane ControlPlane) *Loader {
	return &Loader{Reader: reader, controlPlane: controlPlane, baseSubject: BaseFlag + controlPlane.Base}
}

// BaseBranch returns the branch with the Environments, after they are read.
func (l *Loader) BaseBranch() string { return l.controlPlane.BaseBranch }

// Main returns the base branch of the control plane, after Environments has read it.
func (l *Loader) Main() *model.Source { return l.main }

// TenantLimits returns the limits for application repositories.
func (l *Loader) TenantLimits() model.Limits { return l.controlPlane.Options.Tenant }

// At returns a Loader of the same control plane that reads other states than the tips of branches: a Git revision or
// WorktreeBase. That of the base branch applies to the Environments and to the BaseRepo "main". The Environments must have
// been read.
func (l *Loader) At(states map[BranchOf]string) *Loader {
	at := NewLoader(l.Reader, l.controlPlane)
	at.instead = states
	if state, given := states[BranchOf{Branch: l.controlPlane.BaseBranch}]; given {
		at.controlPlane.Base, at.baseSubject = state, state
	} else {
		at.main = l.main
	}
	return at
}

// WithBase returns a Loader of the same control plane that reads the BaseRepo "main" at a commit, given by its full id,
// instead of the promoted one.
func (l *Loader) WithBase(commit string) *Loader {
	with := *l
	with.controlPlane.Base, with.baseSubject = commit, fmt.Sprintf("commit %.12s", commit)
	return &with
}

// Owns reports whether the branch of an environment is in the repository of the control plane. The Environments must have been
// read.
func (l *Loader) Owns(e *model.Environment) bool {
	if l.main == nil {
		return false
	}
	own, err := l.Reader.Where(l.main.Ref)
	at, failed := l.Reader.Where(PlatformRef(e))
	return err == nil && failed == nil && own == at // names may differ, with replacements
}

// Environments reads the environments of the control plane, in promotion order.
func (l *Loader) Environments(ctx context.Context) ([]*model.Environment, diag.List) {
	source, diags := l.readMain(ctx)
	if source == nil {
		return nil, diags
	}
	objects, problems := model.Parse(source, nil, l.controlPlane.Options)
	if name := l.standsFor(objects.Environments); name != "" {
		// parse again, for places with the usual name of the repository
		source.Repo = name
		objects, problems = model.Parse(source, nil, l.controlPlane.Options)
	}
	diags.Add(problems)
	environments, problems := model.UniqueEnvironments(objects)
	diags.Add(problems)
	if len(environments) == 0 && !diags.HasErrors() {
		diags.Error("no-environments", diag.Place{File: source.File(model.EnvironmentsDirectory)},
			fmt.Sprintf("the control plane has no Environment in %s/", model.EnvironmentsDirectory),
			diag.Hint("add an Environment; see https://github.com/kalypso-gitops/kalypso/blob/main/docs/reference/model.md"))
	}
	return environments, diags
}

// readMain reads the base branch, and records the name of the default branch, which Fleet needs for --base and messages.
func (l *Loader) readMain(ctx context.Context) (*model.Source, diag.List) {
	ref := model.Ref{
		Repo: l.controlPlane.Repo, Branch: l.controlPlane.BaseBranch, Path: ".",
		Role: model.Main, Subject: "the control plane",
	}
	local := ref.Branch == "" && (l.controlPlane.Remote || l.Reader.IsLocal(ref.Repo))
	if local {
		ref.Branch = "main"
	}
	ref = l.replaced("", ref)
	sources, diags := l.Reader.Read(ctx, []model.Ref{ref})
	if local && slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Rule == giterror.RuleBranchNotFound }) {
		ref.Branch = ""
		if again, more := l.Reader.Read(ctx, []model.Ref{ref}); again[0] != nil {
			sources, diags = again, more
		}
	}
	if sources[0] != nil {
		l.main = sources[0]
		if len(l.instead) == 0 {
			l.controlPlane.BaseBranch = l.main.Ref.Branch
		}
	}
	return sources[0], diags
}

// standsFor replaces the URL in the Environments by a control plane that is given as a path or is the remote of one, and
// returns that URL; the first one if there are several.
func (l *Loader) standsFor(environments []*model.Environment) string {
	if !l.controlPlane.Remote && !giturl.IsLocal(l.controlPlane.Repo) {
		return ""
	}
	given, _ := giturl.NormalURL(l.controlPlane.Repo) // it was read
	for _, e := range environments {
		name, err := giturl.NormalURL(e.ControlPlane.Repo.Value)
		if err != nil {
			continue
		}
		if at, err := l.Reader.Where(l.main.Ref); err == nil && name != given {
			l.Reader.StandFor(name, at)
		}
		return name
	}
	return ""
}

// Fleet reads all sources of an environment. names are those of all environments. The fleet is nil if the branch of the
// environment cannot be read.
func (l *Loader) Fleet(ctx context.Context, environment *model.Environment, names []string) (*model.Fleet, diag.List) {
	return l.FleetAt(ctx, environment, names, Pins{})
}

// Pins says at which commits registrations are read. The zero value reads the tips of their branches.
type Pins struct {
	// Commit returns the commit for a registration, empty for the tip of its branch, or skips the registration. Nil
	// pins none.
	Commit func(at Place) (commit string, skip bool)
	// Removed are registrations that are read as well although the platform does not have them any more.
	Removed []*model.WorkloadRegistration
}

// FleetAt is Fleet with registrations at the commits of pins.
func (l *Loader) FleetAt(ctx context.Context, environment *model.Environment, names []string, pins Pins) (*model.Fleet, diag.List) {
	run := &fleetLoad{Loader: l, environment: environment, pins: pins}
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

// ClusterTypes reads the cluster types of an environment: those of its branch and of its BaseRepos. known is true if these
// are all; otherwise the reasons are in the list.
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
	pins        Pins
	parts       []*model.Objects
	// unread is true if a source is missing, baseUnread if common data is missing.
	unread, baseUnread bool
	// baseCommit is the commit of the BaseRepo "main" that was read.
	baseCommit string
	diags      diag.List
}

// read reads and parses refs in parallel; a source that cannot be read is nil in the result.
func (l *fleetLoad) read(ctx context.Context, refs []model.Ref, registration func(i int) *model.WorkloadRegistration) []*model.Objects {
	sources, diags := l.Reader.Read(ctx, refs)
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
			objects[i] = &model.Objects{Source: source} // the branch of the environment, which is in parts already
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

// OutputRef is the branch that a GitOpsRepo names.
func OutputRef(repo *model.GitOpsRepo) model.Ref {
	return model.Ref{
		Repo: repo.Repo.Value, Branch: repo.Branch.Value, Path: ".",
		Role: model.Output, At: repo.Repo.At, BranchAt: repo.Branch.At, Subject: fmt.Sprintf("GitOpsRepo %q", repo.Name.Value),
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

// checkOutputs reports invalid URLs of GitOps repositories before anything is read.
func (l *fleetLoad) checkOutputs(repos []*model.GitOpsRepo) {
	for _, repo := range repos {
		ref := OutputRef(repo)
		if _, err := l.Reader.Locate(ref); err != nil && !repo.Broken {
			giterror.AddTo(&l.diags, ref, l.Reader.Clean(err))
		}
	}
}
