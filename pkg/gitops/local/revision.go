package local

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// Reference returns the commit of HEAD, of a tag, of a remote-tracking branch such as "origin/main", or of a longer name
// such as "heads/main" or "refs/tags/v1".
func (r *Repository) Reference(name string) (plumbing.Hash, bool) {
	for _, prefix := range []string{"refs/tags/", "refs/remotes/", "refs/", ""} {
		if full := prefix + name; full == "HEAD" || strings.HasPrefix(full, "refs/") {
			if ref, err := storer.ResolveReference(r.storage, plumbing.ReferenceName(full)); err == nil {
				return r.peeled(ref.Hash()), true
			}
		}
	}
	return plumbing.ZeroHash, false
}

// peeled returns the commit of an annotated tag; any other id stays as it is.
func (r *Repository) peeled(id plumbing.Hash) plumbing.Hash {
	data, err := r.object(plumbing.TagObject, id)
	line, _, _ := strings.Cut(string(data), "\n")
	if commit, is := strings.CutPrefix(line, "object "); err == nil && is {
		return plumbing.NewHash(commit)
	}
	return id
}

// Abbreviated returns the commits that begin with some digits, on any branch.
func (r *Repository) Abbreviated(ctx context.Context, digits, _ string) (found []plumbing.Hash, err error) {
	prefix, err := hex.DecodeString(digits[:len(digits)/2*2])
	if err != nil {
		return nil, nil // no id begins like that
	}
	r.mu.Lock()
	found, err = r.objects.HashesWithPrefix(prefix)
	r.mu.Unlock()
	if err != nil {
		return nil, invalid(r.name, err)
	}
	plumbing.HashesSort(found)
	return slices.DeleteFunc(slices.Compact(found), func(id plumbing.Hash) bool {
		_, err := r.CommitAt(ctx, id, "")
		return err != nil || !strings.HasPrefix(id.String(), digits)
	}), nil
}
