package fleetstatus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

func TestLookMarkdown(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `**1 of 4 clusters deployed\, 1 progressing\, 1 behind\, 1 failed**

| cluster | type | state | commit | message |
| --- | --- | --- | --- | --- |
| <code>paris\-2</code> | <code>large</code> | failed | <code>111111111111</code> | Deployment shop\/cart\: not ready |
| <code>oslo</code> | <code>drone</code> | behind | <code>222222222222</code> | |
| <code>rome</code> | <code>large</code> | progressing | <code>111111111111</code> | reconciling |

<details><summary>1 cluster deployed</summary>

| cluster | type | state | commit |
| --- | --- | --- | --- |
| <code>berlin</code> | <code>drone</code> | deployed | <code>111111111111</code> |

</details>

`, snapshotMarkdown(snapshotOf(someClusters()...), session.MaxDetails))
	assert.Equal(t, "**no cluster is registered**\n\n", snapshotMarkdown(promote.Snapshot{}, session.MaxDetails))
}

func TestU9LookMarkdownIsBounded(t *testing.T) {
	t.Parallel()
	clusters := manyClusters(3000)
	for i := range clusters {
		clusters[i].Message = strings.Repeat("@#|", 1000)
	}
	snapshot := snapshotOf(clusters...)
	for _, room := range []int{0, 10, 100, 200, 1000, 5000, 20000, 50000, 100000, session.MaxDetails, 10 << 20} {
		got := snapshotMarkdown(snapshot, room)
		assert.LessOrEqual(t, len(got), room)
		assert.Equal(t, strings.Count(got, "<details>"), strings.Count(got, "</details>"))
		assert.True(t, got == "" || strings.HasSuffix(got, "\n\n"), "what follows is a paragraph of its own")
	}
	all := snapshotMarkdown(snapshot, 100<<20)
	waiting, deployed, _ := strings.Cut(all, "<details><summary>2,835 clusters deployed</summary>")
	assert.Equal(t, 165, strings.Count(waiting, "\n| <code>"))
	assert.Equal(t, maxSummaryDeployed, strings.Count(deployed, "\n| <code>"))
	assert.Contains(t, deployed, "\n\n1,835 more\n\n</details>")

	for i := range clusters {
		clusters[i].State = promote.Behind
	}
	all = snapshotMarkdown(snapshotOf(clusters...), 100<<20)
	assert.Equal(t, maxSummaryRows, strings.Count(all, "\n| <code>"))
	assert.Contains(t, all, "\n\n2,800 more\n\n")
	assert.NotContains(t, all, "<details>")
}

func TestS13LookMarkdownIsInert(t *testing.T) {
	t.Parallel()
	snapshot := snapshotOf(hostileClusters()...)
	snapshot.QueryErrors = strings.Join(hostileTexts(), " ")
	got := snapshotMarkdown(snapshot, 10<<20)
	assertHarmless(t, got)
	assert.NotRegexp(t, `[^\\]<(script|b)\b|[^\\]\[x|[^\\]\x60|\|a|@acme|[^&]#1`, got)
	assert.Equal(t, 1, strings.Count(got, "</details>"))
	assert.Equal(t, len(snapshot.Clusters), strings.Count(got, "\n| <code>"))
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "| ") {
			assert.Equal(t, 7, strings.Count(line, "|"), "a row has its columns and no more: %.200s", line)
		}
	}
}

func TestFleetInTheSummaryOfAStep(t *testing.T) {
	t.Parallel()
	snapshot := snapshotOf(manyClusters(3000)...)
	report := actions.Report{Title: "kalypso check-promote", Outcome: "time is up", Results: []actions.Result{Summary("dev", snapshot)}}
	file := filepath.Join(t.TempDir(), "summary")
	w := actions.NewWorkflow(func(name string) string { return map[string]string{"GITHUB_STEP_SUMMARY": file}[name] }, nil)
	require.NoError(t, w.Say(report))
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(got), "## kalypso check\\-promote\n\ntime is up\n\n### <code>dev</code>\n\n**2\\,835 of 3\\,000 clusters deployed"), string(got[:200]))
	assert.NotContains(t, string(got), "The details are too long")
	require.NoError(t, os.WriteFile(file, make([]byte, 900<<10-1000), 0o600))
	require.NoError(t, w.Say(report))
	got, err = os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(got), "The details are too long")
}
