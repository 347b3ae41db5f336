package githubtest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryOperationIsServed: what was kept of the description is what there are endpoints for.
func TestEveryOperationIsServed(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("openapi/operations.txt")
	require.NoError(t, err)
	var served []string
	table, err := routes()
	require.NoError(t, err)
	for _, r := range table {
		served = append(served, r.method+" "+r.path)
	}
	assert.ElementsMatch(t, strings.Split(strings.TrimSpace(string(list)), "\n"), served)
}

// TestOwnAnswersAreChecked: a bug of the stand-in is no answer that tests can come to rely on.
func TestOwnAnswersAreChecked(t *testing.T) {
	t.Parallel()
	described, err := loadOperations()
	require.NoError(t, err)
	operation := described["GET "+onPull]
	for about, test := range map[string]struct {
		answer answer
		want   string
	}{
		"as described":  {answer: answer{status: 200, body: object{"number": 1, "head": object{"ref": "x"}}}},
		"unknown field": {answer{status: 200, body: object{"numbr": 1}}, `additional properties 'numbr' not allowed`},
		"deep down":     {answer{status: 200, body: object{"head": object{"branch": "x"}}}, `additional properties 'branch' not allowed`},
		"wrong type":    {answer{status: 200, body: object{"number": "1"}}, "got string, want"},
		"other status":  {answer{status: 202, body: object{}}, "answered with 202, which is not described"},
		"no":            {answer: answer{status: 404, body: object{"any": "thing"}}},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			err := operation.checkAnswer(test.answer)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}
