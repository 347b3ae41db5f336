package remote

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// yaml is the place of a value in a YAML object.
func yamlPlace() diag.Place {
	return diag.Place{File: &diag.File{Repo: "https://example.com/cp", Branch: "dev", Path: "shop.yaml"}, Line: 7, Column: 11}
}

// newReader makes a Reader that never waits.
func newReader(t *testing.T, opts Options) *Reader {
	t.Helper()
	if opts.Sleep == nil {
		opts.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	r, err := NewReader(opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	return r
}

// readOne reads a ref that can be read.
func readOne(t *testing.T, r *Reader, ref model.Ref) *model.Source {
	t.Helper()
	sources, list := r.Read(t.Context(), []model.Ref{ref})
	require.False(t, list.HasErrors(), "%+v", list)
	require.Len(t, sources, 1)
	require.NotNil(t, sources[0])
	return sources[0]
}

// readError reads a ref that cannot be read and returns the error.
func readError(t *testing.T, r *Reader, ref model.Ref) diag.Diagnostic {
	t.Helper()
	sources, list := r.Read(t.Context(), []model.Ref{ref})
	require.Equal(t, 1, list.Count(diag.Error), "%+v", list)
	require.Nil(t, sources[0])
	for _, d := range list {
		if d.Severity == diag.Error {
			assert.Equal(t, ref.At, d.At)
			assert.NotContains(t, d.Message, "\n")
			return d
		}
	}
	panic("unreachable")
}

func TestReadTheSameFromAnywhere(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, ids := server.Add("acme/shop", gitopstest.Commit{Files: gitopstest.Shop()})
	clone, folder := filepath.Join(t.TempDir(), "clone"), t.TempDir()
	require.NoError(t, gitopstest.Clone(server.Dir("acme/shop"), clone))
	gitopstest.Write(t, folder, gitopstest.Shop())

	for name, repo := range map[string]string{
		"http": url, "bare": server.Dir("acme/shop"), "file URL": "file://" + server.Dir("acme/shop"),
		"clone": clone, "folder": folder,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReader(t, Options{})
			source := readOne(t, r, model.Ref{Repo: repo, Branch: "main", Path: "."})
			if name != "folder" {
				assert.Equal(t, ids[0], source.Commit)
			}
			for file, text := range gitopstest.Shop() {
				assert.Equal(t, text, gitopstest.Content(t, source.FS, file))
			}
			_, err := fs.Stat(source.FS, ".git")
			require.ErrorIs(t, err, fs.ErrNotExist)
		})
	}
}

func TestReadAsksForTreesAndThenForFiles(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _ := server.Add("shop", gitopstest.Commit{Files: gitopstest.Shop()})
	r := newReader(t, Options{})
	source := readOne(t, r, model.Ref{Repo: url, Branch: "main", Path: "workload", Role: model.Tenant})

	require.Len(t, server.Requests(), 3)
	assert.Equal(t, "kind: Workload\n", gitopstest.Content(t, source.FS, "workload/shop.yaml"))
	assert.Equal(t, "kind: ConfigMap\n", gitopstest.Content(t, source.FS, "workload/a/b/deep.yml"))
	assert.Equal(t, "docs/\n", gitopstest.Content(t, source.FS, ".sourceignore"))
	assert.Len(t, server.Requests(), 3, "what is needed is there")
	info, err := fs.Stat(source.FS, "workload/big.bin")
	require.NoError(t, err)
	assert.EqualValues(t, -1, info.Size(), "what is not needed is not")

	assert.Len(t, gitopstest.Content(t, source.FS, "workload/big.bin"), 1000)
	assert.Len(t, server.Requests(), 4)
}

func TestReadOnce(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, ids := server.Add("shop", gitopstest.Commit{Files: gitopstest.Shop()}, gitopstest.Commit{Branch: "dev", Files: gitopstest.Shop()})
	r := newReader(t, Options{})
	var refs []model.Ref
	for range 10 {
		refs = append(refs, model.Ref{Repo: url, Branch: "main", Path: "workload"},
			model.Ref{Repo: strings.TrimSuffix(url, ".git") + "/", Branch: "dev", Path: "."})
	}
	sources, list := r.Read(t.Context(), refs)
	require.Empty(t, list)
	gets, posts := 0, 0
	for _, request := range server.Requests() {
		if request.Method == "GET" {
			gets++
		} else {
			posts++
		}
	}
	assert.Equal(t, 1, gets, "references are listed once")
	assert.LessOrEqual(t, posts, 2+3, "each commit and each file is fetched once")

	server.Add("shop", gitopstest.Commit{Files: gitopstest.Files{"x.yaml": "later"}})
	again := readOne(t, r, model.Ref{Repo: url, Branch: "main"})
	assert.Equal(t, ids[0], again.Commit, "a branch stays what it was")
	assert.Equal(t, ids[0], sources[0].Commit)
	tip, err := r.Tip(t.Context(), model.Ref{Repo: url, Branch: "main", Commit: ids[1]})
	require.NoError(t, err)
	assert.Equal(t, ids[0], tip)
}
