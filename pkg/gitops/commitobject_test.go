package gitops

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

func testCommit() newCommit {
	return newCommit{
		tree:      emptyTree,
		author:    Identity{"Kalypso", "kalypso@example.com"},
		committer: Identity{"kalypso[bot]", "1+kalypso[bot]@users.noreply.github.com"},
		when:      time.Unix(1_700_000_000, 999),
		message:   "Publish\n\nKalypso-Commit: x\n",
	}
}

// TestCommitIsGits has git make the same commits, and write and check ours.
func TestCommitIsGits(t *testing.T) {
	t.Parallel()
	dir, _ := gitopstest.NewBare(t)
	gitopstest.RunGit(t, dir, "hash-object", "-t", "tree", "-w", os.DevNull)
	c := testCommit()
	for _, change := range []func(){
		func() {},
		func() { c.message = "no line break" },
		func() { c.message = "umlauts äöü and more\n\n\n" },
		func() { c.when = time.Unix(1_700_000_001, 0).In(time.FixedZone("", 3600)) },
		func() { c.author = Identity{" \"Ann <O'\nNeil>\", ", "<ann@example.com>"} },
		func() { c.author = Identity{"Ann", "ann@exa<m>ple.com"} },
	} {
		change()
		object, err := c.object()
		require.NoError(t, err)
		data := object.content.Append(nil)
		assert.Equal(t, gitCommitTree(t, dir, c), object.id.String(), "%s", data)
		assert.Equal(t, object.id.String(), gitIn(t, dir, bytes.NewBuffer(data), "hash-object", "-t", "commit", "--stdin", "-w"))
		parsed, err := parseCommit(data)
		require.NoError(t, err)
		assert.Equal(t, commitObject{
			tree: c.tree, parents: c.parents, when: c.when.UTC().Truncate(time.Second), author: cleanIdentity(c.author.Name),
			message: strings.TrimSuffix(c.message, "\n") + "\n",
		}, parsed)
		c.parents = append(c.parents, object.id)
	}
	gitopstest.RunGit(t, dir, "update-ref", "refs/heads/main", c.parents[len(c.parents)-1].String())
	gitopstest.RunGit(t, dir, "fsck", "--strict", "--full")
}

// gitCommitTree has git make a commit.
func gitCommitTree(t *testing.T, dir string, c newCommit) string {
	t.Helper()
	message := c.message
	if !strings.HasSuffix(message, "\n") {
		message += "\n"
	}
	args := []string{"commit-tree", c.tree.String(), "-F", "-"}
	for _, parent := range c.parents {
		args = append(args, "-p", parent.String())
	}
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(message)
	when := c.when.UTC().Format(time.RFC3339)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "TZ=UTC",
		"GIT_AUTHOR_NAME="+c.author.Name, "GIT_AUTHOR_EMAIL="+c.author.Email, "GIT_AUTHOR_DATE="+when,
		"GIT_COMMITTER_NAME="+c.committer.Name, "GIT_COMMITTER_EMAIL="+c.committer.Email, "GIT_COMMITTER_DATE="+when)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

func TestCommitRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*newCommit){
		`the author of the commit: nothing is left of the name "<>"`:      func(c *newCommit) { c.author.Name = "<>" },
		`the author of the commit: nothing is left of the email address`:  func(c *newCommit) { c.author.Email = "" },
		`the committer: nothing is left of the name ""`:                   func(c *newCommit) { c.committer.Name = "" },
		`the committer: nothing is left of the email address "\n"`:        func(c *newCommit) { c.committer.Email = "\n" },
		"the author of the commit: the date 1969-12-31 is before 1970":    func(c *newCommit) { c.when = time.Unix(-1, 0) },
		"the author of the commit: the date 0001-01-01 is before 1970":    func(c *newCommit) { c.when = time.Time{} },
		"the message of the commit has a NUL byte, which git does not al": func(c *newCommit) { c.message = "a\x00b" },
	} {
		c := testCommit()
		change(&c)
		_, err := c.object()
		assert.ErrorContains(t, err, want)
	}
}

// FuzzCommit has whatever names and messages: they never reach into the headers.
func FuzzCommit(f *testing.F) {
	f.Add("Ann", "ann@example.com", "Publish")
	f.Add("Ann\ntree 0", "a>\nparent 1", "\ngpgsig x")
	f.Add("\xff", "\"'.", "\xfe\n\n")
	f.Fuzz(func(t *testing.T, name, email, message string) {
		c := newCommit{
			tree: emptyTree, parents: []plumbing.Hash{blobID("p")}, author: Identity{name, email}, committer: Identity{"Bot", "bot@example.com"},
			when: time.Unix(1_700_000_000, 0), message: message,
		}
		object, err := c.object()
		if err != nil {
			return
		}
		head, _, _ := strings.Cut(string(object.content.Append(nil)), "\n\n")
		lines := strings.Split(head, "\n")
		require.Len(t, lines, 4, head)
		require.Equal(t, "committer Bot <bot@example.com> 1700000000 +0000", lines[3])
		require.Regexp(t, `^author [^<>]+ <[^<>]+> 1700000000 \+0000$`, lines[2])
		parsed, err := parseCommit(object.content.Append(nil))
		require.NoError(t, err)
		parsed.author, parsed.message = "", ""
		require.Equal(t, commitObject{tree: c.tree, parents: c.parents, when: c.when.UTC()}, parsed)
	})
}
