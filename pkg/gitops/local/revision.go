package local

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// Reference returns the commit of HEAD, of a tag, of a remote-tracking branch such as "origin/main", or of a longer name
// such as "heads/main" or "refs/tags/v1".
func (r *Repository) Reference(name string) (plumbing.Hash, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, prefix := range []string{"refs/tags/", "refs/remotes/", "refs/", ""} {
		if full := prefix + name; full == "HEAD" || strings.HasPrefix(full, "refs/") {
			if ref, err := storer.ResolveReference(r.storage, plumbing.ReferenceName(full)); err == nil {
				return r.peeled(ref.Hash()), true
			}
		}
	}
	return plumbing.ZeroHash, false
}

// peeled returns the commit of an annotated tag; any other id stays as it is. The caller has locked mu.
func (r *Repository) peeled(id plumbing.Hash) plumbing.Hash {
	tag, err := r.find(plumbing.TagObject, id)
	if err != nil || tag.Type() != plumbing.TagObject {
		return id
	}
	reader, err := tag.Reader()
	if err != nil {
		return id
	}
	defer reader.Close()
	line := make([]byte, len("object ")+2*len(id))
	if _, err := io.ReadFull(reader, line); err != nil || !bytes.HasPrefix(line, []byte("object ")) {
		return id
	}
	return plumbing.NewHash(string(line[len("object "):]))
}

// Abbreviated returns the commits that begin with some digits, on any branch.
func (r *Repository) Abbreviated(ctx context.Context, digits, _ string) (found []plumbing.Hash, err error) {
	prefix, err := hex.DecodeString(digits[:len(digits)/2*2])
	if err != nil {
		return nil, nil // no id begins like that
	}
	r.mu.Lock()
	for _, store := range r.stores {
		ids, err := store.HashesWithPrefix(prefix)
		if err != nil {
			r.mu.Unlock()
			return nil, invalid(r.name, err)
		}
		found = append(found, ids...)
	}
	r.mu.Unlock()
	plumbing.HashesSort(found)
	return slices.DeleteFunc(slices.Compact(found), func(id plumbing.Hash) bool {
		_, err := r.CommitAt(ctx, id, "")
		return err != nil || !strings.HasPrefix(id.String(), digits)
	}), nil
}
