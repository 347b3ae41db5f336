package render

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTree(t *testing.T) {
	t.Parallel()
	fleet := platform(standardTemplates(), clusterType("edge", ""), clusterType("unused", "skip: this"), target("cart", ""), target("ledger", ""),
		object("SchedulingPolicy", "p", "", "spec: {clusterTypeSelector: {labelSelector: {matchExpressions: [{key: skip, operator: DoesNotExist}]}}}"),
		object("BaseRepo", "main", "", "spec: {repo: https://example.com/cp, branch: main, commit: 0a1b2c3d}"),
	).read(t)
	tree, diags := renderFleet(fleet, Options{})
	require.False(t, diags.HasErrors(), reported(diags))
	var paths []string
	for _, file := range tree.Files {
		paths = append(paths, file.Path)
		isOurs := strings.HasSuffix(file.Path, ReadmeFile) || file.Path == TrackingFile
		assert.Equal(t, isOurs, file.Assignment == nil, file.Path)
		if file.Assignment != nil {
			assert.Equal(t, path.Dir(file.Path), file.Assignment.ClusterType.Name.Value+"/"+file.Assignment.Target.Name.Value)
		}
		content, found := tree.ReadFile(file.Path)
		assert.True(t, found)
		assert.Equal(t, file.Content.Bytes(), content)
	}
	assert.Equal(t, []string{
		".github/tracking/Promoted_Commit_Id",
		"edge/README.md",
		"edge/cart/namespace.yaml", "edge/cart/reconciler.yaml",
		"edge/ledger/namespace.yaml", "edge/ledger/reconciler.yaml",
		"unused/README.md",
	}, paths)
	files := contents(tree)
	assert.Equal(t, "This folder contains deployment targets scheduled on the cluster type", files["unused/README.md"])
	assert.Equal(t, "0a1b2c3d", files[TrackingFile])
	_, found := tree.ReadFile("edge/cart/platform-config.yaml")
	assert.False(t, found)
}

func TestTreeWithoutPromotedCommit(t *testing.T) {
	t.Parallel()
	for _, documents := range [][]string{
		{},
		{object("BaseRepo", "main", "", "spec: {repo: https://example.com/cp, branch: main}")},
		{object("BaseRepo", "global", "", "spec: {repo: https://example.com/cp, branch: main, commit: 0a1b2c3d}")},
	} {
		assert.Empty(t, platform(documents...).files(t))
	}
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	for path, good := range map[string]bool{
		"edge/README.md": true, "edge/cart/reconciler.yaml": true, "edge/cart/namespace.yaml": true,
		"edge/cart/platform-config.yaml": true, "edge/cart/platform-config.sh": true, "0/0/namespace.yaml": true,
		".github/tracking/Promoted_Commit_Id": true,

		"": false, "/": false, "README.md": false, "edge": false, "edge/": false, "edge/cart": false,
		"/edge/README.md": false, "./README.md": false, "../README.md": false, "edge/../README.md": false,
		"edge/../reconciler.yaml": false, ".github/README.md": false, ".git/hooks/reconciler.yaml": false,
		"edge/.cart/reconciler.yaml": false, "edge//reconciler.yaml": false, "edge/cart//reconciler.yaml": false,
		"Edge/README.md": false, "edge/Cart/reconciler.yaml": false, "édge/README.md": false, "e\x00/README.md": false,
		`edge\cart/reconciler.yaml`: false, "edge /README.md": false, "-edge/README.md": false, "edge/cart/other.yaml": false,
		"edge/cart/README.md": false, "edge/reconciler.yaml": false, "edge/cart/x/reconciler.yaml": false, "edge/readme.md": false,
		".github/tracking/Promoted_Commit_Id/x": false, ".github/tracking/promoted_commit_id": false, ".github/tracking/README.md": false,
		strings.Repeat("a", 64) + "/README.md": false, "c:/README.md": false,
	} {
		assert.Equal(t, good, checkPath(path) == nil, "%q", path)
	}
}

// FuzzOutputPath: a path that passes stays in the tree and out of every dot-directory.
func FuzzOutputPath(f *testing.F) {
	for _, seed := range []string{"edge/README.md", "edge/cart/reconciler.yaml", TrackingFile, "../x/README.md", ".git/README.md", "a/..", "a//README.md", "\\/README.md"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if checkPath(p) != nil {
			return
		}
		require.True(t, fs.ValidPath(p))
		require.Equal(t, p, path.Clean(p))
		require.NotContains(t, p, `\`)
		for _, directory := range strings.Split(p, "/") {
			require.True(t, !strings.HasPrefix(directory, ".") || p == TrackingFile)
		}
	})
}

// FuzzTreeOfNames: whatever names get past the model, the tree has good paths, no two of which are
// one on a file system that ignores case.
func FuzzTreeOfNames(f *testing.F) {
	f.Add("edge", "cart", "ledger")
	f.Add("Edge", "cart", "Cart")
	f.Add("..", ".git", "a/b")
	f.Fuzz(func(t *testing.T, clusterTypeName, one, other string) {
		for _, name := range []string{clusterTypeName, one, other} {
			if strings.ContainsAny(name, "\"\\\n\r\x00") || strings.ToValidUTF8(name, "") != name {
				return // it could not be written into YAML as it is here
			}
		}
		texts := platform(standardTemplates(), clusterType(clusterTypeName, ""), clusterType("edge", ""), target(one, ""), target(other, ""), everywhere())
		fleet, diags := texts.tryRead()
		if diags.HasErrors() {
			return
		}
		tree, diags := renderFleet(fleet, Options{})
		if diags.HasErrors() {
			return
		}
		var folded []string
		for _, file := range tree.Files {
			require.NoError(t, checkPath(file.Path))
			folded = append(folded, strings.ToLower(file.Path))
		}
		slices.Sort(folded)
		require.Len(t, slices.Compact(folded), len(tree.Files))
	})
}

func TestTreeRefusesPathsThatDifferByCase(t *testing.T) {
	t.Parallel()
	tree := &Tree{Files: []File{{Path: "edge/cart/namespace.yaml"}, {Path: "edge/cart/reconciler.yaml"}}}
	require.NoError(t, tree.check())
	tree.Files = append(tree.Files, File{Path: "edge/cart/reconciler.yaml"})
	require.EqualError(t, tree.check(), `output path "edge/cart/reconciler.yaml" is duplicated`)
	tree.Files[2].Path = "edge/CART/reconciler.yaml"
	require.EqualError(t, tree.check(), `output path "edge/CART/reconciler.yaml": directory "CART" is not a DNS label`)
}
