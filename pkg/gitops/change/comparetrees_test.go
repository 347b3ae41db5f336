package change

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/quick"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// TestCompareTrees: two outputs differ as the second differs from the first when that is published.
func TestCompareTrees(t *testing.T) {
	t.Parallel()
	property := func(before, after []uint8) bool {
		old, now := treeOf(before), treeOf(after)
		got, err := CompareTrees(t.Context(), old, now, nil)
		require.NoError(t, err)
		published := fstest.MapFS{}
		for _, f := range old.Files {
			published[f.Path] = &fstest.MapFile{Data: f.Content.Bytes(), Mode: 0o644}
		}
		want, err := Compare(t.Context(), published, now)
		require.NoError(t, err)
		return assert.Equal(t, described(want), described(got))
	}
	require.NoError(t, quick.Check(property, nil))
}

// treeOf makes an output of numbers: of each the lowest bits say which target, and the others what is in its files.
func treeOf(numbers []uint8) *render.Tree {
	files := map[string]render.File{}
	for _, n := range numbers {
		clusterType := fmt.Sprintf("type-%d", n&1)
		folder := fmt.Sprintf("%s/target-%d/", clusterType, n>>1&3)
		files[clusterType+"/README.md"] = render.File{Path: clusterType + "/README.md", Content: content.New(render.Readme)}
		for _, name := range []string{render.ReconcilerFile, render.NamespaceFile} {
			text := fmt.Sprintf("kind: %s\nspec: {n: %d}\n", strings.TrimSuffix(name, ".yaml"), n>>3&3)
			files[folder+name] = render.File{Path: folder + name, Content: content.New(text), Assignment: &schedule.Assignment{}}
		}
	}
	tree := &render.Tree{}
	for _, f := range files {
		tree.Files = append(tree.Files, f)
	}
	slices.SortFunc(tree.Files, func(a, b render.File) int { return strings.Compare(a.Path, b.Path) })
	return tree
}

// described is a change as text.
func described(c *Change) []string {
	lines := []string{fmt.Sprint(c.ClusterTypes)}
	for _, f := range c.Files {
		lines = append(lines, fmt.Sprintf("%s %s %q %q", f.Action, f.Path, f.Old, f.New))
	}
	for _, t := range c.Targets {
		lines = append(lines, fmt.Sprint(t))
	}
	return lines
}

func TestCompareTreesStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := CompareTrees(ctx, treeOf([]uint8{1}), treeOf([]uint8{2}), nil)
	require.ErrorIs(t, err, context.Canceled)
}
