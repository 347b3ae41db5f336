package gitobject

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" // what git uses
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// packWriter writes packs that git would not.
type packWriter struct {
	bytes.Buffer
	count uint32
}

func newPackWriter() *packWriter {
	w := &packWriter{}
	w.WriteString("PACK\x00\x00\x00\x02\x00\x00\x00\x00")
	return w
}

// object appends an object with a header that may lie; extra stands between header and content.
func (w *packWriter) object(kind plumbing.ObjectType, size int64, extra, content []byte) (offset int) {
	offset = w.Len()
	first := byte(kind)<<4 | byte(size&0xf)
	for size >>= 4; size > 0; size >>= 7 {
		w.WriteByte(first | 0x80)
		first = byte(size & 0x7f)
	}
	w.WriteByte(first)
	w.Write(extra)
	z := zlib.NewWriter(w)
	_, _ = z.Write(content)
	_ = z.Close()
	w.count++
	return offset
}

func (w *packWriter) Blob(text string) int {
	return w.object(plumbing.BlobObject, int64(len(text)), nil, []byte(text))
}

// finish sets the number of objects and appends the checksum.
func (w *packWriter) finish() []byte {
	data := w.Bytes()
	binary.BigEndian.PutUint32(data[8:], w.count)
	sum := sha1.Sum(data) // what git uses
	return append(bytes.Clone(data), sum[:]...)
}

func varint(n int64) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// appendDelta is a delta that copies all of a base of at most 64 KiB and appends text.
func appendDelta(base, text string) []byte {
	delta := append(varint(int64(len(base))), varint(int64(len(base)+len(text)))...)
	delta = append(delta, 0xb0, byte(len(base)), byte(len(base)>>8))
	delta = append(delta, byte(len(text)))
	return append(delta, text...)
}

// bombDelta is a small delta that copies its 64 KiB base very often.
func bombDelta(base, copies int) []byte {
	delta := append(varint(int64(base)), varint(int64(base)*int64(copies))...)
	return append(delta, bytes.Repeat([]byte{0x80}, copies)...) // 0x80 copies 64 KiB from the start
}

// backwards encodes the distance of an offset delta.
func backwards(n int) []byte {
	b := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		b = append([]byte{byte(n&0x7f) | 0x80}, b...)
	}
	return b
}

func blobID(text string) plumbing.Hash {
	return plumbing.ComputeHash(plumbing.BlobObject, []byte(text))
}

func smallLimits() PackLimits {
	return PackLimits{Object: 1 << 20, Total: 8 << 20, Objects: 1000}
}

func TestPackDeltas(t *testing.T) {
	t.Parallel()
	w := newPackWriter()
	a := w.Blob("base ")
	ab := w.Len()
	w.object(plumbing.OFSDeltaObject, 9, backwards(ab-a), appendDelta("base ", "one "))
	w2 := newPackWriter()
	// By id, and before the base: a chain in the wrong order.
	last, middle := blobID("base one two"), blobID("base one ")
	base := blobID("base ")
	d1, d2 := appendDelta("base one ", "two"), appendDelta("base ", "one ")
	at := w2.object(plumbing.REFDeltaObject, int64(len(d1)), middle[:], d1)
	d3 := appendDelta("base one two", "!")
	w2.object(plumbing.OFSDeltaObject, int64(len(d3)), backwards(w2.Len()-at), d3)
	w2.object(plumbing.REFDeltaObject, int64(len(d2)), base[:], d2)
	w2.Blob("base ")

	p, err := ReadPack(bytes.NewReader(w2.finish()), smallLimits())
	require.NoError(t, err)
	assert.Equal(t, "base one two", string(p.Objects[last].Data))
	assert.Equal(t, "base one two!", string(p.Objects[blobID("base one two!")].Data))
	assert.Equal(t, "base one ", string(p.Objects[middle].Data))
	assert.Len(t, p.Objects, 4)
	assert.Zero(t, p.Dropped)
}

func TestPackMalformed(t *testing.T) {
	t.Parallel()
	with := func(build func(*packWriter)) []byte {
		w := newPackWriter()
		build(w)
		return w.finish()
	}
	base, other := blobID("base "), blobID("other")
	for name, tc := range map[string]struct {
		data []byte
		want error
	}{
		"truncated":             {with(func(w *packWriter) { w.Blob("hello") })[:20], io.ErrUnexpectedEOF},
		"nothing":               {nil, io.ErrUnexpectedEOF},
		"no pack":               {[]byte("<html>please log in</html> and some more text"), ErrMalformedPack},
		"checksum":              {append(with(func(w *packWriter) { w.Blob("hello") })[:30], make([]byte, 20)...), ErrMalformedPack},
		"longer than announced": {with(func(w *packWriter) { w.object(plumbing.BlobObject, 3, nil, []byte("hello")) }), ErrMalformedPack},
		"less than announced":   {with(func(w *packWriter) { w.object(plumbing.BlobObject, 30, nil, []byte("hello")) }), ErrMalformedPack},
		"unknown type":          {with(func(w *packWriter) { w.object(5, 5, nil, []byte("hello")) }), ErrMalformedPack},
		"no base":               {with(func(w *packWriter) { w.object(plumbing.REFDeltaObject, 9, other[:], appendDelta("base ", "one ")) }), ErrMalformedPack},
		"offset of no object": {with(func(w *packWriter) {
			w.Blob("base ")
			w.object(plumbing.OFSDeltaObject, 9, backwards(3), appendDelta("base ", "one "))
		}), ErrMalformedPack},
		"delta of another base": {with(func(w *packWriter) {
			w.Blob("base ")
			w.object(plumbing.REFDeltaObject, 13, base[:], appendDelta("longer base", "one "))
		}), ErrMalformedPack},
		"delta without sizes": {with(func(w *packWriter) {
			w.Blob("base ")
			w.object(plumbing.REFDeltaObject, 1, base[:], []byte{0x85})
		}), ErrMalformedPack},
	} {
		_, err := ReadPack(bytes.NewReader(tc.data), smallLimits())
		assert.ErrorIs(t, err, tc.want, name)
	}
}

