package render

import (
	"cmp"
	"fmt"
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
	// Path is slash-separated and relative to the directory of the GitOps repository.
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

// newTree returns the tree of rendered files, whose paths are empty where there is no file, with those that need no
// rendering.
func newTree(fleet *model.Fleet, files []File) (*Tree, error) {
	files = slices.DeleteFunc(files, func(f File) bool { return f.Path == "" })
	if fleet.PromotedCommit != "" {
		files = append(files, File{Path: TrackingFile, Content: content.New(fleet.PromotedCommit)})
	}
	for _, clusterType := range fleet.ClusterTypes {
		if !clusterType.Broken { // otherwise it is reported already
			files = append(files, File{Path: clusterType.Name.Value + "/" + ReadmeFile, Content: content.New(Readme)})
		}
	}
	slices.SortFunc(files, byPath)
	tree := &Tree{Files: files}
	return tree, tree.check()
}

// check verifies the paths of a sorted tree. The model has validated every name in a path, so an error here is a bug in
// kalypso. Valid paths cannot differ only by case, because all names in them are DNS labels or constants.
func (t *Tree) check() error {
	for i, file := range t.Files {
		if err := checkPath(file.Path); err != nil {
			return err
		}
		if i > 0 && file.Path == t.Files[i-1].Path {
			return fmt.Errorf("output path %q is duplicated", file.Path)
		}
	}
	return nil
}

// checkPath refuses a path that leaves the tree or is in a directory that begins with a dot; the tracking file is the one
// exception.
func checkPath(path string) error {
	if path == TrackingFile {
		return nil
	}
	directories := strings.Split(path, "/")
	for _, name := range directories[:len(directories)-1] {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return fmt.Errorf("output path %q: directory %q is not a DNS label", path, name)
		}
	}
	switch name := directories[len(directories)-1]; {
	case len(directories) == 2 && name == ReadmeFile:
	case len(directories) == 3 && (name == ReconcilerFile || name == NamespaceFile ||
		name == ConfigFileYAML || name == ConfigFileSh):
	default:
		return fmt.Errorf("output path %q is not one that kalypso writes", path)
	}
	return nil
}
