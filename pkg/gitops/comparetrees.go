package gitops

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
	pairs := slices.DeleteFunc(pairFiles(before, after), func(p filePair) bool { return p.path == render.TrackingFile })
	differs := make([]bool, len(pairs))
	text := func(i int) render.Text { return pairs[i].now }
	err := eachText(ctx, len(pairs), text, func(i int, now []byte) error {
		p := pairs[i]
		if differs[i] = p.old == nil || !p.stays; !differs[i] {
			old := p.old.Bytes()
			differs[i] = !bytes.Equal(old, now) && (alike == nil || !bytes.Equal(alike(p.path, old), now))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	change := &Change{}
	for i, p := range pairs {
		if differs[i] {
			change.Files = append(change.Files, p.change())
		}
	}
	targets := &published{targets: map[string]bool{}}
	for _, f := range before.Files {
		if f.Assignment != nil {
			targets.targets[path.Dir(f.Path)] = true
		}
	}
	change.addTargets(targets, after)
	return change, nil
}

// filePair is a file of two outputs.
type filePair struct {
	path string
	// old is nil if the file is not in the first.
	old *render.Text
	now render.Text
	// stays says that it is in the second.
	stays bool
}

// pairFiles puts together what has the same path, in order of path.
func pairFiles(before, after *render.Tree) []filePair {
	pairs := make([]filePair, 0, max(len(before.Files), len(after.Files)))
	old, now := before.Files, after.Files
	for len(old) > 0 || len(now) > 0 {
		order := cmp.Compare(len(now), 0) - cmp.Compare(len(old), 0) // what ran out comes last
		if len(old) > 0 && len(now) > 0 {
			order = cmp.Compare(old[0].Path, now[0].Path)
		}
		var p filePair
		if order <= 0 {
			p.path, p.old, old = old[0].Path, &old[0].Content, old[1:]
		}
		if order >= 0 {
			p.path, p.now, p.stays, now = now[0].Path, now[0].Content, true, now[1:]
		}
		pairs = append(pairs, p)
	}
	return slices.Clip(pairs)
}

func (p filePair) change() FileChange {
	switch {
	case p.old == nil:
		return FileChange{p.path, Added, nil, p.now}
	case !p.stays:
		return FileChange{p.path, Removed, p.old.Bytes(), render.Text{}}
	default:
		return FileChange{p.path, Changed, p.old.Bytes(), p.now}
	}
}
