package session

import (
	"bytes"
	"context"
	"io/fs"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// Compiled is one environment after all stages. If the list has errors the rest may be missing.
type Compiled struct {
	Environment *model.Environment
	Fleet       *model.Fleet
	Assignments []schedule.Assignment
	Tree        *render.Tree
	Diags       diag.List
	// Held is what is not compiled as it is now.
	Held held
}

// Compiler takes environments down the line.
type Compiler struct {
	Reader *remote.Reader
	Loader *source.Loader
	// Names are those of all environments.
	Names []string
	// Quarantine says how broken registrations are treated.
	Quarantine Quarantine
}

// Stages say how far an environment goes, and beside what.
type Stages struct {
	// FleetOnly ends with the fleet.
	FleetOnly bool
	// folder is where the output is written, if anywhere: what is in it counts as published.
	folder fs.FS
	// stage writes files while others are rendered; nil to keep all of them.
	stage func(files []render.File) bool
	// pins are the commits of registrations in quarantine; the zero value has none.
	pins source.Pins
	// Begin is called with the name of each step; it may be nil.
	Begin func(doing string)
}

// Line takes one environment from stage to stage: its sources are read, the fleet is made of them, its targets are
// assigned, the assignments rendered. A stage runs although an earlier one found errors, so that one run reports the errors of all.
// What becomes of the tree, compare and publish, is for deliver to say.
func (c *Compiler) Line(ctx context.Context, environment *model.Environment, o Stages) *Compiled {
	begin := func(doing string) {
		if o.Begin != nil {
			o.Begin(doing + " " + environment.Name.Value)
		}
	}
	out := &Compiled{Environment: environment}
	begin("reading")
	out.Fleet, out.Diags = c.Loader.FleetAt(ctx, environment, c.Names, o.pins)
	if o.FleetOnly || out.Fleet == nil || ctx.Err() != nil {
		return out
	}
	begin("rendering")
	assignments, assigned := schedule.Assign(out.Fleet)
	out.Assignments = assignments
	published := &published{reader: c.Reader, fleet: out.Fleet, folder: o.folder}
	if out.Diags.HasErrors() || assigned.HasErrors() {
		o.stage = nil // nothing will be written
	}
	tree, rendered := render.Render(out.Fleet, assignments, render.Options{
		Published: func(path string, content []byte) bool { return published.holds(ctx, path, content) },
		Stop:      func() bool { return ctx.Err() != nil },
		Stage:     o.stage,
		// The output of one registration for many cluster types must fit into memory.
		OutputBytes: c.Loader.TenantLimits().OutputBytes,
	})
	out.Diags.Add(assigned)
	if ctx.Err() != nil {
		return out // what half of an environment looks like says nothing about it
	}
	out.Tree = tree
	out.Diags.Add(rendered)
	out.Diags.Add(published.unknown())
	return out
}

// published returns what is published already. The GitOps repositories are read when it is first
// asked, which is seldom: only about files that have flaws.
type published struct {
	reader *remote.Reader
	fleet  *model.Fleet
	// folder is the output folder; nil if there is none.
	folder  fs.FS
	asked   bool
	outputs []gitops.Output
}

// holds reports whether a file is published with this content, everywhere.
func (p *published) holds(ctx context.Context, path string, content []byte) bool {
	if p.folder != nil {
		if old, err := fs.ReadFile(p.folder, path); err == nil && bytes.Equal(old, content) {
			return true
		}
	}
	if !p.asked {
		p.outputs, p.asked = gitops.ReadOutputs(ctx, p.reader, p.fleet), true
	}
	for _, output := range p.outputs {
		if output.Tree == nil {
			return false
		}
		if old, err := fs.ReadFile(output.Tree, path); err != nil || !bytes.Equal(old, content) {
			return false
		}
	}
	return len(p.outputs) > 0
}

// unknown returns why it could not be known what is published. Flaws that are out there already were
// taken for new ones then.
func (p *published) unknown() diag.List {
	var diags diag.List
	for _, output := range p.outputs {
		if output.Tree == nil && !output.New {
			diags.Add(output.Diags)
		}
	}
	return diags
}

// OnlyErrors leaves out what is no error.
func OnlyErrors(diags diag.List) diag.List {
	return slices.DeleteFunc(slices.Clone(diags), func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
}

// Quarantine says how a run treats registrations that are broken or that conflict with published targets of others. The
// zero value reports their errors.
type Quarantine struct {
	// KeepLastGood holds such registrations back.
	KeepLastGood bool
	// Comparing compares the result with what is published before it counts as sound.
	Comparing bool
	// AllowDeletions allows one registration to remove most of the published targets.
	AllowDeletions bool
	// Tolerant turns the errors of such registrations into warnings, so that only the platform's errors fail the run.
	Tolerant bool
}

// held is what --keep-last-good has held back in an environment; the zero value is nothing.
type held struct {
	Registrations []gitops.HeldRegistration
	// Origins are the commits of those that are not compiled, of which something may be published still.
	Origins []source.Origin
	// Diags are what is wrong with the registrations. They keep nothing from being published.
	Diags diag.List
}
