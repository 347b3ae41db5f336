package main

import (
	"bytes"
	"context"
	"io/fs"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// compiled is one environment after all stages. If the list has errors the rest may be missing.
type compiled struct {
	environment *model.Environment
	fleet       *model.Fleet
	assignments []schedule.Assignment
	tree        *render.Tree
	diags       diag.List
	// held is what is not compiled as it is now.
	held held
}

// compiler runs the stages for one environment after the other.
type compiler struct {
	reader *gitops.Reader
	loader *gitops.Loader
	// names are those of all environments.
	names []string
}

// read reads an environment.
func (c *compiler) read(ctx context.Context, environment *model.Environment) *compiled {
	out := &compiled{environment: environment}
	out.fleet, out.diags = c.loader.Fleet(ctx, environment, c.names)
	return out
}

// render goes through the other stages, so that one run reports what is wrong in any of them. folder
// is where the output is written, if anywhere: what is in it counts as published.
func (c *compiler) render(ctx context.Context, out *compiled, folder fs.FS) {
	assignments, diags := schedule.Assign(out.fleet)
	out.assignments = assignments
	out.diags.Add(diags)
	published := &published{reader: c.reader, fleet: out.fleet, folder: folder}
	tree, diags := render.Render(out.fleet, assignments, render.Options{
		Published: func(path string, content []byte) bool { return published.holds(ctx, path, content) },
		Stop:      func() bool { return ctx.Err() != nil },
		// The output of one registration for many cluster types must fit into memory.
		OutputBytes: c.loader.TenantLimits().OutputBytes,
	})
	if ctx.Err() != nil {
		return // what half of an environment looks like says nothing about it
	}
	out.tree = tree
	out.diags.Add(diags)
	out.diags.Add(published.unknown())
}

// published tells what is out there already. The GitOps repositories are read when it is first
// asked, which is seldom: only about files that have flaws.
type published struct {
	reader *gitops.Reader
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
