package initialize

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// plannedRepository is a repository to create at a path below a directory.
type plannedRepository struct {
	path string
	gitobject.NewRepository
}

// makeFleet creates the control plane and the GitOps repository of a new fleet.
func (f *initFlags) makeFleet(ctx context.Context, e *cli.Host, directory string) error {
	author := session.KalypsoItself()
	if f.author != "" {
		var err error
		if author, err = gitobject.ParseIdentity(f.author); err != nil {
			return cli.Usage("--author %q: %w", f.author, err)
		}
	}
	fields := f.fields()
	for i := range fields {
		if fields[i].flag == "env" {
			fields[i].check = func(name string) error {
				return cmp.Or(f.checkEnvironment(name), scaffold.CheckExample(name))
			}
		}
	}
	plan, err := f.plan(ctx, e, fields, nil)
	if err != nil {
		return err
	}
	repositories := []plannedRepository{
		{directoryOf(plan.ControlPlane), controlPlane(plan)},
		{directoryOf(plan.GitOps), gitOpsRepository(plan)},
	}
	repositories[0].Origin, repositories[1].Origin = f.controlPlane, f.gitops // the URLs as given, which may be ssh
	if strings.EqualFold(repositories[0].path, repositories[1].path) {
		return cli.Usage("both repositories would be in the directory %s; rename one of them", repositories[0].path)
	}
	if err := checkAbsent(directory, repositories); err != nil {
		return err
	}
	var made []createdRepository
	if err := inDirectory(directory, func(work string) (err error) {
		made, err = createAll(work, directory, repositories, author, e.Now())
		return err
	}); err != nil {
		return err
	}
	return f.print(e, Result{Repositories: made, Next: nextOfFleet(plan, directory)})
}

// directoryOf is the directory that git clone would create for a URL.
func directoryOf(url string) string {
	return strings.TrimSuffix(path.Base(strings.TrimRight(url, "/")), ".git")
}

// controlPlane is the repository of a fleet's control plane.
func controlPlane(plan scaffold.Fleet) gitobject.NewRepository {
	r := gitobject.NewRepository{Branches: []gitobject.NewBranch{branchOf(plan.Base, "Create the control plane", plan.BaseBranch)}}
	if !plan.Sample {
		r.Branches = append(r.Branches, branchOf(scaffold.HelloWorld, "Add an example workload", plan.HelloWorldBranch))
	}
	for _, environment := range plan.Environments {
		r.Branches = append(r.Branches, gitobject.NewBranch{
			Name: environment, Message: "Create " + environment,
			Files: func(tips map[string]string) (map[string]string, error) {
				return plan.EnvironmentBranch(environment, tips[plan.Base])
			},
		})
	}
	return r
}

// gitOpsRepository is a new GitOps repository.
func gitOpsRepository(plan scaffold.Fleet) gitobject.NewRepository {
	var r gitobject.NewRepository
	for _, environment := range plan.Environments {
		r.Branches = append(r.Branches, branchOf(environment, "Begin "+environment, plan.GitOpsBranch))
	}
	return r
}

func branchOf(name, message string, files func() (scaffold.Files, error)) gitobject.NewBranch {
	return gitobject.NewBranch{Name: name, Message: message, Files: func(map[string]string) (map[string]string, error) { return files() }}
}

// createAll creates repositories in work, which is later moved to shown.
func createAll(work, shown string, repositories []plannedRepository, author gitobject.Identity, when time.Time) ([]createdRepository, error) {
	var made []createdRepository
	for _, r := range repositories {
		r.Author, r.When = author, when
		tips, err := gitobject.CreateRepository(filepath.Join(work, r.path), r.NewRepository)
		if err != nil {
			return nil, err
		}
		created := createdRepository{Path: filepath.ToSlash(filepath.Join(shown, r.path)), Origin: r.Origin}
		for _, branch := range r.Branches {
			created.Branches = append(created.Branches, createdBranch{branch.Name, tips[branch.Name]})
		}
		made = append(made, created)
	}
	return made, nil
}

