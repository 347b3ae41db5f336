package gitobject

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// TreeSource returns existing trees.
type TreeSource interface {
	// Tree returns the content of a tree.
	Tree(id plumbing.Hash) ([]byte, error)
}

// TreeEdit is a file that is written to or removed from a tree.
type TreeEdit struct {
	Path string
	// Blob is the new content; the zero hash removes the file, which must exist.
	Blob plumbing.Hash
	// KeepMode keeps the mode of an existing executable file.
	KeepMode bool
}

// Removes reports whether the edit removes the file.
func (e TreeEdit) Removes() bool { return e.Blob.IsZero() }

// BuiltTree is a tree and its objects that the server may not have.
type BuiltTree struct {
	ID      plumbing.Hash
	Objects []NewObject
}

// BuildTree applies edits, whose paths are relative to a directory, to the tree at root; "." is the root itself, and a
// zero root is an empty tree. Only the trees in the paths of edits are read and written; other entries keep their id
// and mode. A file never replaces a directory or link, nor a directory a file.
func BuildTree(from TreeSource, root plumbing.Hash, directory string, edits []TreeEdit) (BuiltTree, error) {
	edits, err := rootedEdits(directory, edits)
	if err != nil {
		return BuiltTree{}, err
	}
	w := newTreeWriter(from)
	id, err := w.edit(root, edits, 0)
	if err != nil {
		return BuiltTree{}, err
	}
	if id == root && !id.IsZero() {
		return BuiltTree{ID: id}, nil
	}
	return w.built(id), nil
}

func rootedEdits(directory string, edits []TreeEdit) ([]TreeEdit, error) {
	if !fs.ValidPath(directory) {
		return nil, fmt.Errorf("the directory %q is not a relative path", directory)
	}
	rooted := make([]TreeEdit, len(edits))
	for i, edit := range edits {
		if !fs.ValidPath(edit.Path) || edit.Path == "." {
			return nil, fmt.Errorf("the path %q is not one of a file", edit.Path)
		}
		rooted[i] = TreeEdit{path.Join(directory, edit.Path), edit.Blob, edit.KeepMode}
		if err := checkNewPath(rooted[i].Path); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(rooted, func(a, b TreeEdit) int { return comparePaths(a.Path, b.Path) })
	for i := 1; i < len(rooted); i++ {
		if rooted[i].Path == rooted[i-1].Path {
			return nil, fmt.Errorf("%s is edited twice", rooted[i].Path)
		}
	}
	return rooted, nil
}

// checkNewPath returns an error for paths that git would not check out.
func checkNewPath(path string) error {
	for name := range strings.SplitSeq(path, "/") {
		err := checkTreeName(name)
		if err == nil && strings.Contains(name, "\x00") {
			err = fmt.Errorf("a tree entry with the name %q", giterror.OneLine(name))
		}
		if err != nil {
			return fmt.Errorf("%q cannot be in a repository: %w", giterror.OneLine(path), err)
		}
	}
	return nil
}

// comparePaths orders paths so that the content of a directory follows the directory: a, a/b, a.b.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		default:
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}

// edit applies edits to a tree. The first skip bytes of their paths are its directory. The id is zero if no entry is
// left.
func (w *treeWriter) edit(old plumbing.Hash, edits []TreeEdit, skip int) (plumbing.Hash, error) {
	if len(edits) == 0 {
		return old, nil
	}
	entries, err := entriesOf(w.from, old)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("read the tree of %s: %w", path.Dir(edits[0].Path[:skip]+"x"), err)
	}
	result := make([]TreeEntry, 0, len(entries)+1)
	for len(edits) > 0 {
		group := firstGroup(edits, skip)
		edits = edits[len(group.edits):]
		at, found := slices.BinarySearchFunc(entries, group.name, func(e TreeEntry, name string) int {
			return cmp.Compare(e.Name, name)
		})
		result = append(result, entries[:at]...)
		entries = entries[at:]
		var before TreeEntry
		if found {
			before, entries = entries[0], entries[1:]
		}
		after, err := w.editEntry(before, group)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if after.present() {
			result = append(result, after)
		}
	}
	return w.write(append(result, entries...))
}

type editGroup struct {
	name string
	// path is the path of the entry from the root.
	path  string
	edits []TreeEdit
}

func firstGroup(edits []TreeEdit, skip int) editGroup {
	name, _, _ := strings.Cut(edits[0].Path[skip:], "/")
	end := skip + len(name)
	n := 1
	for n < len(edits) && len(edits[n].Path) > end && edits[n].Path[end] == '/' && edits[n].Path[skip:end] == name {
		n++
	}
	return editGroup{name: name, path: edits[0].Path[:end], edits: edits[:n]}
}

