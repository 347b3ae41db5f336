package render

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What looks at a long text pays for its length.
func TestS8LookingAtLongTextsIsCounted(t *testing.T) {
	t.Parallel()
	const long = `{{ $x := repeat 100000 "a" }}{{ $y := repeat 100000 "a" }}{{ $m := dict $x 1 }}`
	for _, call := range []string{
		"eq $x $y", "eq 1 1", "ne $x $y", "lt $x $y", "le $x $y", "gt $x $y", "ge $x $y", `eq $x "b" $y`, "index $m $x",
		"hasKey $m $x", "get $m $x", `dig $x "" $m`, "int $x", "float64 $x", "add 1 $x", "atoi $x", "typeIsLike $x 1",
	} {
		_, _, err := mustParse(t, long+"{{ range 10 }}{{ $z := "+call+" }}{{ end }}").Execute(nil, Bounds{Steps: 10_000})
		if call == "eq 1 1" {
			require.NoError(t, err, call)
			continue
		}
		require.Error(t, err, call)
		assert.Equal(t, ruleTooLong, asExecError(err).Rule, call)
	}
}
