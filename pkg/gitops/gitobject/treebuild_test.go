package gitobject

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// memoryTrees are trees by id.
type memoryTrees map[plumbing.Hash][]byte

func (m memoryTrees) Tree(id plumbing.Hash) ([]byte, error) {
	data, ok := m[id]
	if !ok {
		return nil, fmt.Errorf("no tree %s", id)
	}
	return data, nil
}

// add adds what was built.
func (m memoryTrees) add(objects []NewObject) {
	for _, object := range objects {
		m[object.ID] = object.Content.Append(nil)
	}
}

// make adds the tree of "mode path" lines, whose files hold their own path, and returns its id.
func (m memoryTrees) make(t *testing.T, lines ...string) plumbing.Hash {
	t.Helper()
	below := map[string][]string{}
	var entries []TreeEntry
	for _, line := range lines {
		mode, name, _ := strings.Cut(line, " ")
		if dir, rest, nested := strings.Cut(name, "/"); nested {
			below[dir] = append(below[dir], mode+" "+rest)
			continue
		}
		entries = append(entries, TreeEntry{mode, name, blobID(name)})
	}
	for dir, lines := range below {
		entries = append(entries, TreeEntry{treeMode, dir, m.make(t, lines...)})
	}
	w := newTreeWriter(m)
	id, err := w.write(entries)
	require.NoError(t, err)
	m.add(w.objects)
	return id
}

// list lists the files of a tree as make takes them, with their ids.
func (m memoryTrees) list(t *testing.T, id plumbing.Hash, dir string) map[string]plumbing.Hash {
	t.Helper()
	files := map[string]plumbing.Hash{}
	entries, err := entriesOf(m, id)
	require.NoError(t, err)
	for _, e := range entries {
		if e.isTree() {
			maps.Copy(files, m.list(t, e.ID, path.Join(dir, e.Name)))
		} else {
			files[e.Mode+" "+path.Join(dir, e.Name)] = e.ID
		}
	}
	return files
}

func written(path, content string) TreeEdit { return TreeEdit{Path: path, Blob: blobID(content)} }

func removed(path string) TreeEdit { return TreeEdit{Path: path} }

func TestBuildTreeKeepsTheRest(t *testing.T) {
	t.Parallel()
	trees := memoryTrees{}
	root := trees.make(t, "100755 run", "100664 old", "120000 link", "160000 sub", "100644 \xff\xfe",
		"100644 a/x", "100755 a/run", "100644 a.b/x", "100644 b/c/x", "100644 b/d")
	before := trees.list(t, root, "")
	untouched := before["100644 b/d"]

	built, err := BuildTree(trees, root, ".", []TreeEdit{written("a/x", "new"), written("a/run", "new"), removed("b/c/x"), written("z/y/x", "new")})
	require.NoError(t, err)
	trees.add(built.Objects)
	assert.Len(t, built.Objects, 5, "root, a, b, z, z/y")

	want := maps.Clone(before)
	delete(want, "100755 a/run")
	delete(want, "100644 b/c/x")
	for _, name := range []string{"a/x", "a/run", "z/y/x"} {
		want["100644 "+name] = blobID("new")
	}
	assert.Equal(t, want, trees.list(t, built.ID, ""))
	assert.Equal(t, untouched, want["100644 b/d"])
}

func TestBuildTreeOfNothingNew(t *testing.T) {
	t.Parallel()
	trees := memoryTrees{}
	root := trees.make(t, "100644 a/x", "100644 y")
	for _, edits := range [][]TreeEdit{nil, {written("a/x", "x")}} {
		built, err := BuildTree(trees, root, ".", edits)
		require.NoError(t, err)
		assert.Equal(t, BuiltTree{ID: root}, built)
	}
	for _, none := range []plumbing.Hash{plumbing.ZeroHash, emptyTree} {
		built, err := BuildTree(trees, none, "not/there", nil)
		require.NoError(t, err)
		assert.Equal(t, emptyTree, built.ID)
	}
}

func TestBuildTreeEmptied(t *testing.T) {
	t.Parallel()
	trees := memoryTrees{}
	root := trees.make(t, "100644 a/b/c/x")
	built, err := BuildTree(trees, root, "a/b", []TreeEdit{removed("c/x")})
	require.NoError(t, err)
	assert.Equal(t, "4b825dc642cb6eb9a060e54bf8d69288fbee4904", built.ID.String())
	require.Len(t, built.Objects, 1)
	assert.Empty(t, built.Objects[0].Content.Append(nil))
}

