package change

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// Layout is the content of a GitOps repository or output directory that kalypso manages. It is determined by names
// alone, so it includes the output of the operator and excludes files that people added.
type Layout struct {
	fs.FS
	// ClusterTypes are the top-level directories whose README.md is exactly that of kalypso.
	ClusterTypes []string
	// Targets are the directories of deployment targets in ClusterTypes, by path.
	Targets map[string]bool
	// Files are all files in the directories of targets.
	Files []string
}

func (p *Layout) content(name string) ([]byte, error) { return fs.ReadFile(p.FS, name) }

// ReadLayout reads the layout of a tree. It ignores directories that begin with a dot.
func ReadLayout(old fs.FS) (*Layout, error) {
	p := &Layout{FS: old, Targets: map[string]bool{}}
	if old == nil {
		return p, nil
	}
	entries, err := fs.ReadDir(old, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list what is published: %w", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if err := p.clusterType(entry.Name()); err != nil {
			return nil, fmt.Errorf("list what is published: %w", err)
		}
	}
	return p, nil
}

func (p *Layout) clusterType(name string) error {
	ours, err := p.IsReadme(path.Join(name, render.ReadmeFile))
	if err != nil || !ours {
		return err
	}
	p.ClusterTypes = append(p.ClusterTypes, name)
	entries, err := fs.ReadDir(p.FS, name)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := p.target(path.Join(name, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// readmeID is the object id of kalypso's README.md, so that it is identified without reading it.
var readmeID = plumbing.ComputeHash(plumbing.BlobObject, []byte(render.Readme)).String()

// IsReadme reports whether a file is the README.md of a cluster type, exactly as rendered.
func (p *Layout) IsReadme(name string) (bool, error) {
	info, err := fs.Stat(p.FS, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if id, ok := info.Sys().(gitobject.ObjectID); ok {
		return string(id) == readmeID, nil
	}
	if info.Size() != int64(len(render.Readme)) {
		return false, nil
	}
	content, err := fs.ReadFile(p.FS, name)
	return string(content) == render.Readme, err
}

// IsTarget reports whether a directory with these entries is the directory of a deployment target.
func IsTarget(entries []fs.DirEntry) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name && e.Type().IsRegular() })
	}
	return has(render.ReconcilerFile) && has(render.NamespaceFile)
}

func (p *Layout) target(directory string) error {
	entries, err := fs.ReadDir(p.FS, directory)
	if err != nil {
		return err
	}
	if !IsTarget(entries) {
		return nil
	}
	p.Targets[directory] = true
	return fs.WalkDir(p.FS, directory, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			p.Files = append(p.Files, name)
		}
		return err
	})
}

// unwanted returns the managed files that the tree does not have: gone if their target, its cluster type or its
// configuration is removed, else stale. Targets that are missing in a partial tree are not removed, nor are their
// cluster types.
func (p *Layout) unwanted(tree *render.Tree) (gone, stale []string) {
	wanted := WantedFiles{tree}
	for _, name := range p.ClusterTypes {
		if !wanted.directory(name) && !tree.Partial {
			gone = append(gone, path.Join(name, render.ReadmeFile))
		}
	}
	for _, name := range p.Files {
		directory := targetDirectory(name)
		switch {
		case wanted.File(name):
		case !wanted.directory(directory) && tree.Partial:
		case !wanted.directory(directory) || wanted.noConfigLike(name):
			gone = append(gone, name)
		default:
			stale = append(stale, name)
		}
	}
	return gone, stale
}

// WantedFiles looks up files in a tree, which is in order of path.
type WantedFiles struct{ Tree *render.Tree }

// from returns the first path that is not before name; empty if there is none.
func (w WantedFiles) from(name string) string {
	at, _ := slices.BinarySearchFunc(w.Tree.Files, name, func(f render.File, name string) int { return strings.Compare(f.Path, name) })
	if at == len(w.Tree.Files) {
		return ""
	}
	return w.Tree.Files[at].Path
}

// File reports whether the tree has a file of that path.
func (w WantedFiles) File(name string) bool { return w.from(name) == name }

func (w WantedFiles) directory(name string) bool {
	return strings.HasPrefix(w.from(name+"/"), name+"/")
}

// noConfigLike reports whether a file is the configuration of a target that has none any more. Besides a configuration of
// the other type it is stale.
func (w WantedFiles) noConfigLike(name string) bool {
	directory := path.Dir(name)
	yaml, sh := path.Join(directory, render.ConfigFileYAML), path.Join(directory, render.ConfigFileSh)
	return (name == yaml || name == sh) && !w.File(yaml) && !w.File(sh)
}

// targetDirectory returns the directory of the target of a file at any depth.
func targetDirectory(name string) string {
	clusterType, rest, _ := strings.Cut(name, "/")
	target, _, found := strings.Cut(rest, "/")
	if !found {
		return "" // a README.md
	}
	return name[:len(clusterType)+1+len(target)]
}
