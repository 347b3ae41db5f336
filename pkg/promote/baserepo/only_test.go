package baserepo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnlyCommitChanged(t *testing.T) {
	t.Parallel()
	file := string(New(aBaseSpec()))
	replace := func(old, text string) string {
		require.Contains(t, file, old)
		return strings.Replace(file, old, text, 1)
	}
	const commitLine, other = "  commit: " + oldCommit + "\n", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {commit: x, spec: 'y'}\n"
	const shared = "status: {x: *c}\n"
	for name, test := range map[string]struct {
		before, after string
		want          bool
	}{
		"changed":                      {file, replace(oldCommit, newCommit), true},
		"removed":                      {file, replace(commitLine, ""), true},
		"set to null":                  {file, replace(oldCommit, "null"), true},
		"same":                         {file, file, true},
		"in quotes":                    {file, replace(oldCommit, "'"+newCommit+"'"), true},
		"moved":                        {file, replace(commitLine, "") + "# end\n", false},
		"in both of two":               {file + "---\n" + strings.Replace(file, "main", "global", 1), replace(oldCommit, newCommit) + "---\n" + strings.Replace(strings.Replace(file, "main", "global", 1), oldCommit, newCommit, 1), true},
		"with comments":                {"# a\n" + file, replace(oldCommit, newCommit+" # b"), false},
		"with blank lines and returns": {file, strings.ReplaceAll(replace("spec:\n", "\nspec:\n\n"), "\n", "\r\n"), false},
		"with a mark and a separator":  {file, byteOrderMark + "---\n" + file + "---\n", false},
		"map in braces":                {file, replace("metadata:\n  name: main\n", "metadata: {name: main}\n"), false},
		"beside another document":      {file + other, replace(oldCommit, newCommit) + other, true},
		"repo":                         {file, replace("acme", "acne"), false},
		"path removed":                 {file, replace("  path: .\n", ""), false},
		"name":                         {file, replace("name: main", "name: other"), false},
		"key order":                    {file, replace("kind: BaseRepo\n", "") + "kind: BaseRepo\n", false},
		"quotes":                       {file, replace("branch: main", "branch: 'main'"), false},
		"label added":                  {file, replace("  name: main\n", "  name: main\n  labels: {a: b}\n"), false},
		"document added":               {file, file + other, false},
		"document removed":             {file + other, file, false},
		"another document":             {file + other, file + strings.Replace(other, "x", "z", 1), false},
		"commit of another kind":       {file + other, file + strings.Replace(other, "commit: x", "commit: z", 1), false},
		"quotes in another":            {file + "---\napiVersion: x\nkind: y\nz: 'on'\n", file + "---\napiVersion: x\nkind: y\nz: on\n", false},
		"new file":                     {"", file, false},
		"removed file":                 {file, "", false},
		"no BaseRepo":                  {other, other, false},
		"nothing":                      {"", "", false},
		"invalid before":               {"{", file, false},
		"invalid after":                {file, "{", false},
		"unknown field before":         {file + "status: {}\nstate: x\n", file, false},
		"no text":                      {file, file + "\x00", false},
		"number":                       {file, replace(oldCommit, "12"), false},
		"used elsewhere": {
			replace(oldCommit, "&c "+oldCommit) + shared, replace(oldCommit, "&c "+newCommit) + shared, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, OnlyCommitChanged([]byte(test.before), []byte(test.after)))
			assert.Equal(t, test.want, OnlyCommitChanged([]byte(test.after), []byte(test.before)))
		})
	}
}

// What SetCommit makes is what is recognised.
func TestOnlyCommitChangedBySetCommit(t *testing.T) {
	t.Parallel()
	for _, archive := range []string{"replace", "add"} {
		for _, layout := range layouts(t, archive) {
			broken := theBase(t, layout.before).Broken
			assert.Equal(t, !broken, OnlyCommitChanged([]byte(layout.before), []byte(layout.after)), layout.name)
		}
	}
}