func TestBuildTreeRefuses(t *testing.T) {
	t.Parallel()
	trees := memoryTrees{}
	root := trees.make(t, "100644 file", "120000 link", "160000 sub", "100644 folder/x")
	for name, tc := range map[string]struct {
		folder string
		edit   TreeEdit
		want   string
	}{
		"file for a directory":      {".", written("file/x", ""), "file conflicts with file/x: it is a file, not a directory"},
		"link for a directory":      {".", written("link/x", ""), "link conflicts with link/x: it is a symbolic link, not a directory"},
		"submodule for a directory": {"sub/a", written("x", ""), "sub conflicts with sub/a/x: it is a submodule, not a directory"},
		"removed below a file":      {".", removed("file/x"), "file conflicts with file/x: it is a file, not a directory"},
		"directory for a file":      {".", written("folder", ""), "folder cannot be written: it is a directory"},
		"link for a file":           {".", written("link", ""), "link cannot be written: it is a symbolic link"},
		"submodule for a file":      {".", written("sub", ""), "sub cannot be written: it is a submodule"},
		"nothing to remove":         {".", removed("none"), "none cannot be removed: it is not there"},
		"nothing below":             {"folder", removed("y/z"), "folder/y/z cannot be removed: it is not there"},
		"link to remove":            {".", removed("link"), "link cannot be removed: it is a symbolic link"},
		"directory to remove":       {".", removed("folder"), "folder cannot be removed: it is a directory"},
		"directory climbs":          {"..", written("x", ""), `the directory ".." is not a relative path`},
		"directory absolute":        {"/a", written("x", ""), `the directory "/a" is not a relative path`},
		"directory empty":           {"", written("x", ""), `the directory "" is not a relative path`},
		"path climbs":               {".", written("../x", ""), `the path "../x" is not one of a file`},
		"path absolute":             {".", written("/x", ""), `the path "/x" is not one of a file`},
		"path not clean":            {".", written("a//x", ""), `the path "a//x" is not one of a file`},
		"path is the root":          {".", written(".", ""), `the path "." is not one of a file`},
		"path not UTF-8":            {".", written("\xff", ""), `the path "\xff" is not one of a file`},
		"git":                       {".", written("a/.GIT/config", ""), `the name ".GIT"`},
		"git as a directory":        {".git", written("x", ""), `the name ".git"`},
		"NUL":                       {".", written("a\x00b", ""), `the name "ab"`},
	} {
		_, err := BuildTree(trees, root, tc.folder, []TreeEdit{tc.edit})
		require.ErrorContains(t, err, tc.want, name)
	}
	_, err := BuildTree(trees, root, ".", []TreeEdit{written("a", ""), written("a", "")})
	require.EqualError(t, err, "a is edited twice")
	_, err = BuildTree(trees, root, ".", []TreeEdit{written("a", ""), written("a/b", "")})
	require.EqualError(t, err, "a cannot be both a file and a directory")
	_, err = BuildTree(trees, root, ".", []TreeEdit{written("folder", ""), removed("folder/x"), written("folder/y", "")})
	require.EqualError(t, err, "folder cannot be both a file and a directory")
	_, err = BuildTree(trees, blobID("?"), "a/b", []TreeEdit{written("x", "")})
	require.ErrorContains(t, err, "read the tree of .: no tree")
	broken := NewRawObject(plumbing.TreeObject, []byte("100644 a"))
	trees.add([]NewObject{broken})
	outer := trees.wrap(t, "a", broken.ID)
	_, err = BuildTree(trees, outer, "a", []TreeEdit{written("x", "")})
	require.EqualError(t, err, "read the tree of a: a tree that is cut off")
}

// wrap adds a tree that holds another one.
func (m memoryTrees) wrap(t *testing.T, name string, id plumbing.Hash) plumbing.Hash {
	t.Helper()
	w := newTreeWriter(m)
	outer, err := w.write([]TreeEntry{{treeMode, name, id}})
	require.NoError(t, err)
	m.add(w.objects)
	return outer
}

func TestBuildTreeRefusesHostileTrees(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ data, want string }{
		{string(rawTree("100644 a", "40000 a")), `two entries "a"`},
		{string(rawTree("100644 ../a")), `the name "../a"`},
		{string(rawTree("104755 a")), `the mode "104755"`},
		{"100644 a\x00" + strings.Repeat("\x00", idSize), `"a" without an object`},
		{strings.Repeat("x", MaxTreeBytes+1), "a directory whose list has"},
	} {
		object := NewRawObject(plumbing.TreeObject, []byte(tc.data))
		trees := memoryTrees{}
		trees.add([]NewObject{object})
		_, err := BuildTree(trees, object.ID, ".", []TreeEdit{written("b", "")})
		require.ErrorContains(t, err, tc.want)
	}
}

