package gitops

import (
	"context"
	"crypto/sha1" // what git uses
	"io"
	"strconv"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
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

// candidate is a commit that may be pushed, with all objects that it brings.
type candidate struct {
	id, tree plumbing.Hash
	// first is the empty commit that the GitOps branch begins with; zero if the branch exists.
	first   plumbing.Hash
	objects []newObject
}

// write writes the pack of the objects.
func (c candidate) write(ctx context.Context, w io.Writer) error { return writePack(ctx, w, c.objects) }

// contents are what a commit holds.
type contents struct {
	tree plumbing.Hash
	// when is the date of the commit.
	when time.Time
	// objects are the trees and blobs that are new.
	objects []newObject
}
