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
}

// compiler runs the stages for one environment after the other.
type compiler struct {
	reader *gitops.Reader
	loader *gitops.Loader
	// names are those of all environments.
	names []string
}

// compile goes through all stages, so that one run reports what is wrong in any of them. folder is
// where the output is written, if anywhere: what is in it counts as published.
func (c *compiler) compile(ctx context.Context, environment *model.Environment, folder fs.FS) *compiled {
	out := &compiled{environment: environment}
	out.fleet, out.diags = c.loader.Fleet(ctx, environment, c.names)
	if out.fleet == nil {
		return out
	}
	var diags diag.List
	out.assignments, diags = schedule.Assign(out.fleet)
	out.diags.Add(diags)
	out.tree, diags = render.Render(out.fleet, out.assignments, render.Options{
		Published: c.published(ctx, out.fleet, folder), Stop: func() bool { return ctx.Err() != nil },
	})
	out.diags.Add(diags)
	return out
}

// published tells what is out there already. The GitOps repositories are read when it is first
// asked, which is seldom: only about files that have flaws.
func (c *compiler) published(ctx context.Context, fleet *model.Fleet, folder fs.FS) func(string, []byte) bool {
	var outputs []gitops.Output
	asked := false
	return func(path string, content []byte) bool {
		if folder != nil {
			if old, err := fs.ReadFile(folder, path); err == nil && bytes.Equal(old, content) {
				return true
			}
		}
		if !asked {
			outputs, asked = c.reader.ReadOutputs(ctx, fleet), true
		}
		for _, output := range outputs {
			if output.Tree == nil {
				return false
			}
			if old, err := fs.ReadFile(output.Tree, path); err != nil || !bytes.Equal(old, content) {
				return false
			}
		}
		return len(outputs) > 0
	}
}