// A folder that could not be read again is not written.
func TestS8BuildTreeBoundsFolders(t *testing.T) {
	t.Parallel()
	edits := make([]TreeEdit, 100)
	for i := range edits {
		edits[i] = written(fmt.Sprintf("%d-%s", i, strings.Repeat("x", MaxTreeBytes/100)), "")
	}
	_, err := BuildTree(memoryTrees{}, plumbing.ZeroHash, ".", edits)
	require.ErrorContains(t, err, "a directory whose list has")
}

// treeState is the files of a tree with their modes and contents: path → "mode content".
type treeState map[string]string

// fits reports whether a file can be at a path.
func (s treeState) fits(name string) bool {
	if old, found := s[name]; found {
		return strings.HasPrefix(old, "100")
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, found := s[dir]; found {
			return false
		}
	}
	for other := range s {
		if strings.HasPrefix(other, name+"/") {
			return false
		}
	}
	return true
}

// randomPath makes names that sort differently as files and as folders.
func randomPath(r *rand.Rand) string {
	names := []string{"a", "a.b", "a-b", "a0", "ab", "b", "é", "a\"b"}
	parts := make([]string, 1+r.IntN(3))
	for i := range parts {
		parts[i] = names[r.IntN(len(names))]
	}
	return strings.Join(parts, "/")
}

func randomState(r *rand.Rand, files int) treeState {
	modes := []string{"100644", "100644", "100644", "100755", "120000", "160000"}
	s := treeState{}
	for range files {
		name := randomPath(r)
		if _, found := s[name]; !found && s.fits(name) {
			s[name] = modes[r.IntN(len(modes))] + fmt.Sprintf(" %d", r.IntN(1000))
		}
	}
	return s
}

// randomEdits changes the state below a folder and returns how.
func (s treeState) randomEdits(r *rand.Rand, folder string) []TreeEdit {
	edits, before := map[string]TreeEdit{}, maps.Clone(s)
	for _, name := range slices.Sorted(maps.Keys(s)) {
		inside, found := strings.CutPrefix(path.Join("/", name), path.Join("/", folder)+"/")
		if folder == "." {
			inside, found = name, true
		}
		if found && strings.HasPrefix(s[name], "100") && r.IntN(3) == 0 {
			edits[inside] = removed(inside)
			delete(s, name)
		}
	}
	for range r.IntN(6) {
		inside := randomPath(r)
		if name := path.Join(folder, inside); s.fits(name) && before.fits(name) {
			content := fmt.Sprint(r.IntN(1000))
			edits[inside] = written(inside, content)
			s[name] = "100644 " + content
		}
	}
	list := slices.Collect(maps.Values(edits)) // in any order
	return list
}

// commit writes the state as a commit for git fast-import, on top of another branch if it has a name.
func (s treeState) commit(w *bytes.Buffer, branch, parent string) {
	fmt.Fprintf(w, "commit refs/heads/%s\ncommitter T <t@example.com> 1700000000 +0000\ndata 0\n", branch)
	if parent != "" {
		fmt.Fprintf(w, "from refs/heads/%s\n", parent)
	}
	w.WriteString("deleteall\n")
	for name, file := range s {
		mode, content, _ := strings.Cut(file, " ")
		quoted := `"` + strings.ReplaceAll(name, `"`, `\"`) + `"`
		if mode == "160000" {
			fmt.Fprintf(w, "M 160000 %s %s\n", blobID("commit "+content), quoted)
		} else {
			fmt.Fprintf(w, "M %s inline %s\ndata %d\n%s\n", mode, quoted, len(content), content)
		}
	}
	w.WriteString("\n")
}

// importTrees runs git fast-import in a new repository, and returns it with the trees of its branches.
func importTrees(t *testing.T, stream *bytes.Buffer) (dir string, source TreeSource, trees map[string]plumbing.Hash) {
	t.Helper()
	dir, _ = gitopstest.NewBare(t)
	gitIn(t, dir, stream, "fast-import", "--quiet")
	trees = map[string]plumbing.Hash{}
	for line := range strings.Lines(gitopstest.RunGit(t, dir, "for-each-ref", "--format=%(refname:lstrip=2) %(tree)")) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		trees[name] = plumbing.NewHash(id)
	}
	return dir, treesIn(t, dir), trees
}

// treesIn returns all trees of a repository.
func treesIn(t *testing.T, dir string) memoryTrees {
	t.Helper()
	trees := memoryTrees{}
	objects, err := gitopstest.Git(dir, "cat-file", "--batch-all-objects", "--batch")
	require.NoError(t, err)
	for objects != "" {
		head, rest, _ := strings.Cut(objects, "\n")
		var id, kind string
		var size int
		_, err := fmt.Sscan(head, &id, &kind, &size)
		require.NoError(t, err)
		if kind == "tree" {
			trees[plumbing.NewHash(id)] = []byte(rest[:size])
		}
		objects = strings.TrimPrefix(rest[size:], "\n")
	}
	return trees
}

