package baserepo

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

const byteOrderMark = "\ufeff"

// commitOf makes an id of any text.
func commitOf(seed string) string {
	commit := []byte(strings.Repeat("0", 40))
	for i := range min(len(seed), len(commit)) {
		commit[i] = "0123456789abcdef"[seed[i]%16]
	}
	return string(commit)
}

func addBaseRepos(f *testing.F, add func(file string)) {
	f.Helper()
	for _, archive := range []string{"replace", "add", "refuse"} {
		for _, layout := range layouts(f, archive) {
			add(layout.before)
			add(byteOrderMark + strings.ReplaceAll(layout.before, "\n", "\r\n"))
		}
	}
	samples := os.DirFS("../../../testdata/fleets")
	names, err := fs.Glob(samples, "*/in/*/*/*.yaml")
	require.NoError(f, err)
	for _, name := range names {
		content, err := fs.ReadFile(samples, name)
		require.NoError(f, err)
		if strings.Contains(string(content), "kind: BaseRepo") {
			add(string(content))
		}
	}
}

// Whatever a file holds: setting a commit either changes that commit alone, so that setting it again, or another one
// after it, makes no difference, or a person is asked.
func FuzzSetCommit(f *testing.F) {
	addBaseRepos(f, func(file string) { f.Add(file, "1", "28a") })
	f.Add(string(New(aBaseSpec())), "0b1010", "1e5")
	f.Fuzz(func(t *testing.T, file, seed, otherSeed string) {
		first, second := commitOf(seed), commitOf(otherSeed)
		was, _ := readBases([]byte(file))
		for i, base := range was[:min(len(was), 3)] {
			once, err := SetCommit([]byte(file), base, first)
			if err != nil {
				requireEditError(t, err, "")
				continue
			}
			is, _ := readBases(once)
			require.Len(t, is, len(was))
			require.Equal(t, first, is[i].Commit.Value)
			requireSameForKubernetes(t, file, string(once), base)
			require.Equal(t, once, mustSet(t, once, is[i], first), "setting it again changes the file")
			direct, err := SetCommit([]byte(file), base, second)
			if err == nil {
				require.Equal(t, string(direct), string(mustSet(t, once, is[i], second)), "what was set before makes a difference")
			}
		}
	})
}

func mustSet(t *testing.T, file []byte, base *model.BaseRepo, commit string) []byte {
	t.Helper()
	changed, err := SetCommit(file, base, commit)
	require.NoError(t, err)
	return changed
}

// requireSameForKubernetes compares the files as another library reads them, document by document. Left out are merge
// keys, which it reads differently.
func requireSameForKubernetes(t *testing.T, before, after string, base *model.BaseRepo) {
	t.Helper()
	if strings.Contains(before, "<<") {
		return
	}
	was, is := apart(before), apart(after)
	require.Len(t, is, len(was))
	changed := 0
	for i := range was {
		if was[i] == is[i] {
			continue
		}
		changed++
		a, errA := asJSON(was[i])
		b, errB := asJSON(is[i])
		if errA == nil && errB == nil {
			require.Equal(t, a, b, "%q became %q", was[i], is[i])
		}
	}
	require.LessOrEqual(t, changed, 1, "BaseRepo %q", base.Name.Value)
}

// apart takes a file apart before each separator.
func apart(file string) []string {
	return strings.Split(strings.ReplaceAll(file, "\n---", "\n\x00---"), "\x00")
}

// asJSON returns a document without its spec.commit.
func asJSON(text string) (any, error) {
	content, err := k8syaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var document map[string]any
	if err := json.Unmarshal(content, &document); err != nil {
		return nil, err
	}
	if spec, ok := document["spec"].(map[string]any); ok {
		delete(spec, "commit")
	}
	return document, nil
}

// Whatever two files hold: that only a commit changed is said of both directions or of none, and of a file and itself if
// there is a BaseRepo in it and no error.
func FuzzOnlyCommitChanged(f *testing.F) {
	addBaseRepos(f, func(file string) { f.Add(file, strings.ReplaceAll(file, oldCommit, newCommit)) })
	f.Fuzz(func(t *testing.T, before, after string) {
		assert.Equal(t, OnlyCommitChanged([]byte(before), []byte(after)), OnlyCommitChanged([]byte(after), []byte(before)))
		bases, problems := readBases([]byte(before))
		assert.Equal(t, problems == 0 && len(bases) > 0, OnlyCommitChanged([]byte(before), []byte(before)))
	})
}

// Whatever a file and a BaseRepo hold: it is appended and reads as it is meant, with all that was there, or a person is
// asked.
func FuzzAppendBaseRepo(f *testing.F) {
	addBaseRepos(f, func(file string) {
		f.Add(strings.ReplaceAll(file, "main", "global"), "https://github.com/acme/a", "main")
	})
	for _, text := range hostileTexts {
		f.Add("# none", text, text)
	}
	f.Fuzz(func(t *testing.T, file, repo, branch string) {
		if !utf8.ValidString(repo+branch) || strings.TrimSpace(repo) != repo || strings.TrimSpace(branch) != branch {
			t.Skip() // the model gives no such text
		}
		spec := Spec{Repo: repo, Branch: branch, Commit: oldCommit}
		changed, err := Append([]byte(file), spec)
		if err != nil {
			requireEditError(t, err, "")
			return
		}
		require.True(t, bytes.HasPrefix(changed, []byte(file)))
		is, problems := readBases(changed)
		require.Zero(t, problems)
		base := is[len(is)-1]
		require.Equal(t, []string{repo, branch, oldCommit}, []string{base.Repo.Value, base.Branch.Value, base.Commit.Value})
	})
}
