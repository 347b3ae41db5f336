package validate

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// validateWorkload checks the workloads at a path as an application repository is checked.
func validateWorkload(e *cli.Host, opts *session.Flags, path string) error {
	if len(opts.Environments) > 0 || opts.Base != "" || opts.Worktree || opts.Committed {
		return cli.Usage("--workload cannot be combined with --env, --base or --committed")
	}
	if err := opts.Check(); err != nil {
		return err
	}
	options, _, err := opts.Options()
	if err != nil {
		return err
	}
	source, root, err := workloadSource(path)
	if err != nil {
		return cli.Usage("--workload %s: %w", path, err)
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	objects, diags := model.Parse(source, nil, options)
	run := &workloadCheck{Session: &session.Session{Host: e, Flags: opts, Diags: diags}, objects: objects}
	run.View = session.View{
		Text:        run.text,
		Structured:  func(diags diag.List) any { return results.NewReport[session.Environment](nil, diags) },
		MoreFormats: formats(func(*session.Session) string { return source.Repo }),
	}
	run.checkTogether()
	run.Diags.Add(opts.WarningsAsErrors(run.Diags))
	return run.Finish("")
}

// workloadSource is what a registration of the path would read: the file or directory, and the ignore files above it up to the
// root of the repository, which the caller closes.
func workloadSource(path string) (*model.Source, *os.Root, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := os.Stat(absolute)
	if err != nil {
		return nil, nil, cli.WithoutPath(err)
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
		return nil, nil, err
	}
	name, err := giturl.NormalURL(top)
	if err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, nil, cli.WithoutPath(err)
	}
	ref := model.Ref{Repo: name, Path: filepath.ToSlash(below), Role: model.Tenant}
	return &model.Source{Ref: ref, Repo: name, FS: root.FS()}, root, nil
}

// workloadCheck is a run of validate --workload.
type workloadCheck struct {
	*session.Session
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
		c.Diags.Add(diags)
	}
}

func (c *workloadCheck) text() error {
	if c.Failed() {
		return nil
	}
	targets := 0
	for _, w := range c.objects.Workloads {
		targets += len(w.DeploymentTargets)
	}
	_, err := fmt.Fprintf(c.Stdout, "%s with %s\n", diag.Plural(len(c.objects.Workloads), "workload"), diag.Plural(targets, "deployment target"))
	return err
}
