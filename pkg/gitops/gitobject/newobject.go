package gitobject

import (
	"context"
	"crypto/sha1" // what git uses
	"io"
	"strconv"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// NewObject is an object that a push brings.
type NewObject struct {
	Kind    plumbing.ObjectType
	ID      plumbing.Hash
	Content objectContent
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

// NewRawObject returns an object of bytes, which must not change.
func NewRawObject(kind plumbing.ObjectType, data []byte) NewObject {
	return NewObject{Kind: kind, ID: HashOf(kind, data), Content: rawContent(data)}
}

// HashOf is the id of an object. What is our own needs no guard against collisions, which makes this
// twice as fast as plumbing.ComputeHash.
func HashOf(kind plumbing.ObjectType, data []byte) (id plumbing.Hash) {
	sum := sha1.New() // what git uses
	header := append(make([]byte, 0, 32), kind.String()...)
	header = strconv.AppendInt(append(header, ' '), int64(len(data)), 10)
	sum.Write(append(header, 0))
	sum.Write(data)
	sum.Sum(id[:0])
	return id
}

// Candidate is a commit that may be pushed, with all objects that it brings.
type Candidate struct {
	ID, Tree plumbing.Hash
	// First is the empty commit that the GitOps branch begins with; zero if the branch exists.
	First   plumbing.Hash
	Objects []NewObject
}

// Write writes the pack of the objects.
func (c Candidate) Write(ctx context.Context, w io.Writer) error { return WritePack(ctx, w, c.Objects) }

// Contents are what a commit holds.
type Contents struct {
	Tree plumbing.Hash
	// When is the date of the commit.
	When time.Time
	// Objects are the trees and blobs that are new.
	Objects []NewObject
}
