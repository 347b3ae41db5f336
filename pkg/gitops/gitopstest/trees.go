package gitopstest

import (
	"slices"
	"strings"
	"testing/fstest"

	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// Readme is the README.md of a cluster type, as Tree takes it.
const Readme = "README.md=" + render.Readme

// Tree makes a rendered tree of paths and contents, "path=content".
func Tree(files ...string) *render.Tree {
	t := &render.Tree{}
	for _, file := range files {
		path, text, _ := strings.Cut(file, "=")
		f := render.File{Path: path, Content: content.New(text)}
		if strings.Count(path, "/") == 2 && !strings.HasPrefix(path, ".") {
			f.Assignment = &schedule.Assignment{}
		}
		t.Files = append(t.Files, f)
	}
	slices.SortFunc(t.Files, func(a, b render.File) int { return strings.Compare(a.Path, b.Path) })
	return t
}

// Published makes what is published already, from the same notation.
func Published(files ...string) fstest.MapFS {
	old := fstest.MapFS{}
	for _, file := range files {
		path, text, _ := strings.Cut(file, "=")
		old[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return old
}
