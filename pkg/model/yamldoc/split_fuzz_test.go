package yamldoc

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rule of kustomize, said as it says it.
var kustomizeSeparator = regexp.MustCompile(`\n---.*\n`)

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		"", "a: 1\n---\nb: 2\n", "---\n---\n", "a: 1\n--- foo\n", "# c\n---\n # d\n---\n", "a: |+\n\n\n---\n", "a: 1\r---\rb: 2\n", "--- # c\r b\n",
		"\n---\n---\n\n---x\n----\n---",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want, got []string
		rest := text
		for {
			at := kustomizeSeparator.FindStringIndex(rest)
			if at == nil {
				want = append(want, rest)
				break
			}
			want, rest = append(want, rest[:at[0]]+"\n"), rest[at[1]:]
		}
		whole := ""
		for c := range split(text) {
			require.Equal(t, strings.Count(whole, "\n"), c.lineOffset)
			whole += c.text + c.separator
			got = append(got, c.text)

			short := c.withoutHead()
			require.True(t, strings.HasSuffix(c.text, short.text))
			require.Equal(t, strings.Count(strings.TrimSuffix(c.text, short.text), "\n"), short.lineOffset-c.lineOffset)
		}
		require.Equal(t, text, whole, "nothing is lost")
		require.Equal(t, want, got)
	})
}
