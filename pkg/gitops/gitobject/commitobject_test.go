package gitobject

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

func testCommit() NewCommit {
	return NewCommit{
		Tree:      emptyTree,
		Author:    Identity{"Kalypso", "kalypso@example.com"},
		Committer: Identity{"kalypso[bot]", "1+kalypso[bot]@users.noreply.github.com"},
		When:      time.Unix(1_700_000_000, 999),
		Message:   "Publish\n\nKalypso-Commit: x\n",
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
		func() { c.Message = "no line break" },
		func() { c.Message = "umlauts äöü and more\n\n\n" },
		func() { c.When = time.Unix(1_700_000_001, 0).In(time.FixedZone("", 3600)) },
		func() { c.Author = Identity{"Ann \"Nan\" O'Neil", "ann@example.com"} },
	} {
		change()
		object, err := c.Object()
		require.NoError(t, err)
		data := object.Content.Append(nil)
		assert.Equal(t, gitCommitTree(t, dir, c), object.ID.String(), "%s", data)
		assert.Equal(t, object.ID.String(), gitIn(t, dir, bytes.NewBuffer(data), "hash-object", "-t", "commit", "--stdin", "-w"))
		parsed, err := ParseCommit(data)
		require.NoError(t, err)
		assert.Equal(t, CommitObject{
			Tree: c.Tree, Parents: c.Parents, When: c.When.UTC().Truncate(time.Second), Author: c.Author.Name,
			Message: strings.TrimSuffix(c.Message, "\n") + "\n",
		}, parsed)
		c.Parents = append(c.Parents, object.ID)
	}
	gitopstest.RunGit(t, dir, "update-ref", "refs/heads/main", c.Parents[len(c.Parents)-1].String())
	gitopstest.RunGit(t, dir, "fsck", "--strict", "--full")
}

// gitCommitTree has git make a commit.
func gitCommitTree(t *testing.T, dir string, c NewCommit) string {
	t.Helper()
	message := c.Message
	if !strings.HasSuffix(message, "\n") {
		message += "\n"
	}
	args := []string{"commit-tree", c.Tree.String(), "-F", "-"}
	for _, parent := range c.Parents {
		args = append(args, "-p", parent.String())
	}
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(message)
	when := c.When.UTC().Format(time.RFC3339)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "TZ=UTC",
		"GIT_AUTHOR_NAME="+c.Author.Name, "GIT_AUTHOR_EMAIL="+c.Author.Email, "GIT_AUTHOR_DATE="+when,
		"GIT_COMMITTER_NAME="+c.Committer.Name, "GIT_COMMITTER_EMAIL="+c.Committer.Email, "GIT_COMMITTER_DATE="+when)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

func TestCommitRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*NewCommit){
		`the author of the commit: "<>" cannot be a name or an email address in a commit`: func(c *NewCommit) { c.Author.Name = "<>" },
		`the author of the commit: "" cannot be a name or an email address`:               func(c *NewCommit) { c.Author.Email = "" },
		`the committer: "" cannot be a name or an email address`:                          func(c *NewCommit) { c.Committer.Name = "" },
		`the committer: "\n" cannot be a name or an email address`:                        func(c *NewCommit) { c.Committer.Email = "\n" },
		"the message of the commit has a NUL byte, which git does not al":                 func(c *NewCommit) { c.Message = "a\x00b" },
	} {
		c := testCommit()
		change(&c)
		_, err := c.Object()
		assert.ErrorContains(t, err, want)
	}
}

// FuzzCommit has whatever names and messages: they never reach into the headers.
func FuzzCommit(f *testing.F) {
	f.Add("Ann", "ann@example.com", "Publish")
	f.Add("Ann\ntree 0", "a>\nparent 1", "\ngpgsig x")
	f.Add("\xff", "\"'.", "\xfe\n\n")
	f.Fuzz(func(t *testing.T, name, email, message string) {
		c := NewCommit{
			Tree: emptyTree, Parents: []plumbing.Hash{blobID("p")}, Author: Identity{name, email}, Committer: Identity{"Bot", "bot@example.com"},
			When: time.Unix(1_700_000_000, 0), Message: message,
		}
		object, err := c.Object()
		if err != nil {
			return
		}
		head, _, _ := strings.Cut(string(object.Content.Append(nil)), "\n\n")
		lines := strings.Split(head, "\n")
		require.Len(t, lines, 4, head)
		require.Equal(t, "committer Bot <bot@example.com> 1700000000 +0000", lines[3])
		require.Regexp(t, `^author [^<>]+ <[^<>]+> 1700000000 \+0000$`, lines[2])
		parsed, err := ParseCommit(object.Content.Append(nil))
		require.NoError(t, err)
		parsed.Author, parsed.Message = "", ""
		require.Equal(t, CommitObject{Tree: c.Tree, Parents: c.Parents, When: c.When.UTC()}, parsed)
	})
}
