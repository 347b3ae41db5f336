package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// The names in the output tree, as the operator wrote them and the clusters read them.
const (
	ReadmeFile     = "README.md"
	ReconcilerFile = "reconciler.yaml"
	NamespaceFile  = "namespace.yaml"
	ConfigFileYAML = "platform-config.yaml"
	ConfigFileSh   = "platform-config.sh"
	// Readme is the whole content of the README.md of a cluster type.
	Readme = "This folder contains deployment targets scheduled on the cluster type"
	// TrackingFile holds the promoted commit, and nothing else.
	TrackingFile = ".github/tracking/Promoted_Commit_Id"
)

// Tree is the whole output of an environment, in order of path.
type Tree struct{ Files []File }

// File is one file of the output.
type File struct {
	// Path is slash-separated and relative to the folder of the GitOps repository.
	Path    string
	Content []byte
	// Assignment is what the file was rendered for; nil for a README.md and the tracking file.
	Assignment *schedule.Assignment
}

// ReadFile returns the content of the file at path, if there is one.
func (t *Tree) ReadFile(path string) ([]byte, bool) {
	i, found := slices.BinarySearchFunc(t.Files, path, func(f File, path string) int { return cmp.Compare(f.Path, path) })
	if !found {
		return nil, false
	}
	return t.Files[i].Content, true
}

// newTree puts what was rendered in its places.
func newTree(fleet *model.Fleet, rendered []output) (*Tree, error) {
	tree := &Tree{}
	for _, clusterType := range fleet.ClusterTypes {
		if clusterType.Broken {
			continue // reported already
		}
		tree.Files = append(tree.Files, File{Path: clusterType.Name.Value + "/" + ReadmeFile, Content: []byte(Readme)})
	}
	if fleet.PromotedCommit != "" {
		tree.Files = append(tree.Files, File{Path: TrackingFile, Content: []byte(fleet.PromotedCommit)})
	}
	for _, o := range rendered {
		tree.Files = append(tree.Files, o.files...)
	}
	slices.SortFunc(tree.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return tree, tree.check()
}

// check makes sure that nothing is written where it must not be. The model has checked every name
// that a path is made of, so an error here is a mistake in kalypso.
func (t *Tree) check() error {
	seen := make(map[string]string, len(t.Files))
	for _, file := range t.Files {
		if err := checkPath(file.Path); err != nil {
			return err
		}
		folded := strings.ToLower(file.Path)
		switch other, ok := seen[folded]; {
		case other == file.Path:
			return fmt.Errorf("output path %q is there twice", other)
		case ok:
			return fmt.Errorf("output paths %q and %q differ only by case", other, file.Path)
		}
		seen[folded] = file.Path
	}
	return nil
}

// checkPath refuses a path that leaves the tree or touches a folder that begins with a dot; the
// tracking file is the one exception.
func checkPath(path string) error {
	if path == TrackingFile {
		return nil
	}
	folders := strings.Split(path, "/")
	for _, name := range folders[:len(folders)-1] {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return fmt.Errorf("output path %q: folder %q is no DNS label", path, name)
		}
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
