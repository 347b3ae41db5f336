package gitobject

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// PackLimits are the limits of the inflated content of a pack.
type PackLimits struct {
	// Object is the maximum size of one object in bytes, Tree that of the list of one directory. Only the size of larger
	// objects is kept.
	Object, Tree int64
	// Total is the maximum size of all inflated data, including deltas and their results, and of objectCost.
	Total int64
	// Spent counts the bytes of all packs against Total; nil if each pack has its own total.
	Spent *PackTotals
	// Objects is the maximum number of objects.
	Objects int
	// Only is the kind of objects that are kept; plumbing.InvalidObject for all.
	Only plumbing.ObjectType
}

// PackTotals counts the inflated bytes of packs: of objects that are kept, and of those that are skipped.
type PackTotals struct{ Kept, skipped atomic.Int64 }

// largest returns the maximum size of an object of a kind that is kept. The kind of a delta's result is not known yet,
// so a delta gets the larger limit.
func (l PackLimits) largest(kind plumbing.ObjectType) int64 {
	if kind == plumbing.TreeObject || kind.IsDelta() {
		return max(l.Tree, l.Object)
	}
	return l.Object
}

func (l PackLimits) unwanted(kind plumbing.ObjectType) bool {
	return l.Only != plumbing.InvalidObject && kind != l.Only && !kind.IsDelta()
}

// PackObject is one object of a pack.
type PackObject struct {
	Kind plumbing.ObjectType
	// Data is nil if the object is larger than the limit.
	Data []byte
	Size int64
}

// TooLarge reports whether the object is known only by its size.
func (o PackObject) TooLarge() bool { return int64(len(o.Data)) != o.Size }

// Pack is the content of a pack.
type Pack struct {
	Objects map[plumbing.Hash]PackObject
	// Dropped is the number of objects with an unknown id: deltas that are too large, or whose base is.
	Dropped int
}

// PackLimitError is the error of a pack or other response that exceeds a limit.
type PackLimitError struct {
	What string
	// Settable is true if the limit is PackLimits.Total, which --tenant-limit sets.
	Settable bool
}

func (e PackLimitError) Error() string { return e.What }

const (
	// skipFactor times PackLimits.Total is the maximum size of all objects that are inflated but not kept.
	skipFactor = 4
	// objectCost is the approximate memory of an object besides its content, in bytes.
	objectCost = 200
)

// ErrMalformedPack is a pack that git would not have written.
var ErrMalformedPack = errors.New("malformed pack")

// ReadPack reads a pack in one pass. It checks each size before it allocates or inflates. The error is a PackLimitError,
// ErrMalformedPack, or that of the stream.
func ReadPack(r io.Reader, limits PackLimits) (*Pack, error) {
	if limits.Spent == nil {
		limits.Spent = &PackTotals{}
	}
	source := &packSource{r: r}
	p := packReader{
		scanner: packfile.NewScanner(source),
		limits:  limits,
		pack:    &Pack{},
		waiting: map[deltaBase][]pendingDelta{},
	}
	err := p.read()
	if err == nil {
		return p.pack, nil
	}
	limits.Spent.Kept.Add(-p.kept) // the pack is discarded
	var tooMuch PackLimitError
	switch {
	case source.err != nil:
		return nil, source.err
	case errors.As(err, &tooMuch):
		return nil, err
	case source.ended:
		return nil, io.ErrUnexpectedEOF
	default:
		return nil, fmt.Errorf("%w: %w", ErrMalformedPack, err)
	}
}

// packSource records the error of the stream, so that a broken connection is not mistaken for a malformed pack.
type packSource struct {
	r     io.Reader
	err   error
	ended bool
}

func (s *packSource) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		s.ended = true
	default:
		s.err = err
	}
	return n, err
}

// packReader is the state of reading a pack.
type packReader struct {
	scanner *packfile.Scanner
	limits  PackLimits
	pack    *Pack
	// kept is the number of bytes that the pack has added to limits.Spent.
	kept int64

	// bases are the objects whose deltas are not applied yet, waiting the deltas by their bases.
	bases   []packEntry
	waiting map[deltaBase][]pendingDelta
}

// packEntry is an object of the pack, with its offset and id.
type packEntry struct {
	offset int64
	id     plumbing.Hash
}

// deltaBase is the base of a delta: an id, or else the offset of an object.
type deltaBase struct {
	id     plumbing.Hash
	offset int64
}

// pendingDelta is a delta that waits for its base, with its offset.
type pendingDelta struct {
	offset int64
	delta  []byte
}

// maxPreallocated is the maximum number of objects for which memory is allocated in advance: sufficient for most packs,
// and not too much for a pack with a false number.
const maxPreallocated = 1 << 17

func (p *packReader) read() error {
	_, count, err := p.scanner.Header()
	if err != nil {
		return err
	}
	if int64(count) > int64(p.limits.Objects) {
		return PackLimitError{What: fmt.Sprintf("it has %d objects, more than %d", count, p.limits.Objects)}
	}
	if err := p.charge(int64(count) * objectCost); err != nil {
		return err
	}
	capacity := min(int(count), maxPreallocated)
	p.bases, p.pack.Objects = make([]packEntry, 0, capacity), make(map[plumbing.Hash]PackObject, capacity)
	for range count {
		if err := p.next(); err != nil {
			return err
		}
	}
	if err := p.resolve(); err != nil {
		return err
	}
	waiting := 0
	for _, deltas := range p.waiting {
		waiting += len(deltas)
	}
	if waiting > 0 && p.pack.Dropped == 0 {
		return fmt.Errorf("%d deltas without a base", waiting)
	}
	p.pack.Dropped += waiting
	_, err = p.scanner.Checksum()
	return err
}

