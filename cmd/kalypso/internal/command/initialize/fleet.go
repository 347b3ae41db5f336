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

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// plannedRepository is a repository that is to be made at a place.
type plannedRepository struct {
	path string
	gitobject.NewRepository
}

// makeFleet makes the control plane and the GitOps repository of a new fleet.
func (f *initFlags) makeFleet(ctx context.Context, e *cli.Host, folder string) error {
	author, err := f.authorOf()
	if err != nil {
		return err
	}
	plan, err := f.plan(ctx, e, f.fieldsOfFleet(), nil)
	if err != nil {
		return err
	}
	repositories := []plannedRepository{
		{folderOf(plan.ControlPlane), controlPlane(plan)},
		{folderOf(plan.GitOps), gitOpsRepository(plan)},
	}
	repositories[0].Origin, repositories[1].Origin = f.controlPlane, f.gitops // over ssh, if that is how they were given
	if strings.EqualFold(repositories[0].path, repositories[1].path) {
		return cli.Usage("both repositories would be in the folder %s: run init for one owner, or rename one", repositories[0].path)
	}
	for i := range repositories {
		repositories[i].Author, repositories[i].When = author, e.Now()
	}
	made, err := createAll(folder, repositories)
	if err != nil {
		return err
	}
	return f.print(e, Result{Repositories: made, Next: nextOfFleet(plan, folder)})
}

// fieldsOfFleet are those of a fleet with the example.
func (f *initFlags) fieldsOfFleet() []field {
	fields := f.fields()
	for i := range fields {
		if fields[i].flag == "env" {
			fields[i].check = func(name string) error {
				return cmp.Or(f.checkEnvironment(name), scaffold.CheckExample(name))
			}
		}
	}
	return fields
}

func (f *initFlags) authorOf() (gitobject.Identity, error) {
	if f.author == "" {
		return session.KalypsoItself(), nil
	}
	author, err := gitobject.ParseIdentity(f.author)
	if err != nil {
		return author, cli.Usage("--author %q: %w", f.author, err)
	}
	return author, nil
}

// folderOf is the folder that git clone would make of a URL.
func folderOf(url string) string {
	return strings.TrimSuffix(path.Base(strings.TrimRight(url, "/")), ".git")
}

// ControlPlane is the repository of a new fleet's control plane.
func controlPlane(plan scaffold.Fleet) gitobject.NewRepository {
	r := gitobject.NewRepository{Origin: plan.ControlPlane, Branches: []gitobject.NewBranch{
		branchOf(plan.Base, "Begin the control plane", plan.BaseBranch),
		branchOf(scaffold.HelloWorld, "Add an example of a workload", plan.HelloWorldBranch),
	}}
	for _, environment := range plan.Environments {
		r.Branches = append(r.Branches, environmentBranch(plan.Base, environment, plan.EnvironmentBranch))
	}
	return r
}

// gitOpsRepository is a GitOps repository to which nothing was published yet.
func gitOpsRepository(plan scaffold.Fleet) gitobject.NewRepository {
	r := gitobject.NewRepository{Origin: plan.GitOps}
	for _, environment := range plan.Environments {
		r.Branches = append(r.Branches, branchOf(environment, "Begin "+environment, plan.GitOpsBranch))
	}
	return r
}

func branchOf(name, message string, files func() (scaffold.Files, error)) gitobject.NewBranch {
	return gitobject.NewBranch{Name: name, Message: message, Files: func(map[string]string) (map[string]string, error) { return files() }}
}

// environmentBranch is the branch of an environment that has the first commit of the base branch.
func environmentBranch(base, environment string, files func(environment, commit string) (scaffold.Files, error)) gitobject.NewBranch {
	return gitobject.NewBranch{Name: environment, Message: "Begin " + environment, Files: func(tips map[string]string) (map[string]string, error) {
		return files(environment, tips[base])
	}}
}

// createAll makes repositories in a folder: all of them, or none if something is in the way.
func createAll(folder string, repositories []plannedRepository) (made []createdRepository, err error) {
	var names []string
	for _, r := range repositories {
		names = append(names, r.path)
	}
	if err := notThere(folder, names); err != nil {
		return nil, err
	}
	return made, inFolder(folder, func(work string) error {
		for _, r := range repositories {
			tips, err := gitobject.CreateRepository(filepath.Join(work, r.path), r.NewRepository)
			if err != nil {
				return err
			}
			made = append(made, newCreatedRepository(filepath.Join(folder, r.path), r.NewRepository, tips))
		}
		return nil
	})
}

// notThere is an error that names what would be overwritten.
func notThere(folder string, names []string) error {
	var there []string
	for _, name := range names {
		switch _, err := os.Lstat(filepath.Join(folder, name)); {
		case err == nil:
			there = append(there, filepath.Join(folder, name))
		case !errors.Is(err, os.ErrNotExist):
			return cannotMake(err)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return cli.Usage("%s: exists already, and nothing is overwritten; name another folder, or use --workflows for a fleet that there is already", strings.Join(there, ", "))
}

// cannotMake is the error of repositories that cannot be made.
func cannotMake(err error) error {
	return cli.Failure("make the repositories: %w", err)
}

// sampleTime dates the commits of the sample, so that they have the same ids everywhere.
func sampleTime() time.Time { return time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC) }
