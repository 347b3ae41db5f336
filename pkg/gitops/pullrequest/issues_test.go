package pullrequest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
)

func failure() pullrequest.IssueReport {
	return pullrequest.IssueReport{Environment: "dev", Title: "dev cannot be published", Body: "- a\n- b"}
}

func report(t *testing.T, f *forge, r pullrequest.IssueReport) pullrequest.IssueResult {
	t.Helper()
	f.writes = nil
	result, err := pullrequest.ReportIssue(t.Context(), f, r)
	require.NoError(t, err)
	return result
}

func TestReportIssue(t *testing.T) {
	t.Parallel()
	f := newForge()
	assert.Equal(t, pullrequest.Created, report(t, f, failure()).Action)
	assert.Equal(t, []string{"create issue"}, f.writes)
	assert.Equal(t, "kalypso", f.issues[0].label)
	assert.Equal(t, "<!-- kalypso:v1 failures environment=dev -->\n\n- a\n- b", f.issues[0].Body)

	assert.Equal(t, pullrequest.Unchanged, report(t, f, failure()).Action)
	assert.Empty(t, f.writes)

	other := failure()
	other.Body = "- c"
	result := report(t, f, other)
	assert.Equal(t, pullrequest.Updated, result.Action)
	assert.Equal(t, []string{"edit issue 1"}, f.writes)
	assert.Equal(t, f.issues[0].Issue, result.Issue)

	prod := failure()
	prod.Environment = "prod"
	assert.Equal(t, 2, report(t, f, prod).Issue.Number, "another environment has an issue of its own")

	f.writes = nil
	closed, err := pullrequest.SettleIssue(t.Context(), f, "dev", "Published.")
	require.NoError(t, err)
	assert.Len(t, closed, 1)
	assert.Equal(t, []string{"close issue 1"}, f.writes)
	assert.Equal(t, []string{"Published."}, f.comments[-1])

	f.writes = nil
	closed, err = pullrequest.SettleIssue(t.Context(), f, "dev", "Published.")
	require.NoError(t, err)
	assert.Empty(t, closed)
	assert.Empty(t, f.writes)
	assert.Equal(t, 3, report(t, f, failure()).Issue.Number, "one that is closed stays so")
}

func TestReportIssueOfTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	f := newForge()
	f.before = func(n int, _ string) error {
		if n == 1 { // another run is faster
			f.issues = append(f.issues, issue{pullrequest.Issue{
				Number: 1, Title: failure().Title, Body: "<!-- kalypso:v1 failures environment=dev -->\n\nolder",
			}, "kalypso", true})
		}
		return nil
	}
	result := report(t, f, failure())
	assert.Equal(t, []string{"create issue", "edit issue 1", "close issue 2"}, f.writes)
	assert.Equal(t, 1, result.Issue.Number)
	assert.True(t, f.issues[0].open)
	assert.False(t, f.issues[1].open)
}

func TestReportIssueKeepsToTheLimitsOfTheForge(t *testing.T) {
	t.Parallel()
	f := newForge()
	long := failure()
	long.Title, long.Body = strings.Repeat("t", 300), strings.Repeat("- ünwell\n", 10_000)
	report(t, f, long)
	assert.Len(t, []rune(f.issues[0].Title), 256)
	assert.LessOrEqual(t, len([]rune(f.issues[0].Body)), 65_536)
	assert.True(t, strings.HasSuffix(f.issues[0].Body, "- ünwell\n\n_The rest does not fit._"))
	report(t, f, long)
	assert.Empty(t, f.writes)

	long.Environment = "-->"
	_, err := pullrequest.ReportIssue(t.Context(), f, long)
	require.Error(t, err)
}
