package baserepo

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

const (
	oldCommit = "281a9cbe37c87c4fa8f31cc1b1795028b3845bb2"
	newCommit = "516109de1c73d085e0c9d315a66c976100eff05f"
)

// aLayout is a file of the archives in testdata/setcommit.
type aLayout struct{ name, before, after, err string }

func layouts(t testing.TB, archive string) []aLayout {
	t.Helper()
	files, err := txtar.ParseFile(filepath.Join("testdata", "setcommit", archive+".txtar"))
	require.NoError(t, err)
	var all []aLayout
	for _, file := range files.Files {
		name, role, _ := strings.Cut(file.Name, "/")
		if len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, aLayout{name: name})
		}
		last := &all[len(all)-1]
		*map[string]*string{"before": &last.before, "after": &last.after, "error": &last.err}[role] = string(file.Data)
	}
	require.NotEmpty(t, all)
	return all
}

// theBase is the first BaseRepo "main" of a file.
func theBase(t testing.TB, file string) *model.BaseRepo {
	t.Helper()
	source := &model.Source{
		Ref:  model.Ref{Branch: "dev", Path: BaseRepoFile, Role: model.Platform},
		Repo: "https://github.com/acme/control-plane", FS: fstest.MapFS{BaseRepoFile: {Data: []byte(file)}},
	}
	objects, diags := model.Parse(source, nil, model.DefaultOptions())
	i := slices.IndexFunc(objects.BaseRepos, func(b *model.BaseRepo) bool { return b.Name.Value == model.MainBase })
	require.GreaterOrEqual(t, i, 0, "no BaseRepo in %q: %v", file, diags)
	return objects.BaseRepos[i]
}

func requireSet(t *testing.T, before, after, commit string) {
	t.Helper()
	got, err := SetCommit([]byte(before), theBase(t, before), commit)
	require.NoError(t, err)
	require.Equal(t, after, string(got))
}

func TestSetCommit(t *testing.T) {
	t.Parallel()
	for _, archive := range []string{"replace", "add"} {
		for _, layout := range layouts(t, archive) {
			t.Run(archive+"/"+layout.name, func(t *testing.T) {
				t.Parallel()
				requireSet(t, layout.before, layout.after, newCommit)
				requireSet(t, layout.after, layout.after, newCommit)
			})
		}
	}
}

// What editors and systems do to files: every layout is kept in all of these.
func TestSetCommitVariants(t *testing.T) {
	t.Parallel()
	const other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"
	for name, vary := range map[string]func(string) string{
		"carriage returns":     func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"byte order mark":      func(s string) string { return byteOrderMark + s },
		"mark and returns":     func(s string) string { return byteOrderMark + strings.ReplaceAll(s, "\n", "\r\n") },
		"separator first":      func(s string) string { return "---\n" + s },
		"other document first": func(s string) string { return other + "--- # next\n" + s },
		"other document last":  func(s string) string { return s + "---\n" + other },
		"comments first":       func(s string) string { return "# about\n\n# this\n" + s },
	} {
		for _, archive := range []string{"replace", "add"} {
			for _, layout := range layouts(t, archive) {
				t.Run(name+"/"+archive+"/"+layout.name, func(t *testing.T) {
					t.Parallel()
					requireSet(t, vary(layout.before), vary(layout.after), newCommit)
				})
			}
		}
	}
}

// A missing line break at the end stays missing.
func TestSetCommitWithoutNewlineAtEnd(t *testing.T) {
	t.Parallel()
	for _, archive := range []string{"replace", "add"} {
		for _, layout := range layouts(t, archive) {
			before, after := strings.TrimRight(layout.before, "\n"), strings.TrimRight(layout.after, "\n")
			t.Run(archive+"/"+layout.name, func(t *testing.T) {
				t.Parallel()
				requireSet(t, before, after, newCommit)
				requireSet(t, strings.ReplaceAll(before, "\n", "\r\n"), strings.ReplaceAll(after, "\n", "\r\n"), newCommit)
			})
		}
	}
}

func requireEditError(t *testing.T, err error, message string) {
	t.Helper()
	var edit *EditError
	require.ErrorAs(t, err, &edit)
	assert.Contains(t, err.Error(), message)
	assert.NotEmpty(t, edit.Hint)
}

func TestSetCommitRefused(t *testing.T) {
	t.Parallel()
	for _, layout := range layouts(t, "refuse") {
		t.Run(layout.name, func(t *testing.T) {
			t.Parallel()
			got, err := SetCommit([]byte(layout.before), theBase(t, layout.before), newCommit)
			assert.Nil(t, got)
			requireEditError(t, err, strings.TrimSuffix(layout.err, "\n"))
			var edit *EditError
			require.ErrorAs(t, err, &edit)
			assert.Contains(t, edit.At.String(), "github.com/acme/control-plane@dev:base-repo.yaml:")
			assert.Equal(t, "write commit: "+newCommit+` into spec of BaseRepo "main" by hand`, edit.Hint)
		})
	}
}

func TestSetCommitOfAnotherFile(t *testing.T) {
	t.Parallel()
	file := string(New(aBaseSpec()))
	base := theBase(t, "---\n"+file)
	_, err := SetCommit([]byte(file), base, newCommit)
	requireEditError(t, err, "not a plain or quoted text")
	_, err = SetCommit(nil, base, newCommit)
	requireEditError(t, err, "not a plain or quoted text")
	_, err = SetCommit([]byte(file), &model.BaseRepo{}, newCommit)
	requireEditError(t, err, "spec has no commit yet")
}

func TestSetCommitTakesFullIDsAlone(t *testing.T) {
	t.Parallel()
	file := New(aBaseSpec())
	for _, commit := range []string{"", "main", "281a9cb", strings.ToUpper(oldCommit), oldCommit + "0", oldCommit[1:] + "g", oldCommit + "\n"} {
		_, err := SetCommit(file, theBase(t, string(file)), commit)
		assert.ErrorContains(t, err, "is not a full commit SHA", "%q", commit)
	}
}

// Where a plain value is replaced the bytes before and behind it are those that were there.
func TestSetCommitKeepsAllOtherBytes(t *testing.T) {
	t.Parallel()
	for _, layout := range layouts(t, "replace") {
		before, behind, found := strings.Cut(layout.before, "commit: "+oldCommit)
		base := theBase(t, layout.before)
		if !found || base.Commit.At.Line != 1+strings.Count(before, "\n") {
			continue
		}
		got, err := SetCommit([]byte(layout.before), base, newCommit)
		require.NoError(t, err)
		assert.Equal(t, before+"commit: "+newCommit+behind, string(got), layout.name)
	}
}

// The file that was given is not written to.
func TestSetCommitLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	file := New(aBaseSpec())
	kept := bytes.Clone(file)
	for _, commit := range []string{oldCommit, newCommit} {
		got, err := SetCommit(file, theBase(t, string(file)), commit)
		require.NoError(t, err)
		got[0] = 'X'
		assert.Equal(t, kept, file)
	}
}

func aBaseSpec() Spec {
	return Spec{Repo: "https://github.com/acme/control-plane", Branch: "main", Commit: oldCommit}
}
