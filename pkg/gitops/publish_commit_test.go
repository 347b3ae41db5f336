package gitops

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
)

func TestChangeBlobs(t *testing.T) {
	t.Parallel()
	id := func(text string) plumbing.Hash { return gitobject.HashOf(plumbing.BlobObject, []byte(text)) }
	change := &change.Change{Files: []change.FileChange{
		{Path: "a", Action: change.Added, New: content.New("new a")},
		{Path: "b", Action: change.Changed, Old: []byte("b"), New: content.New("")},
		{Path: "c", Action: change.Removed, Old: []byte("c")},
	}}
	objects, edits, err := blobsOf(t.Context(), change)
	require.NoError(t, err)
	assert.Equal(t, []gitobject.TreeEdit{{Path: "a", Blob: id("new a")}, {Path: "b", Blob: id("")}, {Path: "c"}}, edits)
	require.Len(t, objects, 2)
	assert.Equal(t, "new a", string(objects[0].Content.Append(nil)))
	assert.Equal(t, id("new a"), objects[0].ID)
	assert.Equal(t, id(""), objects[1].ID)
}

// BenchmarkObjectIDs names the files of a first commit.
func BenchmarkObjectIDs(b *testing.B) {
	diff := &change.Change{}
	for i := range 300_000 {
		diff.Files = append(diff.Files, change.FileChange{Path: fmt.Sprintf("%d/x", i), Action: change.Added, New: content.New(strings.Repeat(fmt.Sprintf("kind: Kustomization # %d\n", i), 20))})
	}
	for b.Loop() {
		_, _, err := blobsOf(b.Context(), diff)
		require.NoError(b, err)
	}
}
