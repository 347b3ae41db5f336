package initialize

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

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
