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

// The folder of the playground that stands for a server.
const server = "repositories"

// makeSample makes a whole fleet in a folder.
func (f *initFlags) makeSample(cmd *cobra.Command, e *cli.Host) error {
	if cmd.Flags().NArg() > 0 {
		return cli.Usage("%s: the folder of the sample is that of --sample", cmd.Flags().Arg(0))
	}
	target, err := filepath.Abs(f.sample)
	if err != nil {
		return cannotMake(err)
	}
	if err := sampleFolder(f.sample, target); err != nil {
		return err
	}
	var made []createdRepository
	if err := inFolder(target, func(work string) (err error) {
		made, err = playground{plan: scaffold.SampleFleet(), work: work, target: target, shown: f.sample}.make()
		return err
	}); err != nil {
		return err
	}
	return f.print(e, Result{Repositories: made, Sample: f.sample, Next: nextOfSample(f.sample)})
}

// sampleFolder tells why a folder cannot be that of a sample.
func sampleFolder(shown, target string) error {
	if shown == "" {
		return cli.Usage(`--sample "": name a folder`)
	}
	if strings.ContainsFunc(target, func(r rune) bool { return r < ' ' || strings.ContainsRune("*,=", r) }) {
		return cli.Usage("--sample %s: the path must hold no comma, no '*', no '=' and no control character, as --replace could not name it", shown)
	}
	entries, err := os.ReadDir(target)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return cannotMake(err)
	case len(entries) > 0:
		return cli.Usage("--sample %s: the folder is not empty, and nothing is overwritten", shown)
	}
	return nil
}

// playground makes the sample in work, as it will be at target, which messages show as it was written.
type playground struct {
	plan                scaffold.Fleet
	work, target, shown string
}

func (p playground) make() ([]createdRepository, error) {
	if err := os.Mkdir(filepath.Join(p.work, server), 0o777); err != nil {
		return nil, err
	}
	var made []createdRepository
	for _, r := range p.repositories() {
		r.Author, r.When = session.KalypsoItself(), sampleTime()
		tips, err := gitobject.CreateRepository(filepath.Join(p.work, r.path), r.NewRepository)
		if err != nil {
			return nil, err
		}
		made = append(made, newCreatedRepository(filepath.Join(p.shown, r.path), r.NewRepository, tips))
	}
	beside, err := p.plan.Playground(scaffold.SampleOwner + "*=" + filepath.ToSlash(filepath.Join(p.target, server)) + "/*.git")
	if err != nil {
		return nil, err
	}
	for name, text := range beside {
		mode := os.FileMode(0o666)
		if name == scaffold.ClustersProgram {
			mode = 0o777
		}
		if err := os.WriteFile(filepath.Join(p.work, name), []byte(text), mode); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// repositories are all that the sample has: bare ones for the server, and clones of those that people work in.
func (p playground) repositories() []plannedRepository {
	control, output := p.controlPlane(), gitOpsRepository(p.plan)
	var all []plannedRepository
	for _, name := range scaffold.SampleApplications() {
		all = append(all, onServer(name, gitobject.NewRepository{Branches: []gitobject.NewBranch{
			branchOf("main", "Add the workload", func() (scaffold.Files, error) { return p.plan.SampleApplication(name) }),
		}}))
	}
	return append(all, onServer("control-plane", control), p.clone("control-plane", control), onServer("gitops", output), p.clone("gitops", output))
}

// clone is a clone of what is on the server.
func (p playground) clone(name string, r gitobject.NewRepository) plannedRepository {
	r.Origin, r.Cloned = filepath.Join(p.target, server, name+".git"), true
	// Whoever types what the tutorial says need not have told git who he is, or has told it to sign.
	r.Settings = map[string]string{
		"user.name": "You", "user.email": "you@acme.example", "commit.gpgsign": "false", "push.default": "simple",
	}
	return plannedRepository{name, r}
}

func onServer(name string, r gitobject.NewRepository) plannedRepository {
	r.Origin, r.Bare = "", true
	return plannedRepository{filepath.Join(server, name+".git"), r}
}

func (p playground) controlPlane() gitobject.NewRepository {
	r := gitobject.NewRepository{Branches: []gitobject.NewBranch{branchOf(p.plan.Base, "Begin the control plane", p.plan.SampleBaseBranch)}}
	for _, environment := range p.plan.Environments {
		r.Branches = append(r.Branches, environmentBranch(p.plan.Base, environment, p.plan.SampleEnvironmentBranch))
	}
	return r
}

// inFolder puts what fill writes to a folder of its own into a folder, which is made if it is not there: all of it, or
// nothing if something fails. Nothing that is there is touched.
func inFolder(folder string, fill func(work string) error) (err error) {
	_, before := os.Lstat(folder)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return cannotMake(err)
	}
	work, err := os.MkdirTemp(folder, ".kalypso-init-")
	if err != nil {
		return cannotMake(err)
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(work))
		if err != nil && errors.Is(before, os.ErrNotExist) {
			_ = os.Remove(folder) // ours, and empty unless somebody else has put something there
		}
	}()
	if err := fill(work); err != nil {
		return cannotMake(err)
	}
	if err := moveUp(work, folder); err != nil {
		return cannotMake(err)
	}
	return nil
}

// moveUp moves all that is in a folder to the one that it is in, or nothing if something is in the way.
func moveUp(work, folder string) error {
	entries, err := os.ReadDir(work)
	if err != nil {
		return err
	}
	for i, entry := range entries {
		if err := moveNew(filepath.Join(work, entry.Name()), filepath.Join(folder, entry.Name())); err != nil {
			for _, moved := range entries[:i] {
				err = errors.Join(err, os.Rename(filepath.Join(folder, moved.Name()), filepath.Join(work, moved.Name())))
			}
			return err
		}
	}
	return nil
}

// moveNew moves a file or folder to where nothing is. Somebody else may put something there at this very moment: a
// folder that is not empty is never replaced, and no file of ours is made where another could matter.
func moveNew(from, to string) error {
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, &os.PathError{Op: "make", Path: to, Err: os.ErrExist})
	}
	return os.Rename(from, to)
}