// gitIn runs git with an input.
func gitIn(t *testing.T, dir string, input *bytes.Buffer, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if input != nil {
		cmd.Stdin = input
	}
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

// TestBuildTreeIsGits edits random trees, and has git make the same ones.
func TestBuildTreeIsGits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	const cases = 150
	var stream bytes.Buffer
	var folders []string
	var edits [][]TreeEdit
	for i := range cases {
		s := randomState(r, r.IntN(25))
		s.commit(&stream, fmt.Sprintf("%d/old", i), "")
		folder := "."
		if r.IntN(2) == 0 {
			folder = randomPath(r)
		}
		if folder != "." && !s.fits(folder+"/?") {
			folder = "."
		}
		folders, edits = append(folders, folder), append(edits, s.randomEdits(r, folder))
		s.commit(&stream, fmt.Sprintf("%d/new", i), "")
	}
	_, source, trees := importTrees(t, &stream)
	emptied := 0
	for i := range cases {
		old, want := trees[fmt.Sprintf("%d/old", i)], trees[fmt.Sprintf("%d/new", i)]
		built, err := BuildTree(source, old, folders[i], edits[i])
		require.NoError(t, err, i)
		require.Equal(t, want, built.ID, "%d: %s %v", i, folders[i], edits[i])
		for _, object := range built.Objects {
			data := object.Content.Append(nil)
			require.Equal(t, plumbing.ComputeHash(plumbing.TreeObject, data), object.ID)
		}
		if built.ID == emptyTree {
			emptied++
		}
	}
	assert.Positive(t, emptied, "some become empty")
}

// FuzzBuildTree reads any tree: it is refused, or what is made of it can be read.
func FuzzBuildTree(f *testing.F) {
	f.Add(rawTree("100644 a", "40000 b", "120000 c"), "a/x")
	f.Add(rawTree("100644 b.c", "40000 b"), "z")
	f.Add([]byte{}, "a")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		trees := memoryTrees{}
		old := NewRawObject(plumbing.TreeObject, data)
		trees.add([]NewObject{old})
		built, err := BuildTree(trees, old.ID, ".", []TreeEdit{written(name, "x")})
		if err != nil {
			return
		}
		for _, object := range built.Objects {
			entries, err := parseTree(object.Content.Append(nil))
			require.NoError(t, err)
			require.NotEmpty(t, entries)
		}
		trees.add(built.Objects)
		again, err := BuildTree(trees, built.ID, ".", []TreeEdit{written(name, "x")})
		require.NoError(t, err)
		require.Equal(t, built.ID, again.ID)
	})
}

// fleetEdits are 300,000 new files, in the order of a Change: three for each of 100,000 targets on 100
// cluster types.
func fleetEdits() []TreeEdit {
	var edits []TreeEdit
	for i := range 100_000 {
		folder := fmt.Sprintf("cluster-type-%d/app-%d-functional-test/", i%100, i/100)
		for _, name := range []string{"namespace.yaml", "platform-config.yaml", "reconciler.yaml"} {
			edits = append(edits, TreeEdit{Path: folder + name, Blob: blobID(folder + name)})
		}
	}
	slices.SortFunc(edits, func(a, b TreeEdit) int { return cmp.Compare(a.Path, b.Path) })
	return edits
}

func BenchmarkBuildTree(b *testing.B) {
	all := fleetEdits()
	trees := memoryTrees{}
	old, err := BuildTree(trees, plumbing.ZeroHash, ".", all)
	require.NoError(b, err)
	trees.add(old.Objects)
	var ten []TreeEdit
	for i := range 10 {
		ten = append(ten, written(all[i*30_001].Path, "new"))
	}
	b.Run("ten changes", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := BuildTree(trees, old.ID, ".", ten)
			require.NoError(b, err)
		}
	})
	b.Run("all new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := BuildTree(trees, plumbing.ZeroHash, ".", all)
			require.NoError(b, err)
		}
	})
}

func BenchmarkMergeTrees(b *testing.B) {
	all := fleetEdits()
	trees := memoryTrees{}
	build := func(root plumbing.Hash, edits []TreeEdit) plumbing.Hash {
		built, err := BuildTree(trees, root, ".", edits)
		require.NoError(b, err)
		trees.add(built.Objects)
		return built.ID
	}
	base := build(plumbing.ZeroHash, all)
	ours := build(base, []TreeEdit{written(all[1].Path, "ours"), written(all[2].Path, "ours")})
	theirs := build(base, []TreeEdit{written(all[3].Path, "theirs"), written("docs/x", "theirs")})
	b.ReportAllocs()
	for b.Loop() {
		_, clean, err := MergeTrees(trees, base, ours, theirs)
		require.NoError(b, err)
		require.True(b, clean)
	}
}
