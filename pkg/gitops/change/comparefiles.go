package change

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
)

// compareFiles returns the files of a tree that differ from the published ones. Files of a repository are compared by
// object id, without reading their old contents.
func (p *Layout) compareFiles(ctx context.Context, tree *render.Tree) ([]FileChange, error) {
	if p.FS == nil { // the contents may be staged already
		added := make([]FileChange, len(tree.Files))
		for i, f := range tree.Files {
			added[i] = FileChange{Path: f.Path, Action: Added, New: f.Content}
		}
		return added, ctx.Err()
	}
	return compareEach(ctx, tree, func(name string, content []byte) (Action, []byte, error) {
		action, old, err := p.compareFile(name, content)
		if err != nil {
			return 0, nil, fmt.Errorf("read published %s: %w", name, err)
		}
		return action, old, nil
	})
}

// compareFile compares one file. It does not return the old content if that is not fetched yet.
func (p *Layout) compareFile(name string, content []byte) (Action, []byte, error) {
	info, err := fs.Stat(p.FS, name)
	if errors.Is(err, fs.ErrNotExist) {
		return Added, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	if id, known := info.Sys().(gitobject.ObjectID); known {
		if id == gitobject.ObjectID(gitobject.HashOf(plumbing.BlobObject, content).String()) {
			return Unchanged, nil, nil
		}
		return Changed, nil, nil
	}
	old, err := p.content(name)
	if err != nil || bytes.Equal(old, content) {
		return Unchanged, nil, err
	}
	return Changed, old, nil
}

// readOld reads the old contents of changed and removed files, with one request if they are in a repository.
func (p *Layout) readOld(ctx context.Context, files []FileChange) error {
	var names []string
	for _, f := range files {
		if f.Action != Added && f.Old == nil {
			names = append(names, f.Path)
		}
	}
	if err := gitobject.Prefetch(ctx, p.FS, names); err != nil {
		return err
	}
	for i, f := range files {
		if f.Action == Added || f.Old != nil {
			continue
		}
		old, err := p.content(f.Path)
		if err != nil {
			return fmt.Errorf("read published %s: %w", f.Path, err)
		}
		files[i].Old = old
	}
	return nil
}

// compareEach compares all files of a tree with the previous ones, and returns those that are added or changed.
// compare must not keep the content.
func compareEach(ctx context.Context, tree *render.Tree, compare func(name string, content []byte) (Action, []byte, error)) ([]FileChange, error) {
	found := make([]*FileChange, len(tree.Files))
	err := EachFile(ctx, tree, func(i int, content []byte) error {
		f := tree.Files[i]
		action, old, err := compare(f.Path, content)
		if action != Unchanged {
			found[i] = &FileChange{f.Path, action, old, f.Content}
		}
		return err
	})
	var changed []FileChange
	for _, f := range found {
		if f != nil {
			changed = append(changed, *f)
		}
	}
	return changed, err
}

// EachFile calls do for every file with its content, which do must not keep, on all cores.
func EachFile(ctx context.Context, tree *render.Tree, do func(i int, content []byte) error) error {
	text := func(i int) content.Text { return tree.Files[i].Content }
	return EachText(ctx, len(tree.Files), text, do)
}

// EachText calls do for n texts with their contents, which do must not keep, on all cores.
func EachText(ctx context.Context, n int, text func(i int) content.Text, do func(i int, content []byte) error) error {
	const batch = 512
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for start := 0; start < n; start += batch {
		work.Go(func() error {
			var content []byte
			for i := start; i < min(start+batch, n); i++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				content = text(i).Append(content[:0])
				if err := do(i, content); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return work.Wait()
}

// NormalizeNames returns the content of a file with the names of another environment, so that different names alone are no
// difference. nil changes no names.
type NormalizeNames func(path string, content []byte) []byte

// CompareTrees returns the change from one output to another, without the tracking file, which no cluster applies. It
// reads no files; the error is that of ctx.
func CompareTrees(ctx context.Context, before, after *render.Tree, normalize NormalizeNames) (*Change, error) {
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
		if bytes.Equal(was, content) || normalize != nil && bytes.Equal(normalize(name, was), content) {
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
