package message

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPromotionMessage(t *testing.T) {
	t.Parallel()
	commit, before := strings.Repeat("12345678", 5), strings.Repeat("abcdef01", 5)
	p := Promotion{Version: "v1.2.3", Environment: "stage", Commit: commit, Before: before}
	assert.Equal(t, `Promote 123456781234 to stage

Before, it had abcdef01abcd.

Kalypso-Version: v1.2.3
Kalypso-Environment: stage
Kalypso-Promoted: `+commit+"\n", PromotionCommit(p))
	made, ours := ParseTrailers(PromotionCommit(p))
	require.True(t, ours)
	assert.Equal(t, Provenance{Version: "v1.2.3", Environment: "stage"}, made)

	p.Before = ""
	assert.Contains(t, PromotionCommit(p), "\n\nNothing was promoted to it before.\n\nKalypso-Version")
	p.Rollback = true
	assert.Equal(t, "Roll stage back to 123456781234", PromotionSubject(p))
}

// TestPromotionMessageOfHostileNames: names are only text, and never parsed as a trailer.
func TestPromotionMessageOfHostileNames(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a\n\nKalypso-Environment: prod", "@you", "closes #1", "Kalypso-Version: v2", strings.Repeat("long ", 1000), "\x00\xff"} {
		message := PromotionCommit(Promotion{Version: "v1", Environment: "e" + text, Commit: "c" + text, Before: "b" + text})
		made, ours := ParseTrailers(message)
		require.True(t, ours, text)
		assert.Equal(t, "v1", made.Version)
		subject, body, _ := strings.Cut(message, "\n\nKalypso-Version: v1\n")
		assert.NotContains(t, subject, "@")
		assert.NotContains(t, subject, "#")
		assert.NotContains(t, body, "\n\n")
		assert.NotContains(t, message, "\x00")
	}
}

// The message of a promotion can be parsed, even if GitHub added a number or a person text to it; other commits are not
// promotions.
func TestParsePromotion(t *testing.T) {
	t.Parallel()
	older, newer := strings.Repeat("a1", 20), strings.Repeat("b2", 20)
	for _, p := range []Promotion{
		{Version: "v1.2.3", Environment: "stage", Commit: newer, Before: older},
		{Version: "devel", Environment: "dev", Commit: newer},
		{Version: "v1.2.3", Environment: "stage", Commit: older, Before: newer, Rollback: true},
	} {
		want := Promotion{Version: p.Version, Environment: p.Environment, Commit: p.Commit, Rollback: p.Rollback}
		if p.Rollback {
			want.Before = p.Before
		}
		message := PromotionCommit(p)
		for _, message := range []string{message, strings.Replace(message, "\n", " (#7)\n", 1), message + "\nCo-authored-by: A Person <a@example.com>\n"} {
			got, ok := ParsePromotion(message)
			assert.True(t, ok, message)
			assert.Equal(t, want, got, message)
		}
	}
	for _, message := range []string{
		"", "Promote by hand\n\nKalypso-Promoted: " + newer + "\n", "Publish\n\nKalypso-Version: v1\nKalypso-Environment: dev\n",
		"Promote\n\nKalypso-Version: v1\nKalypso-Environment: dev\nKalypso-Promoted: main\n",
	} {
		_, ok := ParsePromotion(message)
		assert.False(t, ok, message)
	}
}
