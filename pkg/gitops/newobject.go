package gitops

import (
	"context"
	"crypto/sha1" // what git uses
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// newObject is an object that a push brings.
type newObject struct {
	kind    plumbing.ObjectType
	id      plumbing.Hash
	content objectContent
}

// objectContent makes the bytes of an object when they are wanted: the same ones every time.
type objectContent interface {
	// Append appends the bytes to b.
	Append(b []byte) []byte
}

// rawContent is what is in memory already.
type rawContent []byte

// Append implements objectContent.
func (c rawContent) Append(b []byte) []byte { return append(b, c...) }

// newRawObject returns an object of bytes, which must not change.
func newRawObject(kind plumbing.ObjectType, data []byte) newObject {
	return newObject{kind: kind, id: objectID(kind, data), content: rawContent(data)}
}

// objectID is the id of an object. What is our own needs no guard against collisions, which makes this
// twice as fast as plumbing.ComputeHash.
func objectID(kind plumbing.ObjectType, data []byte) (id plumbing.Hash) {
	sum := sha1.New() // what git uses
	header := append(make([]byte, 0, 32), kind.String()...)
	header = strconv.AppendInt(append(header, ' '), int64(len(data)), 10)
	sum.Write(append(header, 0))
	sum.Write(data)
	sum.Sum(id[:0])
	return id
}

// blobs returns the contents that a change brings, and what they and what is removed do to the tree.
// The objects refer to the change, which must not be modified as long as they are used.
func (c *Change) blobs(ctx context.Context) ([]newObject, []treeEdit, error) {
	edits := make([]treeEdit, len(c.Files))
	text := func(i int) render.Text { return c.Files[i].New }
	err := eachText(ctx, len(c.Files), text, func(i int, content []byte) error {
		edits[i].path = c.Files[i].Path
		if c.Files[i].Action != Removed {
			edits[i].blob = objectID(plumbing.BlobObject, content)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	objects := make([]newObject, 0, len(edits))
	for i, edit := range edits {
		if !edit.removes() {
			objects = append(objects, newObject{kind: plumbing.BlobObject, id: edit.blob, content: &c.Files[i].New})
		}
	}
	return objects, edits, nil
}
