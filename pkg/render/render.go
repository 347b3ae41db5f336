// Package render turns assignments into files.
//
// In: a *model.Fleet and the []schedule.Assignment made for it. Out: a Tree of sorted paths and
// bytes, and a diag.List with everything that keeps it from being published.
//
// The way through the package: package config finds the platform configuration of an assignment and checks
// it, package template runs the templates within bounds, package reference makes files of the results and proves
// that no tenant's string became more than a value, package verify reads them once more as any YAML reader would, and
// tree.go puts them in their places. Most files take a shorter way to the same end: package incremental.
//
// The package is pure: same fleet and assignments, same bytes, with any parallelism.
package render

import (
	"cmp"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
	"github.com/kalypso-gitops/kalypso/pkg/render/incremental"
	"github.com/kalypso-gitops/kalypso/pkg/render/reference"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// Options says how assignments are rendered.
type Options struct {
	// Published reports whether a file is already published with exactly this content; nil if that
	// is not known. A file that does not change may keep flaws that a new one may not have. It is
	// asked only about files that have flaws.
	Published func(path string, content []byte) bool
	// Stop reports whether to stop; nil means never. The tree is then incomplete.
	Stop func() bool
	// Bounds limits each execution of a template; the zero value stands for the defaults.
	Bounds template.Bounds
	// Stage writes the files of an assignment without problems somewhere, and reports whether it did: then the tree has
	// them without their contents. Several goroutines call it at once. If it is nil, the tree has all contents.
	Stage func(files []File) bool
	// OutputBytes is the maximum size of all files of a registration together in bytes; 0 means no limit.
	OutputBytes int64
	// whole renders every file in the usual way, for tests.
	whole bool
}

// Render makes the files of all assignments, which must be those of the fleet. The tree is complete
// only if the list holds no error.
func Render(fleet *model.Fleet, assignments []schedule.Assignment, options Options) (*Tree, diag.List) {
	r, diags := newRenderer(fleet, assignments, options)
	outputs := make([]output, len(assignments))
	places := newPlaces(fleet, assignments)
	groups := byClusterType(assignments)
	var done atomic.Int32
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for _, g := range groups {
		for start := 0; start < len(g.positions); start += batch {
			part := g.positions[start:min(start+batch, len(g.positions))]
			work.Go(func() error {
				r.batch(part, assignments, outputs, places)
				if g.open.Add(-1) == 0 {
					g.diags = r.collisions(g.positions, outputs)
					r.stage(g.positions, outputs, &work)
					r.forget(g.clusterType)
					if done.Add(1)%expiry == 0 {
						r.configurator.Expire()
						r.schemas.Expire()
					}
				}
				return nil
			})
		}
	}
	_ = work.Wait() // no function returns an error
	r.collect(assignments, outputs, &diags)
	tooLarge := r.usage.tooLarge(assignments)
	diags.Add(tooLarge)
	for _, g := range groups {
		if len(tooLarge) == 0 {
			diags.Add(g.diags)
		}
	}
	if !fleet.Incomplete {
		diags.Add(r.configurator.NoticeUnused())
	}
	tree, err := places.tree()
	if err != nil {
		diags.Error("output-path", diag.Place{}, err.Error())
	}
	return tree, diags
}

// batch is how many assignments one goroutine takes at a time.
const batch = 64

// expiry is after how many cluster types the configuration forgets what is no longer used.
const expiry = 16

// group is all assignments of a cluster type. Objects may collide only within one.
type group struct {
	clusterType *model.ClusterType
	positions   []int
	// open counts the batches that are not rendered yet.
	open  atomic.Int32
	diags diag.List
}

func byClusterType(assignments []schedule.Assignment) []*group {
	var groups []*group
	known := map[*model.ClusterType]*group{}
	for i := range assignments {
		g := known[assignments[i].ClusterType]
		if g == nil {
			g = &group{clusterType: assignments[i].ClusterType}
			known[assignments[i].ClusterType], groups = g, append(groups, g)
		}
		if len(g.positions)%batch == 0 {
			g.open.Add(1)
		}
		g.positions = append(g.positions, i)
	}
	return groups
}

// forget frees what was found out of a cluster type when its assignments are rendered.
func (r *renderer) forget(clusterType *model.ClusterType) {
	r.configurator.Forget(clusterType)
	r.schemas.Forget(clusterType)
}

// batch renders some of the assignments into their places.
func (r *renderer) batch(positions []int, assignments []schedule.Assignment, outputs []output, places *places) {
	if r.options.Stop != nil && r.options.Stop() {
		return
	}
	for _, i := range positions {
		outputs[i] = r.assignment(&assignments[i], places.of(i))
	}
}

// stage hands the outputs of a cluster type over, and forgets what is in their files. Whoever has nothing to render any
// more helps.
func (r *renderer) stage(positions []int, outputs []output, work *errgroup.Group) {
	if r.options.Stage == nil {
		return
	}
	for part := range slices.Chunk(positions, batch) {
		handOver := func() error {
			for _, i := range part {
				if files := outputs[i].files; len(outputs[i].problems) == 0 && r.options.Stage(files) {
					for f := range files {
						files[f].Content, files[f].Staged = content.Text{}, true
					}
				}
			}
			return nil
		}
		if !work.TryGo(handOver) {
			_ = handOver() // which does not fail
		}
	}
}

// renderer holds what all assignments share.
type renderer struct {
	options      Options
	configurator *config.Configurator
	schemas      *config.Schemas
	clusterTypes map[*model.ClusterType]*reference.Templates
	targets      map[*model.DeploymentTarget]*reference.Target
	// shortcut is nil if every file is rendered in the usual way.
	shortcut reference.Shortcut
	usage    usage
	// configIncomplete reports that a value that is missing may be in what could not be read.
	configIncomplete bool
}

func newRenderer(fleet *model.Fleet, assignments []schedule.Assignment, options Options) (*renderer, diag.List) {
	configurator, diags := config.NewConfigurator(fleet)
	schemas, schemaDiags := config.NewSchemas(fleet)
	diags.Add(schemaDiags)
	r := &renderer{
		options: options, configurator: configurator, schemas: schemas,
		targets:          make(map[*model.DeploymentTarget]*reference.Target, len(fleet.Targets)),
		configIncomplete: fleet.ConfigIncomplete(),
	}
	used := map[*model.ClusterType]bool{}
	for i := range assignments {
		used[assignments[i].ClusterType] = true
	}
	var templates []*reference.Template
	r.clusterTypes, templates = reference.Resolve(fleet, used, &diags)
	if !fleet.PlatformIncomplete {
		diags.Add(reference.WarnUnusedManifests(fleet, assignments, r.clusterTypes))
	}
	if !options.whole {
		r.shortcut = incremental.New(fleet, templates, configurator.Keys(), options.Bounds)
	}
	for _, target := range fleet.Targets {
		r.targets[target] = reference.NewTarget(target)
	}
	r.usage = newUsage(fleet, options.OutputBytes)
	return r, diags
}

// output is what one assignment came to.
type output struct {
	files    []File
	problems []verify.Problem
	// objects are the Kubernetes objects in the files.
	objects []verify.Object
	// violations are what the configuration does against its schemas.
	violations []verify.Problem
}

// hasTenantValue reports whether the line of a flaw already has a problem with a tenant's string.
func (o *output) hasTenantValue(path string, f verify.Flaw) bool {
	return (f.Rule == verify.RuleOutputString || f.Rule == "invalid-output-name" || f.Rule == "invalid-output") && f.Line > 0 &&
		slices.ContainsFunc(o.problems, func(p verify.Problem) bool {
			return p.Rule == "tenant-value" && p.Path == path && p.Line == f.Line
		})
}

// assignment renders the files of one assignment into space.
func (r *renderer) assignment(a *schedule.Assignment, space []File) output {
	var out output
	templates := r.clusterTypes[a.ClusterType]
	values := r.configurator.Configure(a.ClusterType, a.Target)
	for _, v := range r.schemas.Check(a, values) {
		out.violations = append(out.violations, verify.Problem{
			Path: a.ClusterType.Name.Value + "/" + a.Target.Name.Value, At: v.At, Related: v.Schema,
			Flaw: verify.Flaw{Rule: "schema-violation", Message: v.Message}, Hint: v.Hint,
		})
	}
	if a.Target.Broken || a.ClusterType.Broken || templates.Unusable() || r.usage.exceeded(a.Target) {
		return out // reported already, or in the end
	}
	target := r.targets[a.Target]
	facts := reference.NewData(a, target, templates.Labels)
	files, problems := reference.Render(&reference.Subject{
		Assignment: a, Templates: templates, Facts: facts, View: view, Values: values,
	}, r.options.Bounds, r.shortcut, target)
	out.problems = problems
	slices.SortFunc(files, func(a, b reference.File) int { return cmp.Compare(a.Path, b.Path) })
	out.files = space
	for _, file := range files {
		r.usage.count(a.Target, file.Content)
		out.files = append(out.files, inTree(&file, a))
		if file.YAML && !file.Verified {
			var flaws []verify.Flaw
			file.Objects, flaws = verify.Read(file.Content.String())
			for _, flaw := range flaws {
				if flaw.Rule == verify.RuleOutputString && file.Written || out.hasTenantValue(file.Path, flaw) {
					continue
				}
				out.problems = append(out.problems, verify.Problem{Path: file.Path, Flaw: flaw, At: file.Template})
			}
		}
		out.objects = append(out.objects, file.Objects...)
	}
	if r.configIncomplete {
		out.dropMissing()
	}
	return out
}

// dropMissing removes the problems of files in which a value is missing.
func (o *output) dropMissing() {
	missing := map[string]bool{}
	for _, p := range o.problems {
		missing[p.Path] = missing[p.Path] || p.Rule == "no-value"
	}
	o.problems = slices.DeleteFunc(o.problems, func(p verify.Problem) bool { return missing[p.Path] })
}

// data is reference.Data by the name that templates see in hashes and messages, which is that of the first versions.
type data reference.Data

func view(d *reference.Data) any { return (*data)(d) }
