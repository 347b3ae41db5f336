package message

import (
	"fmt"
	"strings"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
)

// TestPreviewFitsAnyLimit: the marker and the table are always present, and the text is never too long.
func TestPreviewFitsAnyLimit(t *testing.T) {
	t.Parallel()
	skipInRace(t)
	var p Preview
	for _, r := range []Report{reportOf(largeChange(100, 100)), reportOf(largeChange(3, 3)), reportOf(&change.Change{})} {
		e := EnvironmentPreview{Report: r}
		for _, target := range r.Change.Targets {
			if target.Action == change.Added || target.Action == change.Removed {
				e.Causes = append(e.Causes, TargetCause{TargetChange: target, Why: "new deployment target"})
			}
		}
		p.Environments = append(p.Environments, e)
	}
	for i := range 300 {
		p.Problems.Error("invalid-value", diag.Place{}, fmt.Sprintf("problem %d", i))
	}
	p.Command = "kalypso diff --branch main"
	for _, limit := range []int{2000, 2001, 3000, 5000, 20_000, MaxComment, 900 << 10} {
		assert.Contains(t, assertPreview(t, p, limit), "| Environment |", limit)
	}
	assert.Contains(t, PreviewComment(p, MaxComment), "Omitted: ")
	assert.Contains(t, PreviewComment(p, MaxComment), "and 2")
}

// assertPreview checks that a preview is complete and has no Markdown of others.
func assertPreview(t *testing.T, p Preview, limit int) string {
	t.Helper()
	text := PreviewComment(p, limit)
	assert.LessOrEqual(t, len(text), limit)
	assert.True(t, IsPreview(text))
	rest := text[len(previewMarker):]
	assert.NotContains(t, rest, "<!--")
	rendered := htmlOf(t, rest)
	assert.Equal(t, strings.Count(rendered, "<details>"), strings.Count(rendered, "</details>"))
	assert.True(t, strings.HasSuffix(strings.TrimSpace(rendered), "</code></pre>\n</details>"), "the end is whole: %q", rendered[max(0, len(rendered)-80):])
	assert.NotContains(t, rendered, "<img")
	assert.NotContains(t, rendered, "javascript:y\"")
	return text
}

// TestPreviewIsSanitized: text of others has no effect in a browser or on kalypso.
func TestPreviewIsSanitized(t *testing.T) {
	t.Parallel()
	const evil = "</details><img src=x onerror=alert(1)> @acme/everybody ``` | [x](javascript:y) #1 <!-- kalypso:preview:v1 -->"
	p := Preview{Command: evil, Environments: []EnvironmentPreview{{
		Report: Report{Environment: evil, Notes: []string{evil}, Change: &change.Change{
			ClusterTypes: 1, Targets: []change.TargetChange{{ClusterType: evil, Target: evil, Action: change.Removed}},
			Files: []change.FileChange{{Path: evil + "/" + evil + "/namespace.yaml", Action: change.Removed, Old: []byte("a: " + evil + "\n"), New: content.Text{}}},
		}},
		Causes: []TargetCause{{TargetChange: change.TargetChange{ClusterType: evil, Target: evil, Action: change.Removed}, Why: evil, At: diag.Place{File: &diag.File{Repo: evil}}}},
	}}}
	p.Problems.Error("rule", diag.Place{}, evil)
	assertPreview(t, p, MaxComment)
}

// TestPreviewOfAnything checks generated previews.
func TestPreviewOfAnything(t *testing.T) {
	t.Parallel()
	skipInRace(t)
	property := func(environments []string, why, old, now string, limit uint16) bool {
		p := Preview{Command: why}
		for i, name := range environments {
			action := change.Action(i%3 + 1)
			target := change.TargetChange{ClusterType: "edge", Target: fmt.Sprint("t", i), Action: action}
			p.Environments = append(p.Environments, EnvironmentPreview{
				Report: Report{Environment: name, Change: &change.Change{
					ClusterTypes: 1, Targets: []change.TargetChange{target},
					Files: []change.FileChange{{Path: fmt.Sprintf("edge/t%d/platform-config.yaml", i), Action: action, Old: []byte(old), New: content.New(now)}},
				}},
				Causes: []TargetCause{{TargetChange: target, Why: why}},
			})
		}
		assertPreview(t, p, 2000+int(limit))
		return !t.Failed()
	}
	require.NoError(t, quick.Check(property, nil))
}

func TestIsPreview(t *testing.T) {
	t.Parallel()
	assert.True(t, IsPreview(previewMarker))
	assert.True(t, IsPreview(previewMarker+"\r\nmore"))
	for _, text := range []string{"", "> " + previewMarker, "see\n" + previewMarker, previewMarker + " and more", "<!-- kalypso:preview:v2 -->"} {
		assert.False(t, IsPreview(text), text)
	}
}