// editEntry returns the edited entry, which is not present if it is removed. The old entry may be missing, too.
func (w *treeWriter) editEntry(entry TreeEntry, group editGroup) (TreeEntry, error) {
	first := group.edits[0]
	switch itself := len(first.Path) == len(group.path); {
	case !itself && entry.present() && !entry.isTree():
		return entry, fmt.Errorf("%s conflicts with %s: it is %s, not a directory", group.path, first.Path, entry.describe())
	case !itself:
		id, err := w.edit(entry.ID, group.edits, len(group.path)+1)
		return TreeEntry{treeMode, group.name, id}, err
	case len(group.edits) > 1:
		return entry, fmt.Errorf("%s cannot be both a file and a directory", group.path)
	case first.Removes() && !entry.regular():
		return entry, fmt.Errorf("%s cannot be removed: it is %s", group.path, entry.describe())
	case first.Removes():
		return TreeEntry{}, nil
	case entry.present() && !entry.regular():
		return entry, fmt.Errorf("%s cannot be written: it is %s", group.path, entry.describe())
	}
	mode := fileMode
	if first.KeepMode && entry.present() {
		mode = entry.Mode
	}
	return TreeEntry{mode, group.name, first.Blob}, nil
}

// The modes that kalypso writes.
const (
	fileMode = "100644"
	treeMode = "40000"
)

func (e TreeEntry) present() bool { return !e.ID.IsZero() }

// isTree reports whether the entry is a directory. Old tools wrote a zero before its mode.
func (e TreeEntry) isTree() bool { return strings.TrimPrefix(e.Mode, "0") == treeMode }

func (e TreeEntry) regular() bool {
	mode, err := parseMode(e.Mode)
	return err == nil && mode.IsRegular()
}

func (e TreeEntry) describe() string {
	switch mode, _ := parseMode(e.Mode); {
	case !e.present():
		return "not there"
	case mode.IsDir():
		return "a directory"
	case mode.IsRegular():
		return "a file"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	default:
		return "a submodule"
	}
}

// treeWriter creates trees from existing ones.
type treeWriter struct {
	from    TreeSource
	objects []NewObject
	written map[plumbing.Hash]bool
}

func newTreeWriter(from TreeSource) *treeWriter {
	return &treeWriter{from: from, written: map[plumbing.Hash]bool{}}
}

// emptyTree is the id of the tree without entries, which servers need not send.
var emptyTree = HashOf(plumbing.TreeObject, nil)

// entriesOf returns the entries of a tree in order of name; there are none in a tree of zero.
func entriesOf(from TreeSource, id plumbing.Hash) ([]TreeEntry, error) {
	if id.IsZero() || id == emptyTree {
		return nil, nil
	}
	data, err := from.Tree(id)
	if err != nil {
		return nil, err
	}
	return parseTree(data)
}

// write creates a tree and returns its id, zero without entries.
func (w *treeWriter) write(entries []TreeEntry) (plumbing.Hash, error) {
	if len(entries) == 0 {
		return plumbing.ZeroHash, nil
	}
	if !slices.IsSortedFunc(entries, compareInTree) {
		slices.SortFunc(entries, compareInTree)
	}
	size := 0
	for _, e := range entries {
		size += len(e.Mode) + len(e.Name) + 2 + idSize
	}
	if size > MaxTreeBytes {
		return plumbing.ZeroHash, TooManyInDirectory(int64(size))
	}
	data := make([]byte, 0, size)
	for _, e := range entries {
		data = append(data, e.Mode...)
		data = append(append(data, ' '), e.Name...)
		data = append(append(data, 0), e.ID[:]...)
	}
	object := NewRawObject(plumbing.TreeObject, data)
	if !w.written[object.ID] {
		w.written[object.ID] = true
		w.objects = append(w.objects, object)
	}
	return object.ID, nil
}

// compareInTree is the order of git: that of the bytes, with a slash at the end of the name of a directory.
func compareInTree(a, b TreeEntry) int {
	n := min(len(a.Name), len(b.Name))
	return cmp.Or(cmp.Compare(a.Name[:n], b.Name[:n]), cmp.Compare(a.byteAt(n), b.byteAt(n)))
}

func (e TreeEntry) byteAt(i int) byte {
	switch {
	case i < len(e.Name):
		return e.Name[i]
	case e.isTree():
		return '/'
	default:
		return 0
	}
}

// built returns the result for a root. One without entries is an object too.
func (w *treeWriter) built(root plumbing.Hash) BuiltTree {
	if root.IsZero() {
		return BuiltTree{emptyTree, []NewObject{NewRawObject(plumbing.TreeObject, nil)}}
	}
	return BuiltTree{root, w.objects}
}
