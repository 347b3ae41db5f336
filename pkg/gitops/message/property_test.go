package message

import (
	"fmt"
	"strings"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
)

// skipInRace skips tests with one goroutine, which take ten times as long under the race detector.
func skipInRace(t *testing.T) {
	t.Helper()
	if gitopstest.Race {
		t.Skip("nothing happens at once here")
	}
}

// assertBody checks the invariants of a body of any size.
func assertBody(t *testing.T, r Report, limit int) {
	t.Helper()
	body := PullRequestBody(r, limit)
	assert.LessOrEqual(t, len(body), limit)
	assert.Contains(t, body, r.Change.Plan().String())
	assert.NotContains(t, body, "<!--")
	rendered := htmlOf(t, body)
	assert.Equal(t, strings.Count(rendered, "<details>"), strings.Count(rendered, "</details>"))
	// Text after the last collapsed section is neither in that section nor in a code block.
	assert.True(t, strings.HasSuffix(rendered, "--dry-run\n</code></pre>\n") || limit < 2000, "the end is whole")
	assert.NotContains(t, rendered, "<img")
	assert.NotContains(t, rendered, "evil.example\"")
	if strings.Contains(body, "### Omitted") {
		assert.Contains(t, body, "This text is too long to include ")
	}
}

// TestR14BodyFitsAnyLimit: the description of every publication fits, is complete and has the counts.
func TestR14BodyFitsAnyLimit(t *testing.T) {
	t.Parallel()
	skipInRace(t)
	for name, r := range reports(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, limit := range []int{2000, 2001, 2500, 3000, 5000, 10_000, 20_000, 65_000, 900 << 10} {
				t.Run(fmt.Sprint(limit), func(t *testing.T) { assertBody(t, r, limit) })
			}
			for limit := -7; limit < 2000; limit += share(311, 77) {
				assert.LessOrEqual(t, len(PullRequestBody(r, limit)), max(limit, 0))
			}
		})
	}
}

// TestBodyOfAnyReport checks generated reports.
func TestBodyOfAnyReport(t *testing.T) {
	t.Parallel()
	skipInRace(t)
	property := func(environment, version, why string, names []string, old, now []byte, limit uint16) bool {
		r := Report{Environment: environment, Change: &change.Change{ClusterTypes: 3}, Now: Provenance{Version: version}}
		for i, name := range names {
			action := change.Action(i%3 + 1)
			name = strings.NewReplacer("/", "", "\n", "").Replace(name)
			r.Change.Targets = append(r.Change.Targets, change.TargetChange{ClusterType: name, Target: name, Action: action})
			r.Change.Files = append(r.Change.Files, change.FileChange{Path: name + "/" + name + "/platform-config.yaml", Action: action, Old: old, New: content.New(string(now))})
			r.Quarantined = append(r.Quarantined, QuarantinedRegistration{Name: name, Why: why})
			r.Now.Origins = append(r.Now.Origins, source.Origin{Repo: name, Branch: why, Path: environment, Commit: name})
		}
		assertBody(t, r, 2000+int(limit))
		return !t.Failed()
	}
	require.NoError(t, quick.Check(property, nil))
}

// TestBodyIsTheSame: the same report has the same body.
func TestBodyIsTheSame(t *testing.T) {
	t.Parallel()
	skipInRace(t)
	for name, r := range reports(t) {
		want := PullRequestBody(r, 20_000)
		for range 3 {
			assert.Equal(t, want, PullRequestBody(r, 20_000), name)
		}
	}
}

// TestBodySaysWhatIsLeftOut: the least important sections are left out first.
func TestBodySaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	skipInRace(t)
	r := reportOf(largeChange(100, 100))
	r.Before = before()
	for _, test := range []struct {
		limit       int
		has, leaves []string
	}{
		{3100, []string{"### Why", "### Cluster types", "### Values"}, []string{"10000 targets", "10000 files", "changes of values", "cluster types"}},
		{githubLimit, []string{"<summary>100 cluster types</summary>", "Kalypso-Version", "```diff"}, []string{"8800 targets", "changes of values"}},
		{900 << 10, []string{"Diffs of 10000 files", "Reproduce"}, nil},
	} {
		body, left, _ := strings.Cut(PullRequestBody(r, test.limit), "### Omitted")
		for _, part := range test.has {
			assert.Contains(t, body, part)
		}
		for _, part := range test.leaves {
			assert.Contains(t, left, part)
		}
		assert.Equal(t, test.leaves == nil, left == "")
	}
}

func BenchmarkPullRequestBody(b *testing.B) {
	for _, size := range []int{100, 1000} {
		r := reportOf(largeChange(100, size))
		r.Before = before()
		b.Run(fmt.Sprintf("%d targets", 100*size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				PullRequestBody(r, githubLimit)
			}
		})
	}
}
