package fleettest

import (
	"embed"
	"io/fs"
	"math/rand/v2"
	"path"
	"testing/fstest"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// The only environment, the branches, and where the repositories are said to be.
const (
	Environment = "dev"
	baseBranch  = "main"
	server      = "https://github.com/acme/"
	// controlPlane is the name of a repository, and of the directory that holds one of its branches each.
	controlPlane = "control-plane"
)

// Fleet is the text of all files that a fleet is made of.
type Fleet struct {
	// Main and Dev are the branches of the control plane: what all environments share, and the environment.
	Main, Dev fstest.MapFS
	// Apps are the application repositories, by name.
	Apps map[string]fstest.MapFS
}

// Generate makes the fleet of a size.
func Generate(size Size) Fleet {
	g := &generator{
		Rand:  rand.New(rand.NewPCG(1, 2)),
		size:  size,
		fleet: Fleet{Main: fstest.MapFS{}, Dev: fstest.MapFS{}, Apps: map[string]fstest.MapFS{}},
	}
	g.values = g.settings()
	g.addShared()
	g.addClusterTypes()
	g.addWorkloads()
	g.addPolicies()
	g.addConfigs()
	g.addUnused() // last, so that all else is the same without
	return g.fleet
}

// generator makes a fleet in one pass. Its order of drawing numbers is part of what comes out.
type generator struct {
	*rand.Rand
	size         Size
	fleet        Fleet
	values       map[string]func() string // makes one of each key
	clusterTypes []clusterType
	workloads    []workload
}

//go:embed all:shared
var shared embed.FS

// addShared adds what is the same for all sizes: the environment, the templates and the schemas.
func (g *generator) addShared() {
	root, err := fs.Sub(shared, "shared")
	if err != nil {
		panic(err) // the path is valid
	}
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		g.fleet.Main[name] = &fstest.MapFile{Data: content}
		return err
	})
	if err != nil {
		panic(err) // the files are part of the program
	}
	add(g.fleet.Dev, "base-repo.yaml", object("BaseRepo", "main", nil)+
		"spec:\n  repo: "+server+controlPlane+"\n  branch: "+baseBranch+"\n  commit: 3b18e512dba79e4c8300dd08aeb37f8e728b8dad\n")
}

func add(files fstest.MapFS, name, content string) {
	if files[name] != nil {
		panic("two files of the name " + name)
	}
	files[name] = &fstest.MapFile{Data: []byte(content)}
}

// Directories returns the fleet as a tree of plain directories, a repository each with a directory for each
// branch, such as can be written with os.CopyFS.
func (f Fleet) Directories() fs.FS {
	all := fstest.MapFS{}
	mount := func(dir string, files fstest.MapFS) {
		for name, file := range files {
			all[path.Join(dir, name)] = file
		}
	}
	mount(path.Join(controlPlane, baseBranch), f.Main)
	mount(path.Join(controlPlane, Environment), f.Dev)
	for name, files := range f.Apps {
		mount(path.Join(name, baseBranch), files)
	}
	return all
}

// Flags are those with which kalypso reads the fleet from the directory that Directories was written to.
func Flags(dir string) []string {
	return []string{"--env", Environment, "--control-plane", path.Join(dir, controlPlane), "--replace", server + "*=" + path.Join(dir, "*")}
}

// Load reads the fleet from memory, as the loader of repositories does from those.
func (f Fleet) Load() (*model.Fleet, diag.List) {
	source := func(repo string, files fstest.MapFS, role model.Role, at string) *model.Source {
		ref := model.Ref{Repo: server + repo, Branch: baseBranch, Path: at, Role: role}
		return &model.Source{Ref: ref, Repo: ref.Repo, FS: files}
	}
	var diags diag.List
	parse := func(source *model.Source, registration *model.WorkloadRegistration) *model.Objects {
		objects, problems := model.Parse(source, registration, model.DefaultOptions())
		diags.Add(problems)
		return objects
	}
	environments, problems := model.UniqueEnvironments(parse(source(controlPlane, f.Main, model.Main, "."), nil))
	diags.Add(problems)
	platform := source(controlPlane, f.Dev, model.Platform, ".")
	platform.Ref.Branch = Environment
	base := parse(source(controlPlane, f.Main, model.Base, "."), nil)
	parts := []*model.Objects{parse(platform, nil), base}
	for _, r := range base.Registrations {
		name := path.Base(r.Workload.Repo.Value)
		parts = append(parts, parse(source(name, f.Apps[name], model.Tenant, r.Workload.Path.Value), r))
	}
	fleet, problems := model.NewFleet(environments[0], []string{Environment}, parts)
	diags.Add(problems)
	return fleet, diags
}
