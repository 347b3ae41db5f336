package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// validateWorkload checks the workloads at a path as an application repository is checked.
func validateWorkload(e *edges, opts *fleetFlags, path string) error {
	switch {
	case path == "":
		return usageError(`--workload "": it is empty; name a file or a folder`)
	case len(opts.environments) > 0 || opts.base != "" || opts.worktree:
		return usageError("--workload checks workloads by themselves: leave out --env, --base and --worktree")
	}
	if err := opts.check(); err != nil {
		return err
	}
	options, _, err := opts.options()
	if err != nil {
		return err
	}
	source, err := workloadSource(path)
	if err != nil {
		return usageError("--workload %s: %w", path, err)
	}
	defer source.close()
	objects, diags := model.Parse(source.Source, nil, options)
	run := &workloadCheck{session: &session{edges: e, flags: opts, diags: diags}, objects: objects}
	run.view = run
	run.checkTogether()
	return run.finish("")
}

// openedSource is a folder of this machine that is read.
type openedSource struct {
	*model.Source
	root *os.Root
}

func (s openedSource) close() { _ = s.root.Close() } // nothing was written through it

// workloadSource is what a registration of the path would read: the file or folder, and the ignore files above it up to the
// root of the repository.
func workloadSource(path string) (openedSource, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return openedSource{}, err
	}
	info, err := os.Stat(absolute)
	if err != nil {
		return openedSource{}, withoutPath(err)
	}
	top := absolute
	if !info.IsDir() {
		top = filepath.Dir(absolute)
	}
	for folder := top; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil {
			top = folder
			break
		}
	}
	below, err := filepath.Rel(top, absolute)
	if err != nil {
		return openedSource{}, err
	}
	name, err := gitops.NormalURL(top)
	if err != nil {
		return openedSource{}, err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return openedSource{}, withoutPath(err)
	}
	ref := model.Ref{Repo: name, Path: filepath.ToSlash(below), Role: model.Tenant}
	return openedSource{&model.Source{Ref: ref, Repo: name, FS: root.FS()}, root}, nil
}

// workloadCheck is a run of validate --workload.
type workloadCheck struct {
	*session
	objects *model.Objects
}

// checkTogether finds what is wrong with workloads beside each other, in every environment that they name.
func (c *workloadCheck) checkTogether() {
	names := map[string]bool{}
	for _, w := range c.objects.Workloads {
		for _, t := range w.DeploymentTargets {
			names[t.Environment.Value] = true
		}
	}
	environments := slices.Sorted(maps.Keys(names))
	if len(environments) == 0 {
		environments = []string{""}
	}
	for _, name := range environments { // what is said of several is shown once
		environment := &model.Environment{Object: model.Object{Name: model.Text{Value: name}}}
		_, diags := model.NewFleet(environment, environments, []*model.Objects{c.objects})
		c.diags.Add(diags)
	}
}

func (c *workloadCheck) structured(diags diag.List) any {
	return report{FormatVersion: formatVersion, Environments: []environmentResult{}, Diagnostics: diagnosticResults(diags)}
}

func (c *workloadCheck) text() error {
	if c.failed() {
		return nil
	}
	targets := 0
	for _, w := range c.objects.Workloads {
		targets += len(w.DeploymentTargets)
	}
	_, err := fmt.Fprintf(c.stdout, "%s with %s\n", diag.Plural(len(c.objects.Workloads), "workload"), diag.Plural(targets, "deployment target"))
	return err
}

func (*workloadCheck) actions(r actionsReport) actionsReport { return r }
