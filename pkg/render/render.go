package render

import (
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// Options says how assignments are rendered.
type Options struct {
	// Published reports whether a file is out there already with exactly this content; nil if that
	// is not known. A file that does not change may keep flaws that a new one may not have. It is
	// asked only about files that have flaws.
	Published func(path string, content []byte) bool
	// Stop reports whether to give up; nil means never. The tree is not complete then.
	Stop func() bool
	// Bounds limits each execution of a template; the zero value stands for the defaults.
	Bounds Bounds
}

// Render makes the files of all assignments, which must be those of the fleet. The tree is complete
// only if the list holds no error.
func Render(fleet *model.Fleet, assignments []schedule.Assignment, options Options) (*Tree, diag.List) {
	r, diags := newRenderer(fleet, assignments, options)
	outputs := make([]output, len(assignments))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	const batch = 64
	for start := 0; start < len(assignments); start += batch {
		group.Go(func() error {
			if options.Stop != nil && options.Stop() {
				return nil
			}
			for i := start; i < min(start+batch, len(assignments)); i++ {
				outputs[i] = r.assignment(&assignments[i])
			}
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	r.collect(outputs, &diags)
	if !fleet.Incomplete {
		diags.Add(r.configurator.NoticeUnused())
	}
	tree, err := newTree(fleet, outputs)
	if err != nil {
		diags.Error("output-path", diag.Place{}, err.Error())
	}
	return tree, diags
}

// renderer holds what all assignments share.
type renderer struct {
	options      Options
	configurator *Configurator
	schemas      *schemaChecks
	clusterTypes map[*model.ClusterType]*clusterTemplates
	targets      map[*model.DeploymentTarget]*targetData
}

func newRenderer(fleet *model.Fleet, assignments []schedule.Assignment, options Options) (*renderer, diag.List) {
	configurator, diags := NewConfigurator(fleet)
	schemas, schemaDiags := newSchemaChecks(fleet)
	diags.Add(schemaDiags)
	r := &renderer{
		options: options, configurator: configurator, schemas: schemas,
		targets: make(map[*model.DeploymentTarget]*targetData, len(fleet.Targets)),
	}
	used := map[*model.ClusterType]bool{}
	for i := range assignments {
		used[assignments[i].ClusterType] = true
	}
	r.clusterTypes = resolveTemplates(fleet, used, &diags)
	for _, target := range fleet.Targets {
		r.targets[target] = newTargetData(target)
	}
	return r, diags
}

// output is what one assignment came to.
type output struct {
	files    []File
	problems []fileProblem
	// objects are the Kubernetes objects in the files.
	objects []objectSum
	// violations are what the configuration does against its schemas.
	violations []fileProblem
}

// fileProblem is a problem in one file of the output.
type fileProblem struct {
	path string
	flaw
	at diag.Place
	// related is a second place, if there is one.
	related *diag.Related
	hint    string
}

// assignment renders the files of one assignment.
func (r *renderer) assignment(a *schedule.Assignment) output {
	var out output
	templates := r.clusterTypes[a.ClusterType]
	values := r.configurator.Configure(a.ClusterType, a.Target)
	out.violations = r.schemas.check(a, values)
	if a.Target.Broken || a.ClusterType.Broken || templates.unusable() {
		return out // reported already
	}
	target := r.targets[a.Target]
	facts := newData(a, target, templates.labels, values)
	run := &execution{bounds: r.options.Bounds}
	files := run.files(a, templates, facts, values)
	out.problems = run.problems
	if !run.failed {
		rendering := rendering{a, templates, facts, values, r.options.Bounds, files}
		out.problems = append(out.problems, rendering.taint(target.disguises)...)
	}
	for _, file := range files {
		if !file.yaml {
			continue
		}
		objects, flaws := verify(string(file.Content))
		out.objects = append(out.objects, objects...)
		for _, flaw := range flaws {
			out.problems = append(out.problems, fileProblem{path: file.Path, flaw: flaw, at: file.template})
		}
	}
	for _, file := range files {
		out.files = append(out.files, file.File)
	}
	return out
}
