package gitobject

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/klauspost/compress/zlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
)

func textObject(text string) NewObject {
	content := content.New(text)
	return NewObject{Kind: plumbing.BlobObject, ID: HashOf(plumbing.BlobObject, []byte(text)), Content: content}
}

// rendered are files of about 590 bytes, like those of a fleet.
func rendered(n int) []NewObject {
	objects := make([]NewObject, n)
	for i := range objects {
		objects[i] = textObject(renderedText(i))
	}
	return objects
}

func renderedText(i int) string {
	return fmt.Sprintf(`apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: app-%[1]d-functional-test
  namespace: kustomize
  labels:
    workload: app-%[1]d
    deploymentTarget: functional-test
spec:
  interval: 10s
  targetNamespace: dev-team-%[2]d-app-%[1]d-functional-test
  sourceRef:
    kind: GitRepository
    name: app-%[1]d-functional-test
  path: "./clusters/%[3]x/functional-test"
  prune: true
  postBuild:
    substituteFrom:
      - kind: ConfigMap
        name: platform-config
      - kind: Secret
        name: tokens-of-team-%[2]d
        optional: true
`, i, i%97, uint32(i)*2654435761)
}

func packed(t testing.TB, objects []NewObject) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WritePack(t.Context(), &b, objects))
	return b.Bytes()
}

// TestWrittenPackIsTakenByGit gives git a commit with all that it needs, and looks at what it makes of it.
func TestWrittenPackIsTakenByGit(t *testing.T) {
	t.Parallel()
	dir, ids := gitopstest.NewBare(t, gitopstest.Commit{Files: gitopstest.Files{"keep/x": "x\n", "keep/y": "y\n", "change/x": "x\n", "go/x": "x\n"}})
	edits := []TreeEdit{written("change/x", "new\n"), removed("go/x"), written("come/empty", ""), written("come/same", "new\n")}
	blobs := []NewObject{textObject("new\n"), textObject(""), textObject(strings.Repeat("0123456789\n", 100_000))}
	edits = append(edits, TreeEdit{Path: "come/large", Blob: blobs[2].ID})
	for i, object := range rendered(500) {
		edits, blobs = append(edits, TreeEdit{Path: fmt.Sprintf("many/%d", i), Blob: object.ID}), append(blobs, object)
	}
	tree := plumbing.NewHash(gitopstest.RunGit(t, dir, "rev-parse", ids[0]+"^{tree}"))
	built, err := BuildTree(treesIn(t, dir), tree, ".", edits)
	require.NoError(t, err)
	who := Identity{"Test", "test@example.com"}
	commit, err := NewCommit{
		Tree: built.ID, Parents: []plumbing.Hash{plumbing.NewHash(ids[0])}, Author: who, Committer: who, When: time.Unix(1_700_000_001, 0), Message: "change",
	}.Object()
	require.NoError(t, err)
	objects := append(append([]NewObject{commit}, built.Objects...), blobs...)

	pack := packed(t, objects)
	assert.EqualValues(t, 1+4+503, binary.BigEndian.Uint32(pack[8:]), "a commit, four trees, and every content once")
	gitIn(t, dir, bytes.NewBuffer(pack), "index-pack", "--strict", "--stdin")
	gitopstest.RunGit(t, dir, "update-ref", "refs/heads/main", commit.ID.String())
	gitopstest.RunGit(t, dir, "fsck", "--strict", "--full", "--no-dangling")
	assert.Equal(t, "change/x come/empty come/large come/same go/x", strings.Join(strings.Fields(
		gitopstest.RunGit(t, dir, "diff", "--name-only", "main~", "main", "--", ".", ":!many")), " "))
	assert.Equal(t, "new", gitopstest.RunGit(t, dir, "show", "main:come/same"))
	assert.Equal(t, strings.TrimSuffix(renderedText(499), "\n"), gitopstest.RunGit(t, dir, "show", "main:many/499"))
}

// TestR18WrittenPackIsTheSame with any number of cores. It sets that number, so it is not parallel.
func TestR18WrittenPackIsTheSame(t *testing.T) {
	objects := append(rendered(5*packPart+1), NewRawObject(plumbing.TreeObject, nil))
	want := packed(t, objects)
	cores := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(cores) })
	for _, n := range []int{1, 2, 3, 8, 64} {
		runtime.GOMAXPROCS(n)
		assert.True(t, bytes.Equal(want, packed(t, objects)), "%d cores", n)
	}
	assert.True(t, bytes.Equal(want, packed(t, append(objects, objects...))), "repeated objects")
}

func TestWrittenPackIsReadAgain(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, packPart, packPart + 1, 1000} {
		objects := rendered(n)
		p, err := ReadPack(bytes.NewReader(packed(t, objects)), smallLimits())
		require.NoError(t, err)
		require.Len(t, p.Objects, n)
		for i, object := range objects {
			require.Equal(t, renderedText(i), string(p.Objects[object.ID].Data))
		}
	}
}

