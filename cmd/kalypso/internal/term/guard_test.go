package term

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runnerCommand reports whether the runner would take a line for a command, if it knew one of every name:
// what ActionCommand.TryParseV2 and TryParse of actions/runner do.
func runnerCommand(line string) bool {
	trimmed := strings.TrimLeftFunc(line, unicode.IsSpace)
	if rest, found := strings.CutPrefix(trimmed, "::"); found && strings.Contains(rest, "::") {
		return true
	}
	_, rest, found := strings.Cut(line, "##[")
	return found && strings.Contains(rest, "]")
}

// runnerLines splits text as the runner reads it.
func runnerLines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
}

func TestRunnerCommandIsRecognised(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"::error::x", " \t::add-mask::x", "\u00a0::debug::x", "\u3000::stop-commands::x", "a ##[error]x", "+  a: '##[add-mask]x'"} {
		assert.True(t, runnerCommand(line), "%q", line)
	}
	for _, line := range []string{"a ::error::x", "+::error::x", "##error", ":error::x"} {
		assert.False(t, runnerCommand(line), "%q", line)
	}
}

func TestS13LinesGiveTheRunnerNoOrders(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"plain":                {"14 targets\n+ a/b\n", "14 targets\n+ a/b\n"},
		"command":              {"::error::x\n", ":\\:error::x\n"},
		"after blanks":         {" \t ::add-mask::x", " \t :\\:add-mask::x"},
		"after a Unicode one":  {"\u00a0\u3000::error::x", "\u00a0\u3000:\\:error::x"},
		"after a mark":         {"\ufeff::error::x", "\ufeff:\\:error::x"},
		"in a second line":     {"a\n  ::error::x", "a\n  :\\:error::x"},
		"after a return":       {"a\r::error::x", "a\r:\\:error::x"},
		"in the middle":        {"a ::error::x", "a ::error::x"},
		"a sign before":        {"+::error::x", "+::error::x"},
		"more colons":          {":::error::x", ":\\::error::x"},
		"old command":          {"##[error]x", "##\\[error]x"},
		"old one in a line":    {"+  a: ##[stop-commands]x", "+  a: ##\\[stop-commands]x"},
		"old one, many hashes": {"####[error]x", "####\\[error]x"},
		"other brackets":       {"a[0] #[x] # #[y]", "a[0] #[x] # #[y]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var whole, bytewise bytes.Buffer
			n, err := NewGuard(&whole).Write([]byte(test.text))
			require.NoError(t, err)
			assert.Equal(t, len(test.text), n)
			assert.Equal(t, test.want, whole.String())
			guard := NewGuard(&bytewise)
			for i := range len(test.text) {
				_, err := guard.Write([]byte{test.text[i]})
				require.NoError(t, err)
			}
			assert.Equal(t, test.want, bytewise.String(), "however it is cut")
			assert.Equal(t, test.want != test.text, HoldsCommand([]byte(test.text)))
		})
	}
}

func TestGuardPassesLargeText(t *testing.T) {
	t.Parallel()
	for size := 32<<10 - 3; size <= 32<<10+3; size++ {
		text := strings.Repeat("x", size-1) + "\n::error::x\n" + strings.Repeat("y", 70<<10) + "##[error]"
		var out bytes.Buffer
		n, err := NewGuard(&out).Write([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), n)
		want := strings.Replace(strings.Replace(text, "##[", `##\[`, 1), "::error", `:\:error`, 1)
		assert.True(t, out.String() == want, "wherever the pieces end") //nolint:testifylint // a difference would print all of it
	}
}

func FuzzS13LinesGiveTheRunnerNoOrders(f *testing.F) {
	f.Add("a\n::error::x\r##[error]y", 3)
	f.Add("\u00a0:", 2)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		var out bytes.Buffer
		guard := NewGuard(&out)
		cut = min(max(cut, 0), len(text))
		_, _ = guard.Write([]byte(text[:cut]))
		_, _ = guard.Write([]byte(text[cut:]))
		for _, line := range runnerLines(out.String()) {
			if runnerCommand(line) {
				t.Errorf("%q is a command", line)
			}
		}
		if strings.ReplaceAll(out.String(), `\`, "") != strings.ReplaceAll(text, `\`, "") {
			t.Errorf("%q became %q", text, out.String())
		}
	})
}

func TestGuardPassesOwnCommands(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	guard := NewGuard(&out)
	_, err := guard.Write([]byte("half a line"))
	require.NoError(t, err)
	guard.Command("::error::ours")
	guard.Command("::notice::too")
	_, err = guard.Write([]byte("::error::theirs\n"))
	require.NoError(t, err)
	assert.Equal(t, "half a line\n::error::ours\n::notice::too\n:\\:error::theirs\n", out.String())
}

func TestGuardReportsWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	n, err := NewGuard(brokenWriter{}).Write([]byte("x"))
	require.ErrorIs(t, err, assert.AnError)
	assert.Zero(t, n)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, assert.AnError }