func TestPackBrokenConnection(t *testing.T) {
	t.Parallel()
	w := newPackWriter()
	w.Blob(strings.Repeat("hello", 100))
	broken := errors.New("connection reset")
	data := w.finish()
	_, err := ReadPack(io.MultiReader(bytes.NewReader(data[:len(data)-25]), iotest.ErrReader(broken)), smallLimits())
	require.ErrorIs(t, err, broken)
	assert.NotErrorIs(t, err, ErrMalformedPack)
}

// TestPackBombs reads packs of a few kilobytes that stand for gigabytes. They must be refused for
// little memory, or read without what is too large.
func TestS8PackBombs(t *testing.T) {
	limits := PackLimits{Object: 1 << 20, Total: 8 << 20, Objects: 1000}
	chunk := strings.Repeat("x", 64<<10)
	for name, tc := range map[string]struct {
		build func(*packWriter)
		want  string // empty: the pack is read, without the bomb
	}{
		"delta": {func(w *packWriter) {
			w.Blob(chunk)
			base := blobID(chunk)
			for i := range 20 {
				delta := bombDelta(len(chunk), 14+i%2)
				w.object(plumbing.REFDeltaObject, int64(len(delta)), base[:], delta)
			}
		}, "it has more than 8 MiB"},
		"one delta beyond the limit of an object": {func(w *packWriter) {
			w.Blob(chunk)
			base := blobID(chunk)
			delta := bombDelta(len(chunk), 16000)
			w.object(plumbing.REFDeltaObject, int64(len(delta)), base[:], delta)
		}, ""},
		"chain of deltas": {func(w *packWriter) {
			text := chunk
			w.Blob(text)
			for range 5 {
				base, delta := blobID(text), bombDelta(len(text), 16)
				w.object(plumbing.REFDeltaObject, int64(len(delta)), base[:], delta)
				text = chunk
			}
		}, ""},
		"zlib, honest": {func(w *packWriter) {
			w.object(plumbing.BlobObject, 40<<20, nil, make([]byte, 40<<20))
		}, "its large files have more than 32 MiB"},
		"zlib, lying": {func(w *packWriter) {
			w.object(plumbing.BlobObject, 10, nil, make([]byte, 30<<20))
		}, "malformed pack"},
		"size only": {func(w *packWriter) {
			w.object(plumbing.BlobObject, 1<<50, nil, []byte("x"))
		}, "its large files have more than 32 MiB"},
		"huge delta target": {func(w *packWriter) {
			w.Blob("base ")
			base := blobID("base ")
			delta := append(varint(5), varint(1<<50)...)
			w.object(plumbing.REFDeltaObject, int64(len(delta)), base[:], delta)
		}, ""},
		"count": {func(w *packWriter) { w.count = 1<<31 - 1 }, "2147483648 objects, more than 1000"},
		"one large file": {func(w *packWriter) {
			w.object(plumbing.BlobObject, 30<<20, nil, make([]byte, 30<<20))
		}, ""},
	} {
		w := newPackWriter()
		tc.build(w)
		w.Blob("small")
		data := w.finish()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := ReadPack(bytes.NewReader(data), limits)
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(40<<20), name)
		if tc.want != "" {
			require.ErrorContains(t, err, tc.want, name)
			continue
		}
		if assert.NoError(t, err, name) {
			assert.Equal(t, "small", string(p.Objects[blobID("small")].Data), name)
		}
	}
}

func TestPackRemembersTheSizeOfLargeFiles(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("y", 2<<20)
	w := newPackWriter()
	w.Blob(large)
	p, err := ReadPack(bytes.NewReader(w.finish()), smallLimits())
	require.NoError(t, err)
	object := p.Objects[blobID(large)]
	assert.True(t, object.TooLarge())
	assert.EqualValues(t, 2<<20, object.Size)
	assert.Nil(t, object.Data)
}

func FuzzReadPack(f *testing.F) {
	w := newPackWriter()
	w.Blob("base ")
	base := blobID("base ")
	w.object(plumbing.REFDeltaObject, 9, base[:], appendDelta("base ", "one "))
	f.Add(w.finish())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadPack(bytes.NewReader(data), smallLimits())
		if err != nil {
			return
		}
		for id, object := range p.Objects {
			if !object.TooLarge() {
				require.Equal(t, id, plumbing.ComputeHash(object.Kind, object.Data))
			}
		}
	})
}

// BenchmarkReadPack reads 100,000 files of about 590 bytes.
func BenchmarkReadPack(b *testing.B) {
	data := packed(b, rendered(100_000))
	var kept *Pack
	for b.Loop() {
		p, err := ReadPack(bytes.NewReader(data), PackLimits{Object: 1 << 20, Total: 1 << 30, Objects: 1 << 20})
		if err != nil {
			b.Fatal(err)
		}
		kept = p
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB-heap")
	runtime.KeepAlive(kept)
}
