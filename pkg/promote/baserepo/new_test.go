package baserepo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

func TestNewBaseRepo(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata:
  name: main
spec:
  repo: https://github.com/acme/control-plane
  branch: main
  path: .
  commit: 281a9cbe37c87c4fa8f31cc1b1795028b3845bb2
`, string(New(aBaseSpec())))
}

// hostileTexts are read as something else, or not at all, if they are written as they are.
var hostileTexts = []string{
	"yes", "No", "ON", "y", "null", "~", "true", "0", "017", "0x1f", "1e5", "1_000", "1.5", "2024-01-01", ".inf", ".nan", "-1", "+1", "=", "<<", "12:30:45",
	"a: b", "a:", "a #b", "#a", "- a", "-", "?", "? a", "*a", "&a", "!a", "|", ">", "'a'", `"a"`, `a"b`, `a\b`, "%a", "@a", "`a`", "{a}", "[a]", "a,b", "---", "...",
	"a\nb", "a\tb", "\x01", "\x7f", "grün", "a\u0085b", "a\u2028b", "\ufeffa", "𝄞", "a b", "feature/x{y}", "refs/heads/main:", "git@github.com:acme/cp.git", "../up", ".",
	"./apps", ".environments", "C:/cp", "v1.2", "release-1.2", "a~1", "a%20b", "a=b", "a?b=c&d", "ssh://git@host:22/a/b", "https://host/a?b#c", strings.Repeat("long ", 100) + "x",
}

func TestNewBaseRepoQuotes(t *testing.T) {
	t.Parallel()
	for _, text := range hostileTexts {
		file := New(Spec{Repo: text, Branch: text, Commit: oldCommit})
		bases, problems := readBases(file)
		require.Zero(t, problems, "%q: %s", text, file)
		base := bases[0]
		want := strings.TrimSpace(text)
		assert.Equal(t, []string{want, want}, []string{base.Repo.Value, base.Branch.Value})
	}
}

func TestNewBaseRepoQuotesNothingElse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"main", ".", "./apps", "release-1.2", "feature/a_b", "git@github.com:acme/cp.git", "https://user@host:8443/a/~b/c%20d.git"} {
		assert.Contains(t, string(New(Spec{Repo: text, Branch: "main", Commit: oldCommit})), "\n  repo: "+text+"\n")
	}
}

func TestAppendBaseRepo(t *testing.T) {
	t.Parallel()
	added := string(New(aBaseSpec()))
	returns := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	const other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	global := strings.Replace(added, "name: main", "name: global", 1)
	for name, test := range map[string]struct{ file, want string }{
		"one document":         {other, other + "---\n" + added},
		"another BaseRepo":     {global, global + "---\n" + added},
		"no line break at end": {strings.TrimSuffix(other, "\n"), other + "---\n" + added},
		"carriage returns":     {returns(other), returns(other + "---\n" + added)},
		"returns without end":  {strings.TrimSuffix(returns(other), "\r\n"), returns(other + "---\n" + added)},
		"byte order mark":      {byteOrderMark + other, byteOrderMark + other + "---\n" + added},
		"nothing":              {"", added},
		"nothing but a mark":   {byteOrderMark, byteOrderMark + added},
		"blank lines":          {"\n\n", "\n\n" + added},
		"comments":             {"# none\n", "# none\n---\n" + added},
		"separator":            {"---\n", "---\n" + added},
		"separator last":       {other + "---\n", other + "---\n" + added},
		"open separator":       {other + "---", other + "---\n" + added},
		"separator with note":  {other + "--- # base\n", other + "--- # base\n" + added},
		"dots last":            {other + "...\n", other + "...\n---\n" + added},
		"comment last":         {other + "# end", other + "# end\n---\n" + added},
		"block scalar last":    {other + "data:\n  a: |+\n    b\n\n", other + "data:\n  a: |+\n    b\n\n---\n" + added},
		"playbook":             {"- a\n- b\n", "- a\n- b\n---\n" + added},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Append([]byte(test.file), aBaseSpec())
			require.NoError(t, err)
			assert.Equal(t, test.want, string(got))
			base := theBase(t, string(got))
			assert.False(t, base.Broken)
			assert.Equal(t, oldCommit, base.Commit.Value)
			_, err = Append(got, aBaseSpec())
			requireEditError(t, err, `already has a BaseRepo "main"`)
		})
	}
}

func TestAppendBaseRepoRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file string
		spec Spec
		want string
	}{
		"invalid YAML":              {"{", aBaseSpec(), "the file has errors"},
		"unknown field":             {"apiVersion: " + model.APIVersion + "\nkind: GitOpsRepo\nmetadata: {name: x}\nspec: {repos: x}\n", aBaseSpec(), "the file has errors"},
		"value that would change":   {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    b", aBaseSpec(), "other contents of the file would change"},
		"a tag directive somewhere": {"%TAG ! x\n---\na: b\n", aBaseSpec(), "the file has errors"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Append([]byte(test.file), test.spec)
			assert.Nil(t, got)
			requireEditError(t, err, test.want)
		})
	}
}