func (p *packReader) next() error {
	header, err := p.scanner.NextObjectHeader()
	if err != nil {
		return err
	}
	if err := p.announce(header); err != nil {
		return err
	}
	switch header.Type {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
		return p.whole(header)
	case plumbing.OFSDeltaObject, plumbing.REFDeltaObject:
		return p.delta(header)
	default:
		return fmt.Errorf("unknown object type %d", header.Type)
	}
}

// announce checks the size of an object before it is inflated. Objects that are not kept take time but no memory, so they
// have a separate budget: one huge file must not prevent reading the others.
func (p *packReader) announce(header *packfile.ObjectHeader) error {
	size := header.Length
	if size <= p.limits.largest(header.Type) && !p.limits.unwanted(header.Type) {
		return p.charge(size)
	}
	most := skipFactor * p.limits.Total
	if size < 0 || size > most || p.limits.Spent.skipped.Add(size) > most {
		return PackLimitError{fmt.Sprintf("its large files have more than %s", ByteSize(most)), true}
	}
	return nil
}

func (p *packReader) charge(size int64) error {
	if size < 0 || size > p.limits.Total {
		return PackLimitError{fmt.Sprintf("it has more than %s", ByteSize(p.limits.Total)), true}
	}
	p.kept += size
	if p.limits.Spent.Kept.Add(size) > p.limits.Total {
		return PackLimitError{fmt.Sprintf("it has more than %s", ByteSize(p.limits.Total)), true}
	}
	return nil
}

// whole reads an object that is not a delta. An object beyond the limit is only hashed.
func (p *packReader) whole(header *packfile.ObjectHeader) error {
	if p.limits.unwanted(header.Type) {
		p.pack.Dropped++
		return p.inflate(io.Discard, header.Length)
	}
	object := PackObject{Kind: header.Type, Size: header.Length}
	if header.Length > p.limits.largest(header.Type) {
		hasher := plumbing.NewHasher(header.Type, header.Length)
		if err := p.inflate(hasher, header.Length); err != nil {
			return err
		}
		p.define(header.Offset, hasher.Sum(), object)
		return nil
	}
	var err error
	if object.Data, err = p.inflated(header.Length); err != nil {
		return err
	}
	p.define(header.Offset, plumbing.ComputeHash(object.Kind, object.Data), object)
	return nil
}

func (p *packReader) define(offset int64, id plumbing.Hash, object PackObject) {
	p.bases = append(p.bases, packEntry{offset, id})
	p.pack.Objects[id] = object
}

// delta reads a delta and keeps it, because its base may come later.
func (p *packReader) delta(header *packfile.ObjectHeader) error {
	if header.Length > p.limits.largest(header.Type) {
		p.pack.Dropped++
		return p.inflate(io.Discard, header.Length)
	}
	delta, err := p.inflated(header.Length)
	base := deltaBase{header.Reference, header.OffsetReference}
	p.waiting[base] = append(p.waiting[base], pendingDelta{header.Offset, delta})
	return err
}

// patch applies a delta. ok is false if the base or the result is not kept.
func (p *packReader) patch(base PackObject, delta []byte) (object PackObject, ok bool, err error) {
	from, to, err := deltaSizes(delta)
	if err != nil || base.TooLarge() || to > p.limits.largest(base.Kind) {
		return PackObject{}, false, err
	}
	if from != base.Size {
		return PackObject{}, false, errors.New("a delta that does not fit its base")
	}
	if err := p.charge(to); err != nil {
		return PackObject{}, false, err
	}
	data, err := packfile.PatchDelta(base.Data, delta)
	return PackObject{Kind: base.Kind, Data: data, Size: to}, err == nil, err
}

// resolve applies the deltas to the objects, and then those that wait for their results. It is a loop, not a recursion,
// because a chain of deltas may be as long as the pack.
func (p *packReader) resolve() error {
	for len(p.bases) > 0 && len(p.waiting) > 0 {
		base := p.bases[len(p.bases)-1]
		p.bases = p.bases[:len(p.bases)-1]
		for _, key := range []deltaBase{{id: base.id}, {offset: base.offset}} {
			deltas := p.waiting[key]
			delete(p.waiting, key)
			for _, d := range deltas {
				made, ok, err := p.patch(p.pack.Objects[base.id], d.delta)
				if err != nil {
					return err
				}
				if !ok {
					p.pack.Dropped++
					continue
				}
				p.define(d.offset, plumbing.ComputeHash(made.Kind, made.Data), made)
			}
		}
	}
	return nil
}

func (p *packReader) inflated(size int64) ([]byte, error) {
	content := bytes.NewBuffer(make([]byte, 0, size)) // the scanner writes at most size bytes
	err := p.inflate(content, size)
	return content.Bytes(), err
}

func (p *packReader) inflate(w io.Writer, size int64) error {
	n, _, err := p.scanner.NextObject(w)
	if err == nil && n != size {
		err = errors.New("an object shorter than its size")
	}
	return err
}

func deltaSizes(delta []byte) (from, to int64, err error) {
	base, n := binary.Uvarint(delta)
	result, m := binary.Uvarint(delta[max(n, 0):])
	if n <= 0 || m <= 0 || base > math.MaxInt64 || result > math.MaxInt64 {
		return 0, 0, errors.New("a delta without its sizes")
	}
	return int64(base), int64(result), nil
}

// ByteSize formats a limit with a unit.
func ByteSize(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return strconv.FormatInt(n>>30, 10) + " GiB"
	case n >= 1<<20 && n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + " MiB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + " KiB"
	default:
		return strconv.FormatInt(n, 10) + " bytes"
	}
}