// brokenWriter fails after some bytes.
type brokenWriter struct {
	left int
	err  error
}

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, w.err
	}
	return len(b), nil
}

func TestWritePackStopsWithTheConnection(t *testing.T) {
	t.Parallel()
	objects := rendered(50 * packPart)
	size := len(packed(t, objects))
	reset := errors.New("connection reset")
	for _, left := range []int{0, 11, 12, 5000, size / 2, size - 1} {
		require.ErrorIs(t, WritePack(t.Context(), &brokenWriter{left, reset}, objects), reset, left)
	}
	require.NoError(t, WritePack(t.Context(), &brokenWriter{size, reset}, objects))
}

// cancelling cancels while it is written to.
type cancelling struct{ cancel context.CancelFunc }

func (w cancelling) Write(b []byte) (int, error) {
	w.cancel()
	return len(b), nil
}

func TestWritePackIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, WritePack(ctx, cancelling{cancel}, rendered(50*packPart)), context.Canceled)
}

// counting counts how often contents are made.
type counting struct {
	made  *int
	bytes rawContent
}

func (c counting) Append(b []byte) []byte {
	*c.made++
	return c.bytes.Append(b)
}

// gate lets one write through at a time.
type gate struct{ open chan struct{} }

func (g gate) Write(b []byte) (int, error) {
	<-g.open
	return len(b), nil
}

// TestS8WritePackDoesNotRunAhead of a slow connection. It sets the number of cores, so it is not parallel.
func TestS8WritePackDoesNotRunAhead(t *testing.T) {
	cores := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(cores) })
	made := 0
	objects := rendered(100 * packPart)
	for i := range objects {
		objects[i].Content = counting{&made, objects[i].Content.Append(nil)}
	}
	ctx, cancel := context.WithCancel(t.Context())
	g := gate{make(chan struct{})}
	done := make(chan error)
	go func() { done <- WritePack(ctx, g, objects) }()
	g.open <- struct{}{} // the header
	g.open <- struct{}{} // the first part
	cancel()
	close(g.open)
	require.ErrorIs(t, <-done, context.Canceled)
	assert.LessOrEqual(t, made, (packAhead+2)*packPart)
}

// FuzzWritePack cuts data into objects, and reads them again from the pack.
func FuzzWritePack(f *testing.F) {
	f.Add([]byte("tree and blob"), uint16(3))
	f.Add(bytes.Repeat([]byte("x"), 10_000), uint16(4097))
	f.Add([]byte{}, uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, size uint16) {
		var objects []NewObject
		kinds := []plumbing.ObjectType{plumbing.BlobObject, plumbing.TreeObject, plumbing.CommitObject}
		for len(objects) < 900 {
			n := min(len(data), int(size))
			objects = append(objects, NewRawObject(kinds[len(objects)%len(kinds)], data[:n]))
			if data = data[n:]; n == 0 {
				break
			}
		}
		p, err := ReadPack(bytes.NewReader(packed(t, objects)), smallLimits())
		require.NoError(t, err)
		require.Len(t, p.Objects, len(distinct(objects)))
		for _, object := range objects {
			read := p.Objects[object.ID]
			require.Equal(t, object.Kind, read.Kind)
			require.Equal(t, object.Content.Append([]byte{}), append([]byte{}, read.Data...))
		}
	})
}

// nowhere counts what it is given.
type nowhere struct{ size int64 }

func (w *nowhere) Write(b []byte) (int, error) {
	w.size += int64(len(b))
	return len(b), nil
}

// BenchmarkPack writes the pack of a first commit: 300,000 files.
func BenchmarkPack(b *testing.B) {
	objects := rendered(300_000)
	var size nowhere
	for b.Loop() {
		size = nowhere{}
		require.NoError(b, WritePack(b.Context(), &size, objects))
	}
	b.ReportMetric(float64(size.size)/float64(len(objects)), "B/file")
}

// BenchmarkPackLevel compares levels of compression on one core.
func BenchmarkPackLevel(b *testing.B) {
	const files = 20_000
	objects := rendered(files)
	rand.New(rand.NewPCG(1, 2)).Shuffle(files, func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	for _, level := range []int{zlib.HuffmanOnly, 1, 2, 3, 4, 5, 6, 7, 9} {
		b.Run(fmt.Sprint(level), func(b *testing.B) {
			d := deflater{}
			var err error
			d.zlib, err = zlib.NewWriterLevel(nil, level)
			require.NoError(b, err)
			var part bytes.Buffer
			size := 0
			for b.Loop() {
				size = 0
				for _, object := range objects {
					part.Reset()
					require.NoError(b, d.deflate(&part, object))
					size += part.Len()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/files, "ns/file")
			b.ReportMetric(float64(size)/files, "B/file")
		})
	}
}
