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
	rendered := len(assignments) * reference.MaxFiles
	files := make([]File, rendered, rendered+len(fleet.ClusterTypes)+1)
	groups := byClusterType(assignments)
	collisions := make([]diag.List, len(groups))
	var done atomic.Int32
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for g, positions := range groups {
		work.Go(func() error {
			for _, i := range positions {
				if options.Stop != nil && options.Stop() {
					return nil
				}
				outputs[i] = r.assignment(&assignments[i], files[i*reference.MaxFiles:][:0:reference.MaxFiles])
			}
			collisions[g] = r.collisions(positions, outputs)
			r.stage(positions, outputs)
			r.forget(assignments[positions[0]].ClusterType)
			if done.Add(1)%expiry == 0 {
				r.configurator.Expire()
				r.schemas.Expire()
			}
			return nil
		})
	}
	_ = work.Wait() // no function returns an error
	r.collect(assignments, outputs, &diags)
	tooLarge := r.usage.tooLarge(assignments)
	diags.Add(tooLarge)
	if len(tooLarge) == 0 {
		diags.Add(slices.Concat(collisions...))
	}
	if !fleet.Incomplete {
		diags.Add(r.configurator.NoticeUnused())
	}
	tree, err := newTree(fleet, files)
	if err != nil {
		diags.Error("output-path", diag.Place{}, err.Error())
	}
	return tree, diags
}

// expiry is after how many cluster types the configuration forgets what is no longer used.
const expiry = 16

// byClusterType returns the positions of the assignments of each cluster type. Objects can collide only within one.
func byClusterType(assignments []schedule.Assignment) [][]int {
	var groups [][]int
	group := map[*model.ClusterType]int{}
	for i := range assignments {
		g, known := group[assignments[i].ClusterType]
		if !known {
			g = len(groups)
			group[assignments[i].ClusterType], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// forget frees what was found out of a cluster type when its assignments are rendered.
func (r *renderer) forget(clusterType *model.ClusterType) {
	r.configurator.Forget(clusterType)
	r.schemas.Forget(clusterType)
}

// stage passes the files of a cluster type to Options.Stage and releases the contents of those that it accepts.
func (r *renderer) stage(positions []int, outputs []output) {
	if r.options.Stage == nil {
		return
	}
	for _, i := range positions {
		if files := outputs[i].files; len(outputs[i].problems) == 0 && r.options.Stage(files) {
			for f := range files {
				files[f].Content, files[f].Staged = content.Text{}, true
			}
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
