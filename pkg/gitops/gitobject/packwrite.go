package gitobject

import (
	"bytes"
	"context"
	"crypto/sha1" // what git uses
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/klauspost/compress/zlib"
	"golang.org/x/sync/errgroup"
)

const (
	// packLevel takes no more time for small files than level 1, and 3 % less space. Higher levels save another 1 % for
	// 10 % more time: see BenchmarkPackLevel.
	packLevel = 3
	// packPart is the number of objects that are compressed at a time, and packAhead the number of such parts per core
	// that may wait for being written: together they bound the memory.
	packPart  = 64
	packAhead = 4
)

// WritePack writes a pack of the objects, without deltas and duplicates. Contents are created and compressed on all cores,
// shortly before they are written, so the pack is never in memory. The bytes depend only on the objects and their order.
func WritePack(ctx context.Context, w io.Writer, objects []NewObject) error {
	objects = distinct(objects)
	if len(objects) > math.MaxUint32 {
		return fmt.Errorf("%d objects are too many for a pack", len(objects))
	}
	group, ctx := errgroup.WithContext(ctx)
	lanes := make([]*packLane, runtime.GOMAXPROCS(0))
	for n := range lanes {
		lanes[n] = newPackLane()
		group.Go(func() error { return lanes[n].fill(ctx, objects, n, len(lanes)) })
	}
	group.Go(func() error { return joinLanes(ctx, w, lanes, len(objects)) })
	return group.Wait()
}

// distinct returns the objects without duplicates.
func distinct(objects []NewObject) []NewObject {
	seen := make(map[plumbing.Hash]struct{}, len(objects))
	unique := make([]NewObject, 0, len(objects))
	for _, object := range objects {
		if _, again := seen[object.ID]; !again {
			seen[object.ID] = struct{}{}
			unique = append(unique, object)
		}
	}
	return unique
}

// packLane passes compressed parts from one core to the writer. The writer reads the lanes in turn, so the parts are in
// order.
type packLane struct{ empty, full chan *bytes.Buffer }

func newPackLane() *packLane {
	l := &packLane{make(chan *bytes.Buffer, packAhead), make(chan *bytes.Buffer, packAhead)}
	for range packAhead {
		l.empty <- &bytes.Buffer{}
	}
	return l
}

// fill compresses the parts of lane n.
func (l *packLane) fill(ctx context.Context, objects []NewObject, n, lanes int) error {
	d, err := newDeflater()
	if err != nil {
		return err
	}
	for start := n * packPart; start < len(objects); start += lanes * packPart {
		var part *bytes.Buffer
		select {
		case part = <-l.empty:
		case <-ctx.Done():
			return ctx.Err()
		}
		part.Reset()
		for _, object := range objects[start:min(start+packPart, len(objects))] {
			if err := d.deflate(part, object); err != nil {
				return err
			}
		}
		l.full <- part
	}
	return nil
}

// deflater writes objects in the format of packs.
type deflater struct {
	zlib    *zlib.Writer
	content []byte
}

func newDeflater() (*deflater, error) {
	w, err := zlib.NewWriterLevel(nil, packLevel)
	return &deflater{zlib: w}, err
}

func (d *deflater) deflate(w *bytes.Buffer, object NewObject) error {
	d.content = object.Content.Append(d.content[:0])
	writeObjectHeader(w, object.Kind, len(d.content))
	d.zlib.Reset(w)
	if _, err := d.zlib.Write(d.content); err != nil {
		return err
	}
	return d.zlib.Close()
}

// writeObjectHeader writes the kind and the size of an object: four bits of the size in the first byte,
// seven in each of the next, the lowest first.
func writeObjectHeader(w *bytes.Buffer, kind plumbing.ObjectType, size int) {
	next := byte(kind)<<4 | byte(size&0xf)
	for size >>= 4; size > 0; size >>= 7 {
		w.WriteByte(next | 0x80)
		next = byte(size & 0x7f)
	}
	w.WriteByte(next)
}

func joinLanes(ctx context.Context, w io.Writer, lanes []*packLane, objects int) error {
	sum := sha1.New()
	both := io.MultiWriter(w, sum)
	header := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(objects))
	if _, err := both.Write(header); err != nil {
		return err
	}
	for part := range (objects + packPart - 1) / packPart {
		lane := lanes[part%len(lanes)]
		select {
		case buffer := <-lane.full:
			if _, err := both.Write(buffer.Bytes()); err != nil {
				return err
			}
			lane.empty <- buffer
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

// NewObject is an object of a push.
type NewObject struct {
	Kind    plumbing.ObjectType
	ID      plumbing.Hash
	Content objectContent
}

// objectContent creates the bytes of an object on demand, the same ones every time.
type objectContent interface {
	// Append appends the bytes to b.
	Append(b []byte) []byte
}

// rawContent is content in memory.
type rawContent []byte

// Append implements objectContent.
func (c rawContent) Append(b []byte) []byte { return append(b, c...) }

// NewRawObject returns an object of bytes, which must not change.
func NewRawObject(kind plumbing.ObjectType, data []byte) NewObject {
	return NewObject{Kind: kind, ID: HashOf(kind, data), Content: rawContent(data)}
}

// HashOf returns the id of an object. It does not detect collisions, which only others could cause, so it is twice as fast
// as plumbing.ComputeHash.
func HashOf(kind plumbing.ObjectType, data []byte) (id plumbing.Hash) {
	sum := sha1.New()
	header := append(make([]byte, 0, 32), kind.String()...)
	header = strconv.AppendInt(append(header, ' '), int64(len(data)), 10)
	sum.Write(append(header, 0))
	sum.Write(data)
	sum.Sum(id[:0])
	return id
}

// Candidate is a commit to push, with its new objects.
type Candidate struct {
	ID, Tree plumbing.Hash
	// First is the empty first commit of a new GitOps branch; zero if the branch exists.
	First   plumbing.Hash
	Objects []NewObject
}

// Write writes the pack of the objects.
func (c Candidate) Write(ctx context.Context, w io.Writer) error { return WritePack(ctx, w, c.Objects) }

// Contents is the content of a commit.
type Contents struct {
	Tree plumbing.Hash
	// When is the date of the commit.
	When time.Time
	// Objects are the trees and blobs that are new.
	Objects []NewObject
}
