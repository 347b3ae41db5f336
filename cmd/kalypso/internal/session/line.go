package session

import (
	"bytes"
	"context"
	"io/fs"
	"iter"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
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
	// Held are the registrations in quarantine.
	Held held
}

// Quarantine says how a run treats registrations that are broken or that conflict with published targets of others. The
// zero value reports their errors.
type Quarantine struct {
	// KeepLastGood holds such registrations back.
	KeepLastGood bool
	// Comparing compares the result with the published output before it is accepted.
	Comparing bool
	// AllowDeletions allows one registration to remove most of the published targets.
	AllowDeletions bool
	// Tolerant turns the errors of such registrations into warnings, so that only the platform's errors fail the run.
	Tolerant bool
}

// held are the registrations that --keep-last-good put into quarantine in an environment; the zero value has none.
type held struct {
	Registrations []message.QuarantinedRegistration
	// Origins are the commits of registrations that are not compiled, but may still be published.
	Origins []source.Origin
	// Diags are the errors of the registrations. They do not prevent publication.
	Diags diag.List
}

// Compiler compiles environments.
type Compiler struct {
	Reader *remote.Reader
	Loader *source.Loader
	// Names are the names of all environments.
	Names []string
	// Quarantine configures the treatment of broken registrations.
	Quarantine Quarantine
	// reusable are the results that Reuse was called with.
	reusable []reusable
}

// reusable is a compiled environment with its sources.
type reusable struct {
	*Compiled
	origins []source.Origin
}

// Reuse makes the next Line of an environment take over what was compiled before its promotion, unless more has changed
// since than the branch of the environment, which the promotion has moved to a commit.
func (c *Compiler) Reuse(compiled *Compiled, promotion string) {
	if compiled.Tree == nil || compiled.Diags.HasErrors() || len(compiled.Held.Registrations) > 0 {
		return
	}
	origins, _ := c.Loader.Origins(compiled.Fleet)
	for i := range origins {
		if origins[i].Role == model.Platform {
			origins[i].Commit = promotion
		}
	}
	c.reusable = append(c.reusable, reusable{compiled, origins})
}

// reuse completes an environment of which the fleet was read with what Reuse was called with, if that is the same.
func (c *Compiler) reuse(out *Compiled) bool {
	origins, _ := c.Loader.Origins(out.Fleet)
	i := slices.IndexFunc(c.reusable, func(r reusable) bool {
		return r.Environment.Name.Value == out.Environment.Name.Value && slices.Equal(r.origins, origins)
	})
	if i < 0 {
		return false
	}
	before := c.reusable[i].Compiled
	c.reusable = slices.Delete(c.reusable, i, i+1) // release the tree, which is large
	out.Assignments, out.Tree = before.Assignments, before.Tree
	out.Diags.Add(before.Diags)
	return true
}

// Stages select the first and last stage for an environment.
type Stages struct {
	// Compiled is the result of an earlier call to continue with; nil starts with the sources.
	Compiled *Compiled
	// FleetOnly ends after the fleet.
	FleetOnly bool
	// Outputs are what the tree is compared with, each with where it is published, and Publish is called with each
	// difference; nil ends with the tree.
	Outputs iter.Seq2[*gitops.Destination, gitops.Output]
	Publish func(*gitops.Destination, gitops.Output, *change.Change, error)
	// directory is the output directory, if any: its contents count as published.
	directory fs.FS
	// stage writes files while others are rendered; nil to keep all of them.
	stage func(files []render.File) bool
	// pins are the commits of registrations in quarantine; the zero value has none.
	pins source.Pins
	// Begin is called with the name of each step; it may be nil.
	Begin func(doing string)
}

func (o *Stages) begin(doing string, environment *model.Environment) {
	if o.Begin != nil {
		o.Begin(doing + " " + environment.Name.Value)
	}
}

// Line takes one environment from stage to stage: its sources are read, the fleet is made of them, its targets are
// assigned, the assignments rendered, the tree compared with what is published, and the difference published. A stage up
// to the tree runs although an earlier one found errors, so that one run reports the errors of all.
func (c *Compiler) Line(ctx context.Context, environment *model.Environment, o Stages) *Compiled {
	out := o.Compiled
	if out == nil {
		out = &Compiled{Environment: environment}
		o.begin("reading", environment)
		out.Fleet, out.Diags = c.Loader.FleetAt(ctx, environment, c.Names, o.pins) // remote.Reader.Read and model.NewFleet
		if o.FleetOnly || out.Fleet == nil || ctx.Err() != nil {
			return out
		}
		if !c.reuse(out) {
			c.render(ctx, out, o)
		}
		if ctx.Err() != nil {
			return out
		}
	}
	if o.Publish == nil {
		return out
	}
	for destination, output := range o.Outputs {
		diff, err := change.Compare(ctx, output.Tree, out.Tree)
		o.Publish(destination, output, diff, err)
	}
	return out
}

// render assigns the targets of a fleet that was read, and renders the assignments.
func (c *Compiler) render(ctx context.Context, out *Compiled, o Stages) {
	o.begin("rendering", out.Environment)
	assignments, assigned := schedule.Assign(out.Fleet)
	out.Assignments = assignments
	out.Diags.Add(assigned)
	if !out.Diags.HasErrors() {
		out.Diags.Add(schedule.WarnNothing(out.Fleet, assignments))
	}
	published := &published{reader: c.Reader, fleet: out.Fleet, directory: o.directory}
	if out.Diags.HasErrors() {
		o.stage = nil // nothing will be written
	}
	tree, rendered := render.Render(out.Fleet, assignments, render.Options{
		Published: func(path string, content []byte) bool { return published.holds(ctx, path, content) },
		Stop:      func() bool { return ctx.Err() != nil },
		Stage:     o.stage,
		// The output of one registration for many cluster types must fit into memory.
		OutputBytes: c.Loader.TenantLimits().OutputBytes,
	})
	if ctx.Err() != nil {
		return // an incomplete tree has misleading errors
	}
	out.Tree = tree
	out.Diags.Add(rendered)
	out.Diags.Add(published.unknown())
}

// published is the published output. The GitOps repositories are read on the first query, which is rare: only for files
// with flaws.
type published struct {
	reader *remote.Reader
	fleet  *model.Fleet
	// directory is the output directory; nil if there is none.
	directory fs.FS
	asked     bool
	outputs   []gitops.Output
}

// holds reports whether a file is published with this content in all destinations.
func (p *published) holds(ctx context.Context, path string, content []byte) bool {
	same := func(tree fs.FS) bool {
		old, err := fs.ReadFile(tree, path)
		return err == nil && bytes.Equal(old, content)
	}
	if p.directory != nil && same(p.directory) {
		return true
	}
	if !p.asked {
		p.outputs, p.asked = gitops.ReadOutputs(ctx, p.reader, p.fleet), true
	}
	for _, output := range p.outputs {
		if output.Tree == nil || !same(output.Tree) {
			return false
		}
	}
	return len(p.outputs) > 0
}

// unknown returns the error of reading the published output. Published flaws were then reported as new ones.
func (p *published) unknown() diag.List {
	var diags diag.List
	for _, output := range p.outputs {
		if output.Tree == nil && !output.New {
			diags.Add(output.Diags)
		}
	}
	return diags
}
