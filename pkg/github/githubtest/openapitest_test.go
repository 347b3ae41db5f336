package githubtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest/openapitest"
)

// TestAnswersAreChecked: a bug of the stand-in is no answer that tests can come to rely on.
func TestAnswersAreChecked(t *testing.T) {
	t.Parallel()
	described, err := openapitest.Operations()
	require.NoError(t, err)
	operation := described["GET /repos/{owner}/{repo}/pulls/{pull_number}"]
	for about, test := range map[string]struct {
		status     int
		body, want string
	}{
		"as described":  {status: 200, body: `{"number":1,"head":{"ref":"x"}}`},
		"unknown field": {200, `{"numbr":1}`, `additional properties 'numbr' not allowed`},
		"deep down":     {200, `{"head":{"branch":"x"}}`, `additional properties 'branch' not allowed`},
		"wrong type":    {200, `{"number":"1"}`, "got string, want"},
		"other status":  {202, `{}`, "answered with 202, which is not described"},
		"no":            {status: 404, body: `{"any":"thing"}`},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			err := operation.CheckAnswer(test.status, []byte(test.body))
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}
