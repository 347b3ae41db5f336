package gitobject

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

func TestMergeTrees(t *testing.T) {
	t.Parallel()
	files := func(names ...string) []string {
		for i := range names {
			names[i] = "100644 " + names[i]
		}
		return names
	}
	// A file holds its own name, so that "b" in the folder "a" is changed by being another mode.
	const changed = "100755 "
	base := files("a/x", "a/y", "b/x", "c")
	for name, tc := range map[string]struct {
		base, ours, theirs []string
		want               []string // nil: not clean
	}{
		"nothing":              {base, base, base, base},
		"ours":                 {base, append(files("n"), base...), base, append(files("n"), base...)},
		"theirs":               {base, base, append(files("a/n"), base...), append(files("a/n"), base...)},
		"the same":             {base, files("n"), files("n"), files("n")},
		"in other directories": {base, append(base, files("a/n")...), append(base, files("b/n")...), append(base, files("a/n", "b/n")...)},
		"in one directory":     {base, append(base, files("a/n")...), append(base, files("a/m")...), append(base, files("a/n", "a/m")...)},
		"in a new directory":   {base, append(base, files("n/x")...), append(base, files("n/y")...), append(base, files("n/x", "n/y")...)},
		"no base":              {nil, files("x"), files("y"), files("x", "y")},
		"removed and more":     {base, files("a/x", "b/x", "c"), append(base, files("a/n")...), files("a/n", "a/x", "b/x", "c")},
		"directory removed":    {base, files("b/x", "c"), append(base, files("n")...), files("b/x", "c", "n")},
		"both changed":         {files("x"), []string{changed + "x"}, []string{"120000 x"}, nil},
		"changed, removed":     {files("x", "y"), []string{changed + "x", "100644 y"}, files("y"), nil},
		"directory in the way": {files("x"), files("x", "n"), files("x", "n/y"), nil},
		"file to directory":    {files("x", "y"), files("x/z", "y"), files("x", "y"), files("x/z", "y")},
		"directory may be new": {base, files("b/x", "c"), append(base, files("a/n")...), nil}, // a renamed folder takes along what is new in it
		"both removed":         {base, files("a/x", "b/x", "c"), files("a/x", "b/x", "c"), files("a/x", "b/x", "c")},
		"may be renamed":       {base, files("a/y", "b/x", "c"), files("a/y", "b/x", "c", "n"), nil},
		"may be renamed too":   {base, files("a/y", "b/x", "c", "m"), files("a/y", "b/x", "c", "n"), nil},
		"removed in both":      {base, files("a/y", "a/m", "b/x", "c"), files("a/y", "b/x", "c"), nil},
		"changed the same":     {base, []string{changed + "c", "100644 a/x"}, []string{changed + "c", "100644 a/x"}, []string{changed + "c", "100644 a/x"}},
	} {
		trees := memoryTrees{}
		root := func(list []string) plumbing.Hash {
			if list == nil {
				return plumbing.ZeroHash
			}
			return trees.make(t, slices.Clone(list)...)
		}
		ours, theirs := root(tc.ours), root(tc.theirs)
		for _, sides := range [][2]plumbing.Hash{{ours, theirs}, {theirs, ours}} {
			got, clean, err := MergeTrees(trees, root(tc.base), sides[0], sides[1])
			require.NoError(t, err, name)
			require.Equal(t, tc.want != nil, clean, name)
			assert.Equal(t, root(tc.want), got, name)
		}
	}
}

func TestMergeTreesToNothing(t *testing.T) {
	t.Parallel()
	trees := memoryTrees{}
	base := trees.make(t, "100644 x", "100644 y")
	got, clean, err := MergeTrees(trees, base, trees.make(t, "100644 x"), trees.make(t, "100644 y"))
	require.NoError(t, err)
	assert.True(t, clean)
	assert.Equal(t, emptyTree, got)
	for _, empty := range []plumbing.Hash{plumbing.ZeroHash, emptyTree} {
		got, clean, err = MergeTrees(trees, base, empty, base)
		require.NoError(t, err)
		assert.True(t, clean)
		assert.Equal(t, emptyTree, got)
	}
}

