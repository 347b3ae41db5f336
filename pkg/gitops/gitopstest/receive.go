package gitopstest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"
)

// errAskGit is why a push is left to git: this is only about those that succeed in a repository as Bare makes it.
var errAskGit = errors.New("git knows what to say")

// receive takes a push as git receive-pack does, without its five processes, and returns what it answers.
func receive(dir string, body []byte) ([]byte, error) {
	if configuration, err := os.ReadFile(filepath.Join(dir, "config")); err != nil || string(configuration) != settings {
		return nil, errAskGit
	}
	if hooks, err := os.ReadDir(filepath.Join(dir, "hooks")); len(hooks) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errAskGit
	}
	request := packp.NewReferenceUpdateRequest()
	rest := bytes.NewReader(body)
	if err := request.Decode(rest); err != nil || request.Capabilities.Supports(capability.PushOptions) || !request.Capabilities.Supports(capability.ReportStatus) {
		return nil, errAskGit
	}
	repo := open(dir)
	if err := unpack(body[len(body)-rest.Len():], request.Commands, repo); err != nil {
		return nil, errAskGit
	}
	if err := update(dir, repo, request.Commands); err != nil {
		return nil, errAskGit
	}
	return report(request)
}

// unpack stores the objects of a push, if none is missing.
func unpack(pack []byte, commands []*packp.Command, repo *filesystem.Storage) error {
	objects := memory.NewStorage()
	if len(pack) > 0 {
		parser, err := packfile.NewParserWithStorage(packfile.NewScanner(bytes.NewReader(pack)), objects)
		if err == nil {
			_, err = parser.Parse()
		}
		if err != nil { // it may be a delta of what is there
			return err
		}
	}
	has := func(kind plumbing.ObjectType, id plumbing.Hash) error {
		if _, sent := objects.Objects[id]; sent {
			return nil
		}
		_, err := repo.EncodedObject(kind, id)
		return err
	}
	var missing error
	for _, c := range commands {
		if !c.New.IsZero() {
			missing = errors.Join(missing, has(plumbing.CommitObject, c.New))
		}
	}
	for id := range objects.Commits {
		c, err := findCommit(objects, id)
		missing = errors.Join(missing, err, has(plumbing.TreeObject, plumbing.NewHash(c.Tree)))
		for _, parent := range c.Parents {
			missing = errors.Join(missing, has(plumbing.CommitObject, plumbing.NewHash(parent)))
		}
	}
	for id := range objects.Trees {
		missing = errors.Join(missing, eachEntry(objects, id, func(mode, _ string, below plumbing.Hash) error {
			if mode == "160000" {
				return nil
			}
			return has(plumbing.AnyObject, below)
		}))
	}
	if missing != nil || len(objects.Objects) <= fewObjects {
		return errors.Join(missing, move(objects, repo))
	}
	w, err := repo.PackfileWriter() // all of it is there, and deflated
	if err != nil {
		return err
	}
	_, err = w.Write(pack)
	return errors.Join(err, w.Close())
}

// update moves references as git does, which keeps others off with files that end in .lock: all of them, or none if one is not
// where the push takes it to be.
func update(dir string, repo storer.ReferenceStorer, commands []*packp.Command) error {
	if _, err := os.Stat(filepath.Join(dir, "packed-refs")); err == nil {
		return errAskGit
	}
	for _, c := range commands {
		if c.New.IsZero() && c.Old.IsZero() || !strings.HasPrefix(c.Name.String(), "refs/heads/") {
			return errAskGit
		}
		name := filepath.Join(dir, filepath.FromSlash(c.Name.String()))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		lock, err := os.OpenFile(name+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer os.Remove(lock.Name()) //nolint:errcheck // it is not there if all went well
		_, err = fmt.Fprintln(lock, c.New)
		if err = errors.Join(err, lock.Close()); err != nil {
			return err
		}
		if id, err := idOf(repo, c.Name); err != nil || id != c.Old {
			return errAskGit
		}
	}
	for _, c := range commands {
		name := filepath.Join(dir, filepath.FromSlash(c.Name.String()))
		settle := func() error { return os.Rename(name+".lock", name) }
		if c.New.IsZero() {
			settle = func() error { return os.Remove(name) }
		}
		if err := settle(); err != nil {
			return err
		}
	}
	return nil
}

// Move moves a branch of a bare repository from one commit to another. An empty one stands for no branch.
func Move(dir, branch, from, to string) error {
	name := plumbing.NewBranchReferenceName(branch)
	err := update(dir, open(dir), []*packp.Command{{Name: name, Old: plumbing.NewHash(from), New: plumbing.NewHash(to)}})
	if err != nil {
		_, err = Git(dir, "update-ref", name.String(), cmp.Or(to, plumbing.ZeroHash.String()), cmp.Or(from, plumbing.ZeroHash.String()))
	}
	return err
}

// StoreCommit stores a commit, given as all of its text, and returns its id.
func StoreCommit(dir, text string) (string, error) {
	id, err := encode(open(dir), plumbing.CommitObject, text)
	return id.String(), err
}

// idOf is where a reference is; zero if it is not there.
func idOf(repo storer.ReferenceStorer, name plumbing.ReferenceName) (plumbing.Hash, error) {
	ref, err := repo.Reference(name)
	switch {
	case errors.Is(err, plumbing.ErrReferenceNotFound):
		return plumbing.ZeroHash, nil
	case err != nil:
		return plumbing.ZeroHash, err
	}
	return ref.Hash(), nil
}

// report says that all went well.
func report(request *packp.ReferenceUpdateRequest) ([]byte, error) {
	status := packp.NewReportStatus()
	status.UnpackStatus = "ok"
	for _, c := range request.Commands {
		status.CommandStatuses = append(status.CommandStatuses, &packp.CommandStatus{ReferenceName: c.Name, Status: "ok"})
	}
	var plain, banded bytes.Buffer
	if err := status.Encode(&plain); err != nil || !request.Capabilities.Supports(capability.Sideband64k) {
		return plain.Bytes(), err
	}
	_, err := sideband.NewMuxer(sideband.Sideband64k, &banded).Write(plain.Bytes())
	banded.WriteString("0000")
	return banded.Bytes(), err
}
