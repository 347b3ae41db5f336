package baserepo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const verified = `# of dev
apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata:
  name: main
  labels: {count: "17"}
spec:
  repo: https://github.com/acme/control-plane # where
  branch: main
  commit: ` + oldCommit + ` # what
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata: {name: global}
spec: {repo: https://github.com/acme/global, branch: main, commit: ` + oldCommit + `}
`

// The check sees every wrong edit, whatever made it.
func TestVerifyCommitRefusesWrongEdits(t *testing.T) {
	t.Parallel()
	right := strings.Replace(verified, oldCommit, newCommit, 1)
	replace := func(old, text string) string {
		require.Contains(t, right, old)
		return strings.Replace(right, old, text, 1)
	}
	first, _, _ := strings.Cut(right, "---")
	const branch, commit = "  branch: main\n", "  commit: " + newCommit + " # what\n"
	for name, test := range map[string]struct{ after, want string }{
		"nothing changed":          {verified, "the commit would not be read as it is written"},
		"another commit":           {replace(newCommit, newCommit[1:]+"0"), "the commit would not be read"},
		"commit commented out":     {replace("  commit:", "  # commit:"), "the commit would not be read"},
		"the other BaseRepo":       {strings.Replace(right, oldCommit, newCommit, 1), `the commit of BaseRepo "global" would change`},
		"other document reworded":  {replace("acme/global", "acme/globe"), "other documents of the file would change"},
		"blank in another":         {replace("metadata: {name: global}", "metadata:  {name: global}"), "other documents of the file would change"},
		"separator with a comment": {replace("\n---\n", "\n--- # next\n"), "other documents of the file would change"},
		"byte order mark":          {byteOrderMark + right, "other documents of the file would change"},
		"document added":           {right + "---\nkind: x\napiVersion: y\n", "other documents of the file would change"},
		"document lost":            {first, "the file could not be read any more"},
		"separator lost":           {replace("\n---\n", "\n"), "the file could not be read any more"},
		"invalid YAML":             {replace("metadata:\n", "metadata: {\n"), "the file could not be read any more"},
		"everything lost":          {"", "the file could not be read any more"},
		"document moved":           {replace("# of dev\n", "# of dev\n\n"), "the file could not be read any more"},
		"unknown field":            {replace("  branch: main\n", "  branch: main\n  branche: main\n"), "the file could not be read any more"},
		"field changed":            {replace("  branch: main\n", "  branch: mane\n"), "more than the commit would change"},
		"field added":              {replace("  branch: main\n", "  branch: main\n  path: .\n"), "would change their order"},
		"field moved":              {replace(branch+commit, commit+branch), "would change their order"},
		"label changed":            {replace(`"17"`, `"18"`), "more than the commit would change"},
		"label added":              {replace(`{count: "17"}`, `{count: "17", more: less}`), "more than the commit would change"},
		"anchor added":             {replace("  name: main", "  name: &name main"), "more than the commit would change"},
		"comment lost":             {replace(" # where", ""), "comments would get lost"},
		"comment of the commit":    {replace(" # what", ""), "comments would get lost"},
		"comment changed":          {replace("# of dev", "# of DEV"), "comments would get lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := theBase(t, verified).At
			require.NoError(t, verifyCommit([]byte(verified), []byte(right), at, newCommit))
			assert.ErrorContains(t, verifyCommit([]byte(verified), []byte(test.after), at, newCommit), test.want)
		})
	}
}

// A BaseRepo that holds what only the rest of its document tells from another.
func TestVerifyCommitSeesQuotesAndDocuments(t *testing.T) {
	t.Parallel()
	const start = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: main}\nspec: {repo: r, branch: b, commit: "
	for name, test := range map[string]struct{ before, after string }{
		"quotes":            {oldCommit + "}\nstatus: '5'\n", newCommit + "}\nstatus: 5\n"},
		"tag":               {oldCommit + "}\nstatus: 5\n", newCommit + "}\nstatus: !!str 5\n"},
		"alias":             {oldCommit + "}\nstatus: [&a x, &b x, *a]\n", newCommit + "}\nstatus: [&a x, &b x, *b]\n"},
		"document by dots":  {oldCommit + "}\n...\n", newCommit + "}\n...\nx: y\n"},
		"value of a list":   {oldCommit + "}\nstatus: [1, 2]\n", newCommit + "}\nstatus: [1]\n"},
		"commit of another": {oldCommit + "}\nstatus: {commit: a}\n", newCommit + "}\nstatus: {commit: b}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := theBase(t, start+test.before).At
			right := start + newCommit + strings.TrimPrefix(test.before, oldCommit)
			require.NoError(t, verifyCommit([]byte(start+test.before), []byte(right), at, newCommit))
			assert.Error(t, verifyCommit([]byte(start+test.before), []byte(start+test.after), at, newCommit))
		})
	}
}
