package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
	"github.com/kalypso-gitops/kalypso/pkg/render/reference"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// The names in the output tree, as the operator wrote them and the clusters read them.
const (
	ReadmeFile     = "README.md"
	ReconcilerFile = reference.ReconcilerFile
	NamespaceFile  = reference.NamespaceFile
	ConfigFileYAML = reference.ConfigFileYAML
	ConfigFileSh   = reference.ConfigFileSh
	// Readme is the whole content of the README.md of a cluster type.
	Readme = "This folder contains deployment targets scheduled on the cluster type"
	// TrackingFile holds the promoted commit, and nothing else.
	TrackingFile = ".github/tracking/Promoted_Commit_Id"
)

// Tree is the whole output of an environment, in order of path.
type Tree struct {
	Files []File
	// Partial says that the tree may lack targets that are wanted, so that what is published of others
	// stays. The zero value is a whole output.
	Partial bool
}

// File is one file of the output.
type File struct {
	// Path is slash-separated and relative to the folder of the GitOps repository.
	Path    string
	Content content.Text
	// Staged says that the content is where Options.Stage put it, and not here.
	Staged bool
	// Assignment is what the file was rendered for; nil for a README.md and the tracking file.
	Assignment *schedule.Assignment

	// yaml says that the content must be YAML.
	yaml bool
}

// IsYAML reports whether the content must be YAML.
func (f *File) IsYAML() bool { return f.yaml }

// inTree returns a rendered file as it is in the tree.
func inTree(f *reference.File, a *schedule.Assignment) File {
	return File{Path: f.Path, Content: f.Content, Assignment: a, yaml: f.YAML}
}

func byPath(a, b File) int { return cmp.Compare(a.Path, b.Path) }

// ReadFile returns the content of the file at path, if there is one.
func (t *Tree) ReadFile(path string) ([]byte, bool) {
	i, found := slices.BinarySearchFunc(t.Files, path, func(f File, path string) int { return cmp.Compare(f.Path, path) })
	if !found {
		return nil, false
	}
	return t.Files[i].Content.Bytes(), true
}

// places are the slots for all files of an output, in order of path.
type places struct {
	files []File
	// first is for each assignment where its files begin.
	first []int
}

// newPlaces returns slots for the files of assignments, with the files that need no rendering.
func newPlaces(fleet *model.Fleet, assignments []schedule.Assignment) *places {
	const tracking = 1
	p := &places{
		files: make([]File, 0, tracking+len(fleet.ClusterTypes)+reference.MaxFiles*len(assignments)),
		first: make([]int, len(assignments)),
	}
	if fleet.PromotedCommit != "" {
		p.files = append(p.files, File{Path: TrackingFile, Content: content.New(fleet.PromotedCommit)})
	}
	order := inOrderOfPath(assignments)
	next := func() {
		p.first[order[0]] = len(p.files)
		p.files = p.files[:len(p.files)+reference.MaxFiles]
		order = order[1:]
	}
	for _, clusterType := range clusterTypesInOrderOfPath(fleet) {
		if !clusterType.Broken { // else reported already
			p.files = append(p.files, File{Path: clusterType.Name.Value + "/" + ReadmeFile, Content: content.New(Readme)})
		}
		for len(order) > 0 && assignments[order[0]].ClusterType == clusterType {
			next()
		}
	}
	for len(order) > 0 { // of cluster types that the fleet does not have
		next()
	}
	return p
}

// of returns the slots for the files of an assignment.
func (p *places) of(assignment int) []File {
	first := p.first[assignment]
	return p.files[first : first : first+reference.MaxFiles]
}

// tree closes the gaps, when all is rendered.
func (p *places) tree() (*Tree, error) {
	files := slices.DeleteFunc(p.files, func(f File) bool { return f.Path == "" })
	// A folder that begins with a digit comes before README.md.
	if !slices.IsSortedFunc(files, byPath) {
		slices.SortFunc(files, byPath)
	}
	tree := &Tree{Files: files}
	return tree, tree.check()
}

func clusterTypesInOrderOfPath(fleet *model.Fleet) []*model.ClusterType {
	return slices.SortedFunc(slices.Values(fleet.ClusterTypes), func(a, b *model.ClusterType) int {
		return cmp.Compare(a.Name.Value+"/", b.Name.Value+"/")
	})
}

// inOrderOfPath returns the positions of assignments in the order of their folders. Names are compared
// with what follows them in a path: "a-b/" comes before "a/".
func inOrderOfPath(assignments []schedule.Assignment) []int {
	folders := map[string]int{}
	for i := range assignments {
		folders[assignments[i].ClusterType.Name.Value+"/"], folders[assignments[i].Target.Name.Value+"/"] = 0, 0
	}
	for rank, folder := range slices.Sorted(maps.Keys(folders)) {
		folders[folder] = rank
	}
	keys := make([]int, len(assignments))
	order := make([]int, len(assignments))
	for i := range assignments {
		order[i] = i
		keys[i] = folders[assignments[i].ClusterType.Name.Value+"/"]*len(folders) + folders[assignments[i].Target.Name.Value+"/"]
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	return order
}

// check makes sure that nothing is written where it must not be. The model has checked every name
// that a path is made of, so an error here is a mistake in kalypso. No two good paths differ only by
// case: all names in them are DNS labels, and the others are the same everywhere.
func (t *Tree) check() error {
	labels := labels{}
	paths := make([]string, len(t.Files))
	for i, file := range t.Files {
		if err := labels.checkPath(file.Path); err != nil {
			return err
		}
		paths[i] = file.Path
	}
	if !slices.IsSorted(paths) {
		slices.Sort(paths)
	}
	for i := 1; i < len(paths); i++ {
		if paths[i] == paths[i-1] {
			return fmt.Errorf("output path %q is duplicated", paths[i])
		}
	}
	return nil
}

// checkPath refuses a path that leaves the tree or touches a folder that begins with a dot; the
// tracking file is the one exception.
func checkPath(path string) error { return labels{}.checkPath(path) }

// labels are names that are known to be DNS labels: the same few are in very many paths.
type labels map[string]bool

func (l labels) checkPath(path string) error {
	if path == TrackingFile {
		return nil
	}
	folders := strings.Split(path, "/")
	for _, name := range folders[:len(folders)-1] {
		if l[name] {
			continue
		}
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return fmt.Errorf("output path %q: directory %q is not a DNS label", path, name)
		}
		l[name] = true
	}
	switch name := folders[len(folders)-1]; {
	case len(folders) == 2 && name == ReadmeFile:
	case len(folders) == 3 && (name == ReconcilerFile || name == NamespaceFile ||
		name == ConfigFileYAML || name == ConfigFileSh):
	default:
		return fmt.Errorf("output path %q is not one that kalypso writes", path)
	}
	return nil
}
