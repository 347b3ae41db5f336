package fleet_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "",
		" \n\t":                  "",
		"\n no space left \nbye": "no space left",
		strings.Repeat("é", 300): strings.Repeat("é", 300),
		strings.Repeat("é", 301): strings.Repeat("é", 299) + "…",
	} {
		assert.Equal(t, want, statustext.Line(text), text)
	}
	for _, text := range []string{"\x1b[2J", "a\rb", "\u202eb", "\xff", strings.Repeat("\U0010ffff", 1000)} {
		line := statustext.Line(text)
		assert.NotContains(t, line, "\x1b")
		assert.NotContains(t, line, "\r")
		assert.NotContains(t, line, "\u202e")
		assert.LessOrEqual(t, len(line), 4096)
	}
}

func TestCommitID(t *testing.T) {
	t.Parallel()
	const commit = "8d1f2c3b4a5968778695a4b3c2d1e0f123456789"
	for _, text := range []string{commit, strings.ToUpper(commit)} {
		id, err := statustext.CommitID(text)
		require.NoError(t, err)
		assert.Equal(t, commit, id)
	}
	id, err := statustext.CommitID("")
	require.NoError(t, err)
	assert.Empty(t, id)
	for _, text := range []string{"8d1f2c3", commit + "0", " " + commit, commit + "\n", "main@sha1:" + commit} {
		_, err := statustext.CommitID(text)
		require.ErrorContains(t, err, "is not 40 hex digits", text)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestCommit(t *testing.T) {
	t.Parallel()
	const commit = "8d1f2c3b4a5968778695a4b3c2d1e0f123456789"
	sha256 := strings.Repeat("a1", 32)
	for revision, want := range map[string]string{
		"main@sha1:" + commit:                  commit,
		"main@sha1:" + strings.ToUpper(commit): commit,
		"feature/x@sha1:" + commit:             commit,
		"a@b@sha1:" + commit:                   commit,
		"a\nb@sha1:" + commit:                  commit,
		"refs/heads/main@sha1:" + commit:       commit,
		"main@sha256:" + sha256:                sha256,
		"sha1:" + commit:                       commit,
		"main/" + commit:                       commit,
		"feature/x/" + commit:                  commit,
		commit:                                 commit,
		"":                                     "",
		"main":                                 "",
		"main" + commit:                        "",
		"main@sha1:":                           "",
		"main@sha1:" + commit[:7]:              "",
		"main@sha1:" + commit[1:]:              "",
		"main@sha1:" + commit + "11":           "",
		"main@sha1:" + commit + "\n":           "",
		"main@md5:" + commit:                   "",
		"6.5.4@sha256:" + sha256[1:] + "x":     "",
		"sha1:sha1:" + commit:                  "",
	} {
		assert.Equal(t, want, statustext.Commit(revision), "%q", revision)
	}
}

func TestFolderBelow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		directory, root, first string
		below                  bool
	}{
		{"edge", ".", "edge", true},
		{"/edge/apps", "", "edge", true},
		{"./clusters/edge/apps", "clusters/", "edge", true},
		{"clusters", "./clusters", "", true},
		{"", ".", "", true},
		{"clusters-old/edge", "clusters", "", false},
		{".", "clusters", "", false},
		{"clusters/../../other", "clusters", "", false},
		{"../../edge", ".", "edge", true},
	} {
		first, below := statustext.DirectoryBelow(test.directory, test.root)
		assert.Equal(t, test.first, first, "%+v", test)
		assert.Equal(t, test.below, below, "%+v", test)
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "no such file", statustext.Reason(fmt.Errorf("start ./a: %w", errors.New("no such file"))))
}