// checkAbsent returns an error that names the repositories that exist.
func checkAbsent(directory string, repositories []plannedRepository) error {
	var there []string
	for _, r := range repositories {
		switch _, err := os.Lstat(filepath.Join(directory, r.path)); {
		case err == nil:
			there = append(there, filepath.Join(directory, r.path))
		case !errors.Is(err, os.ErrNotExist):
			return createError(err)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return cli.Usage("%s already exists; name another directory, or use --workflows for an existing fleet", strings.Join(there, ", "))
}

// createError is the error of repositories that cannot be created.
func createError(err error) error {
	return cli.Failure("create the repositories: %w", err)
}

// server is the directory of the sample that simulates a server.
const server = "repositories"

// makeSample creates a sample fleet in a directory. Its commit ids are the same on all machines.
func (f *initFlags) makeSample(cmd *cobra.Command, e *cli.Host) error {
	if cmd.Flags().NArg() > 0 {
		return cli.Usage("unexpected argument %s: --sample names the directory", cmd.Flags().Arg(0))
	}
	target, err := filepath.Abs(f.sample)
	if err != nil {
		return createError(err)
	}
	if err := sampleDirectory(f.sample, target); err != nil {
		return err
	}
	plan := scaffold.SampleFleet()
	plan.Sample = true
	var made []createdRepository
	if err := inDirectory(target, func(work string) (err error) {
		if err := os.Mkdir(filepath.Join(work, server), 0o777); err != nil {
			return err
		}
		when := time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC)
		if made, err = createAll(work, f.sample, sampleRepositories(plan, target), session.KalypsoItself(), when); err != nil {
			return err
		}
		return writePlayground(plan, work, target)
	}); err != nil {
		return err
	}
	return f.print(e, Result{Repositories: made, Sample: f.sample, Next: nextOfSample(f.sample)})
}

// sampleDirectory returns an error if a sample cannot be created in a directory.
func sampleDirectory(shown, target string) error {
	if strings.ContainsFunc(target, func(r rune) bool { return r < ' ' || strings.ContainsRune("*,=", r) }) {
		return cli.Usage("--sample %s: the path must not contain a comma, '*', '=' or a control character, because --replace could not name it", shown)
	}
	entries, err := os.ReadDir(target)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return createError(err)
	case len(entries) > 0:
		return cli.Usage("--sample %s: the directory is not empty", shown)
	}
	return nil
}

// writePlayground writes the other files of the sample to work, which is later moved to target.
func writePlayground(plan scaffold.Fleet, work, target string) error {
	beside, err := plan.Playground(scaffold.SampleOwner + "*=" + filepath.ToSlash(filepath.Join(target, server)) + "/*.git")
	if err != nil {
		return err
	}
	for name, text := range beside {
		mode := os.FileMode(0o666)
		if name == scaffold.ClustersProgram {
			mode = 0o777
		}
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), mode); err != nil {
			return err
		}
	}
	return nil
}

// sampleRepositories are the repositories of the sample: bare ones for the server, and two clones to work in.
func sampleRepositories(plan scaffold.Fleet, target string) []plannedRepository {
	var all []plannedRepository
	onServer := func(name string, r gitobject.NewRepository) {
		r.Bare = true
		all = append(all, plannedRepository{filepath.Join(server, name+".git"), r})
	}
	for _, name := range scaffold.SampleApplications() {
		onServer(name, gitobject.NewRepository{Branches: []gitobject.NewBranch{
			branchOf("main", "Add the workload", func() (scaffold.Files, error) { return plan.SampleApplication(name) }),
		}})
	}
	for i, r := range []gitobject.NewRepository{controlPlane(plan), gitOpsRepository(plan)} {
		name := []string{"control-plane", "gitops"}[i]
		onServer(name, r)
		r.Origin, r.Cloned = filepath.Join(target, server, name+".git"), true
		// The tutorial needs an identity, and no signing.
		r.Settings = map[string]string{
			"user.name": "You", "user.email": "you@acme.example", "commit.gpgsign": "false", "push.default": "simple",
		}
		all = append(all, plannedRepository{name, r})
	}
	return all
}

// inDirectory moves all that fill writes to a temporary directory into directory, which it creates if needed, or nothing if
// something fails. It changes no existing file.
func inDirectory(directory string, fill func(work string) error) (err error) {
	_, before := os.Lstat(directory)
	if err := os.MkdirAll(directory, 0o777); err != nil {
		return createError(err)
	}
	work, err := os.MkdirTemp(directory, ".kalypso-init-")
	if err != nil {
		return createError(err)
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(work))
		if err != nil && errors.Is(before, os.ErrNotExist) {
			_ = os.Remove(directory) // fails if it is not empty
		}
	}()
	if err := fill(work); err != nil {
		return createError(err)
	}
	if err := moveUp(work, directory); err != nil {
		return createError(err)
	}
	return nil
}

// moveUp moves the contents of work to directory, or nothing if a path exists.
func moveUp(work, directory string) error {
	entries, err := os.ReadDir(work)
	if err != nil {
		return err
	}
	for i, entry := range entries {
		if err := moveNew(filepath.Join(work, entry.Name()), filepath.Join(directory, entry.Name())); err != nil {
			for _, moved := range entries[:i] {
				err = errors.Join(err, os.Rename(filepath.Join(directory, moved.Name()), filepath.Join(work, moved.Name())))
			}
			return err
		}
	}
	return nil
}

// moveNew moves a file or directory to a path that does not exist. If another process creates the path at the same time, a
// directory that is not empty is not replaced.
func moveNew(from, to string) error {
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, &os.PathError{Op: "create", Path: to, Err: os.ErrExist})
	}
	return os.Rename(from, to)
}