func TestMergeTreesErrors(t *testing.T) {
	t.Parallel()
	trees := memoryTrees{}
	base := trees.make(t, "100644 x")
	_, _, err := MergeTrees(trees, base, blobID("1"), blobID("2"))
	require.ErrorContains(t, err, "no tree")
}

// A few trees that hold each other stand for any number of folders.
func TestS8MergeTreesBombs(t *testing.T) {
	t.Parallel()
	if gitopstest.Race {
		t.Skip("nothing here is done at once")
	}
	trees := memoryTrees{}
	bomb := func(file string) plumbing.Hash {
		id := trees.make(t, "100644 "+file)
		for range 30 {
			w := newTreeWriter(trees)
			var entries []TreeEntry
			for i := range 10 {
				entries = append(entries, TreeEntry{treeMode, fmt.Sprint(i), id})
			}
			id, _ = w.write(entries)
			trees.add(w.objects)
		}
		return id
	}
	_, _, err := MergeTrees(trees, plumbing.ZeroHash, bomb("x"), bomb("y"))
	require.ErrorContains(t, err, "more than 1000000 files and directories")

	deep := func(file string) plumbing.Hash {
		return trees.make(t, "100644 "+strings.Repeat("d/", MaxDepth+2)+file)
	}
	_, _, err = MergeTrees(trees, plumbing.ZeroHash, deep("x"), deep("y"))
	require.ErrorContains(t, err, "nested more than 64 deep")
}

// mutate changes a random part of a state. What is written is much like what is there, so that git
// finds renames and merges contents.
func (s treeState) mutate(r *rand.Rand) treeState {
	s = maps.Clone(s)
	for _, name := range slices.Sorted(maps.Keys(s)) {
		switch r.IntN(8) {
		case 0:
			delete(s, name)
		case 1:
			s[name] = similar(r)
		case 2:
			content := s[name]
			delete(s, name)
			if to := randomPath(r); s.fits(to) {
				s[to] = content
			}
		}
	}
	for range r.IntN(3) {
		if name := randomPath(r); s.fits(name) {
			s[name] = similar(r)
		}
	}
	return s
}

func similar(r *rand.Rand) string {
	lines := strings.Repeat("a line that is the same\n", 8)
	return fmt.Sprintf("100644 %d\n%s%d", r.IntN(20), lines, r.IntN(20))
}

// TestMergeTreesIsGits has git merge random trees. It may merge what we do not; but what we call clean
// must be clean for it, and the same.
func TestMergeTreesIsGits(t *testing.T) {
	t.Parallel()
	if gitopstest.Race {
		t.Skip("nothing here is done at once")
	}
	r := rand.New(rand.NewPCG(3, 4))
	cases := 40
	if os.Getenv("KALYPSO_WHOLE_MATRIX") != "" {
		cases = 120
	}
	var stream bytes.Buffer
	for i := range cases {
		base := treeState{}
		for range r.IntN(12) {
			if name := randomPath(r); base.fits(name) {
				base[name] = similar(r)
			}
		}
		base.commit(&stream, fmt.Sprintf("%d/base", i), "")
		for _, side := range []string{"ours", "theirs"} {
			base.mutate(r).commit(&stream, fmt.Sprintf("%d/%s", i, side), fmt.Sprintf("%d/base", i))
		}
	}
	dir, source, trees := importTrees(t, &stream)
	clean, gitClean := 0, 0
	for i := range cases {
		base, ours, theirs := fmt.Sprintf("%d/base", i), fmt.Sprintf("%d/ours", i), fmt.Sprintf("%d/theirs", i)
		got, isClean, err := MergeTrees(source, trees[base], trees[ours], trees[theirs])
		require.NoError(t, err)
		out, failed := gitopstest.Git(dir, "merge-tree", "--write-tree", "--no-messages", ours, theirs)
		if failed == nil {
			gitClean++
		}
		if isClean {
			clean++
			require.NoError(t, failed, "%d: %s", i, out)
			require.Equal(t, strings.TrimSpace(out), got.String(), i)
		}
	}
	t.Logf("%d of %d are clean, %d for git", clean, cases, gitClean)
	assert.Greater(t, clean, cases/10)
}
