package baserepo

import (
	"bytes"
	"io/fs"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// BaseRepoFile is the file that a BaseRepo is written to if there is none yet.
const BaseRepoFile = "base-repo.yaml"

// reading is what the model makes of one file.
type reading struct {
	bases []*model.BaseRepo
	// errors counts the errors in the file.
	errors int
}

// readBases reads a file as a run does, within the same limits.
func readBases(file []byte) reading {
	source := &model.Source{Ref: model.Ref{Path: BaseRepoFile, Role: model.Platform}, FS: oneFile(file)}
	objects, diags := model.Parse(source, nil, model.DefaultOptions())
	return reading{bases: objects.BaseRepos, errors: diags.Count(diag.Error)}
}

// baseRepoAt returns the BaseRepo that begins at a place, or nil.
func baseRepoAt(r reading, at diag.Place) *model.BaseRepo {
	for _, base := range r.bases {
		if samePlace(base.At, at) {
			return base
		}
	}
	return nil
}

// samePlace compares places of one file.
func samePlace(a, b diag.Place) bool { return a.Line == b.Line && a.Column == b.Column }

// oneFile is a file system that holds BaseRepoFile alone.
type oneFile []byte

// Open implements fs.FS.
func (f oneFile) Open(name string) (fs.File, error) {
	if name != BaseRepoFile {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return openFile{bytes.NewReader(f)}, nil
}

// openFile is the file of a oneFile, and what there is to know of it.
type openFile struct{ *bytes.Reader }

func (f openFile) Stat() (fs.FileInfo, error) { return f, nil }
func (openFile) Close() error                 { return nil }
func (openFile) Name() string                 { return BaseRepoFile }
func (openFile) Mode() fs.FileMode            { return 0o444 }
func (openFile) ModTime() time.Time           { return time.Time{} }
func (openFile) IsDir() bool                  { return false }
func (openFile) Sys() any                     { return nil }
