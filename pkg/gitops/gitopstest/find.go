package gitopstest

import (
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// What tests look at in bare repositories after each run is read here without git: starting it takes most of the time of
// tests of many runs.

// open returns the store of a bare repository.
func open(dir string) *filesystem.Storage {
	return filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRUDefault())
}

// content returns what an object says.
func readObject(objects storer.EncodedObjectStorer, kind plumbing.ObjectType, id plumbing.Hash) (string, error) {
	o, err := objects.EncodedObject(kind, id)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", kind, id, err)
	}
	r, err := o.Reader()
	if err != nil {
		return "", err
	}
	defer r.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(r)
	return string(text), err
}

// Found is a commit as it is stored.
type Found struct {
	ID, Tree string
	Parents  []string
	// Text is all of it: headers and, after an empty line, the message.
	Text string
}

// Message returns what the commit says.
func (c Found) Message() string {
	_, message, _ := strings.Cut(c.Text, "\n\n")
	return message
}

func findCommit(objects storer.EncodedObjectStorer, id plumbing.Hash) (Found, error) {
	text, err := readObject(objects, plumbing.CommitObject, id)
	c := Found{ID: id.String(), Text: text}
	header, _, _ := strings.Cut(text, "\n\n")
	for line := range strings.SplitSeq(header, "\n") {
		switch name, value, _ := strings.Cut(line, " "); name {
		case "tree":
			c.Tree = value
		case "parent":
			c.Parents = append(c.Parents, value)
		}
	}
	return c, err
}

var commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// find finds a commit by its id or by a branch, with "^" behind it for each step to a first parent.
func find(repo *filesystem.Storage, revision string) (Found, error) {
	name := strings.TrimRight(revision, "^")
	id := plumbing.NewHash(name)
	if !commitID.MatchString(name) {
		ref, err := repo.Reference(plumbing.NewBranchReferenceName(name))
		if err != nil {
			return Found{}, fmt.Errorf("%s: %w", revision, err)
		}
		id = ref.Hash()
	}
	c, err := findCommit(repo, id)
	for range len(revision) - len(name) {
		switch {
		case err != nil:
		case len(c.Parents) == 0:
			err = fmt.Errorf("%s: there is no such parent", revision)
		default:
			c, err = findCommit(repo, plumbing.NewHash(c.Parents[0]))
		}
	}
	return c, err
}

// FindCommit returns a commit of a bare repository: by its id, the tip of a branch, or a parent of one, as in "main^".
func FindCommit(dir, revision string) (Found, error) { return find(open(dir), revision) }

// FirstParents returns a commit or the tip of a branch, the first parent of it, and so on.
func FirstParents(dir, revision string) ([]Found, error) {
	repo := open(dir)
	c, err := find(repo, revision)
	all := []Found{c}
	for err == nil && len(c.Parents) > 0 {
		c, err = findCommit(repo, plumbing.NewHash(c.Parents[0]))
		all = append(all, c)
	}
	return all, err
}

// Read returns the files of a commit or a branch of a bare repository, without links.
func Read(dir, revision string) (Files, error) {
	repo := open(dir)
	c, err := find(repo, revision)
	if err != nil {
		return nil, err
	}
	files := Files{}
	return files, readTree(repo, plumbing.NewHash(c.Tree), "", files)
}

// readTree adds the files of a tree whose paths begin with a folder.
func readTree(objects storer.EncodedObjectStorer, id plumbing.Hash, folder string, files Files) error {
	return eachEntry(objects, id, func(mode, name string, below plumbing.Hash) (err error) {
		switch name = path.Join(folder, name); mode {
		case "40000":
			err = readTree(objects, below, name, files)
		case "100644", "100755":
			files[name], err = readObject(objects, plumbing.BlobObject, below)
		}
		return err
	})
}

// eachEntry calls do for all that is in a tree.
func eachEntry(objects storer.EncodedObjectStorer, id plumbing.Hash, do func(mode, name string, below plumbing.Hash) error) error {
	tree, err := readObject(objects, plumbing.TreeObject, id)
	for err == nil && tree != "" {
		mode, rest, _ := strings.Cut(tree, " ")
		name, after, _ := strings.Cut(rest, "\x00")
		if len(after) < len(id) {
			return fmt.Errorf("tree %s ends too early", id)
		}
		var below plumbing.Hash
		copy(below[:], after)
		tree = after[len(id):]
		err = do(mode, name, below)
	}
	return err
}

// Everything returns what all objects of a bare repository say.
func Everything(dir string) (string, error) {
	var all strings.Builder
	repo := open(dir)
	objects, err := repo.IterEncodedObjects(plumbing.AnyObject)
	if err != nil {
		return "", err
	}
	err = objects.ForEach(func(o plumbing.EncodedObject) error {
		text, err := readObject(repo, o.Type(), o.Hash())
		all.WriteString(text)
		return err
	})
	return all.String(), err
}
