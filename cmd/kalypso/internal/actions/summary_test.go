package actions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	var diags diag.List
	diags.Warning("empty-type", diag.Place{}, "nothing is scheduled")
	diags.Error("reserved-label", place("https://github.com/acme/app", "main", "deploy/w.yaml", 7, 27), `label "workspace" is set`,
		diag.Hint("remove it"), diag.See(place(controlPlaneURL, "dev", "r.yaml", 4, 8), "set here"))
	got := stepSummary(Report{
		Title: "kalypso render", Outcome: "1 error", Diags: diags.Sorted(), Results: []Result{publishedDev(), upToDateStage()},
		Commits: Commits{{"https://github.com/acme/app", "main"}: otherCommit},
	}, controlPlaneURL, 1<<20)
	assert.Equal(t, `## kalypso render

1 error

| Severity | Source | Message |
| --- | --- | --- |
| error | [<code>github\.com\/acme\/app@`+"\u200b"+`main\:deploy\/w\.yaml\:7\:27</code>](https://github.com/acme/app/blob/`+otherCommit+`/deploy/w.yaml#L7) | label \"workspace\" is set <code>reserved\-label</code><br>[<code>github\.com\/acme\/control\-plane@`+"\u200b"+`dev\:r\.yaml\:4\:8</code>](https://github.com/acme/control-plane/blob/dev/r.yaml#L4) set here<br>hint: remove it |
| warning |  | nothing is scheduled <code>empty\-type</code> |

### <code>dev</code> in <code>fleet</code>

<code>9 targets on 5 cluster types\, 14 assignments\: \+2 \~1 \-1</code> · [pull request #7](https://github.com/acme/fleet/pull/7) created · branch <code>deployment\/dev</code>

## What changes

- `+"`a`"+`

### <code>stage</code> in <code>fleet</code>

<code>2 targets on 2 cluster types\, 3 assignments\: \+0 \~0 \-0</code> · up to date

`, got)
}

func TestSummaryOfWhatWasNotCompared(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "## kalypso validate\n\n### <code>dev</code>\n\n",
		stepSummary(Report{Title: "kalypso validate", Results: []Result{{Environment: "dev", Uncompared: true}}}, "", 1000))
}

func TestSummaryFits(t *testing.T) {
	t.Parallel()
	var diags diag.List
	for i := range 50 {
		diags.Error("e", place(controlPlaneURL, "dev", "a.yaml", i+1, 1), "problem")
		diags.Warning("w", place(controlPlaneURL, "dev", "a.yaml", i+1, 1), "doubt")
	}
	report := Report{Title: "kalypso render", Outcome: "50 errors", Diags: diags.Sorted()}
	for i := range 20 {
		result := publishedDev()
		result.Environment = fmt.Sprintf("env%d", i)
		result.Details = fmt.Sprintf("<details>\n%s\n</details>\n", strings.Repeat("x", 1000))
		report.Results = append(report.Results, result)
	}
	whole := len(stepSummary(report, controlPlaneURL, 1<<20))
	for budget := 0; budget <= whole+1000; budget += 97 {
		got := stepSummary(report, controlPlaneURL, budget)
		assert.LessOrEqual(t, len(got), budget)
		assert.Equal(t, strings.Count(got, "<details>"), strings.Count(got, "</details>"), "nothing is cut in the middle")
		if got != "" {
			assert.True(t, strings.HasSuffix(got, "\n\n"), "what the next command writes is a paragraph of its own")
		}
	}
	half := stepSummary(report, controlPlaneURL, whole/2)
	assert.Contains(t, half, "50 errors")
	assert.Contains(t, half, "more in the log.")
	assert.Contains(t, half, detailsLeftOut)
	for i := range 20 {
		assert.Contains(t, half, fmt.Sprintf("<code>env%d</code>", i), "the counts are never lost before the details")
	}
	assert.Contains(t, stepSummary(report, controlPlaneURL, 4000), resultsLeftOut)
}

func TestSummaryCountsWhatIsThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "summary")
	earlier := strings.Repeat("x\n", (maxSummaryBytes-500)/2)
	require.NoError(t, os.WriteFile(path, []byte(earlier), 0o600))
	report := Report{Title: "kalypso render", Results: []Result{publishedDev()}}
	report.Results[0].Details = strings.Repeat("y", 1000)
	for range 5 {
		require.NoError(t, writeSummary(path, report, controlPlaneURL))
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Greater(t, info.Size(), int64(len(earlier)))
	assert.LessOrEqual(t, info.Size(), int64(maxSummaryBytes))
}

func TestPermalinks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		at           diag.Place
		commit, here string
		want         string
	}{
		"commit":           {place("https://github.com/acme/app", "main", "a.yaml", 14, 9), otherCommit, controlPlaneURL, "https://github.com/acme/app/blob/" + otherCommit + "/a.yaml#L14"},
		"branch":           {place("https://github.com/acme/app", "feature/x", "a.yaml", 0, 0), "", controlPlaneURL, "https://github.com/acme/app/blob/feature/x/a.yaml"},
		"odd path":         {place("https://github.com/acme/app", "main", "a b/#(x)?%.yaml", 1, 1), "", controlPlaneURL, "https://github.com/acme/app/blob/main/a%20b/%23%28x%29%3F%25.yaml#L1"},
		"enterprise":       {place("https://ghe.acme.example/acme/app", "main", "a.yaml", 1, 1), "", "https://ghe.acme.example/acme/cp", "https://ghe.acme.example/acme/app/blob/main/a.yaml#L1"},
		"other host":       {at: place("https://gitlab.com/acme/app", "main", "a.yaml", 1, 1), here: controlPlaneURL},
		"local":            {at: place("/srv/git/app", "main", "a.yaml", 1, 1), here: controlPlaneURL},
		"no revision":      {at: place("https://github.com/acme/app", "", "a.yaml", 1, 1), here: controlPlaneURL},
		"whole repository": {at: place("https://github.com/acme/app", "main", "", 0, 0), here: controlPlaneURL},
		"no workflow":      {at: place("https://github.com/acme/app", "main", "a.yaml", 1, 1)},
	} {
		got, ok := permalink(test.at, test.commit, test.here)
		assert.Equal(t, test.want, got, name)
		assert.Equal(t, test.want != "", ok, name)
	}
}

func TestLinksAreAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://github.com/a/b/pull/7":      "https://github.com/a/b/pull/7",
		"https://h/a) [x](https://evil":      "https://h/a%29%20%5Bx%5D%28https://evil",
		"https://h/a b|c":                    "https://h/a%20b%7Cc",
		"javascript:alert(1)":                "",
		"/relative":                          "",
		"https://h/\n\n# x":                  "",
		"":                                   "",
		"http://127.0.0.1:3000/a/b/pull/7#x": "http://127.0.0.1:3000/a/b/pull/7#x",
	} {
		got, ok := webAddress(address)
		assert.Equal(t, want, got, address)
		assert.Equal(t, want != "", ok, address)
	}
	assert.Equal(t, "pull request #0 closed", pullRequestLink(PullRequest{Operation: "closed"}))
}
