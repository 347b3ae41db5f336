package change

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// Alike returns the content of a file with the names that it would have in another environment: what then is the same is
// no difference. nil changes no names.
type Alike func(path string, content []byte) []byte

// CompareTrees finds what must change for one output to become another, but for the tracking file: which commit is promoted
// is no part of what runs. It reads nothing; the error is that of ctx.
func CompareTrees(ctx context.Context, before, after *render.Tree, alike Alike) (*Change, error) {
	old := make(map[string]*render.File, len(before.Files))
	targets := map[string]bool{}
	for i := range before.Files {
		f := &before.Files[i]
		old[f.Path] = f
		if f.Assignment != nil {
			targets[path.Dir(f.Path)] = true
		}
	}
	files, err := compareEach(ctx, after, func(name string, content []byte) (Action, []byte, error) {
		f := old[name]
		if f == nil {
			return Added, nil, nil
		}
		was := f.Content.Bytes()
		if bytes.Equal(was, content) || alike != nil && bytes.Equal(alike(name, was), content) {
			return Unchanged, nil, nil
		}
		return Changed, was, nil
	})
	if err != nil {
		return nil, err
	}
	wanted := WantedFiles{after}
	for _, f := range before.Files {
		if !wanted.File(f.Path) {
			files = append(files, FileChange{Path: f.Path, Action: Removed, Old: f.Content.Bytes()})
		}
	}
	change := &Change{Files: slices.DeleteFunc(files, func(f FileChange) bool { return f.Path == render.TrackingFile })}
	slices.SortFunc(change.Files, func(a, b FileChange) int { return cmp.Compare(a.Path, b.Path) })
	change.addTargets(targets, after)
	return change, nil
}
