package told_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/told"
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
		assert.Equal(t, want, told.Line(text), text)
	}
	for _, text := range []string{"\x1b[2J", "a\rb", "\u202eb", "\xff", strings.Repeat("\U0010ffff", 1000)} {
		line := told.Line(text)
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
		id, err := told.CommitID(text)
		require.NoError(t, err)
		assert.Equal(t, commit, id)
	}
	id, err := told.CommitID("")
	require.NoError(t, err)
	assert.Empty(t, id)
	for _, text := range []string{"8d1f2c3", commit + "0", " " + commit, commit + "\n", "main@sha1:" + commit} {
		_, err := told.CommitID(text)
		require.ErrorContains(t, err, "is not 40 hex digits", text)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "no such file", told.Reason(fmt.Errorf("start ./a: %w", errors.New("no such file"))))
}
