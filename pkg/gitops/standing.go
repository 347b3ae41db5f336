package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// standing is how a rendered file stands to what is published.
type standing struct {
	// action is Unchanged, Added or Changed.
	action Action
	// old is the published content of a file that changes.
	old []byte
}

// standings compares all files of a tree. Those of a repository are told by their object ids, and only
// the old contents of what changes are read, with one request.
func (p *published) standings(ctx context.Context, tree *render.Tree) ([]standing, error) {
	all := make([]standing, len(tree.Files))
	if p.FS == nil {
		for i := range all {
			all[i].action = Added
		}
		return all, nil
	}
	err := eachFile(ctx, tree, func(i int, content []byte) (err error) {
		all[i], err = p.standing(tree.Files[i].Path, content)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, p.readOld(ctx, tree, all)
}

// standing compares one file. It leaves out the old content if that is not here yet.
func (p *published) standing(name string, content []byte) (standing, error) {
	info, err := fs.Stat(p.FS, name)
	if errors.Is(err, fs.ErrNotExist) {
		return standing{action: Added}, nil
	}
	if err != nil {
		return standing{}, fmt.Errorf("read published %s: %w", name, err)
	}
	if id, known := info.Sys().(ObjectID); known {
		if id == idOfBlob(content) {
			return standing{}, nil
		}
		return standing{action: Changed}, nil
	}
	old, err := p.content(name)
	switch {
	case err != nil:
		return standing{}, fmt.Errorf("read published %s: %w", name, err)
	case bytes.Equal(old, content):
		return standing{}, nil
	default:
		return standing{Changed, old}, nil
	}
}

// readOld reads the old contents of what changes or goes, if they come from a repository.
func (p *published) readOld(ctx context.Context, tree *render.Tree, all []standing) error {
	var changed []int
	var names []string
	for i := range all {
		if all[i].action == Changed && all[i].old == nil {
			changed, names = append(changed, i), append(names, tree.Files[i].Path)
		}
	}
	p.gone, p.stale = p.unwanted(tree)
	if err := Prefetch(ctx, p.FS, slices.Concat(names, p.gone, p.stale)); err != nil {
		return err
	}
	for _, i := range changed {
		old, err := p.content(tree.Files[i].Path)
		if err != nil {
			return fmt.Errorf("read published %s: %w", tree.Files[i].Path, err)
		}
		all[i].old = old
	}
	return nil
}

// BlobIDs returns the ids that git gives to the files of a tree.
func BlobIDs(ctx context.Context, tree *render.Tree) ([]ObjectID, error) {
	ids := make([]ObjectID, len(tree.Files))
	err := eachFile(ctx, tree, func(i int, content []byte) error {
		ids[i] = idOfBlob(content)
		return nil
	})
	return ids, err
}

func idOfBlob(content []byte) ObjectID {
	return ObjectID(objectID(plumbing.BlobObject, content).String())
}

// eachFile calls do for every file with its content, which do must not keep, on all cores.
func eachFile(ctx context.Context, tree *render.Tree, do func(i int, content []byte) error) error {
	text := func(i int) render.Text { return tree.Files[i].Content }
	return eachText(ctx, len(tree.Files), text, do)
}

// eachText calls do for n texts with their contents, which do must not keep, on all cores.
func eachText(ctx context.Context, n int, text func(i int) render.Text, do func(i int, content []byte) error) error {
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
