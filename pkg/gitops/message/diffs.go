package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
)

// diffs folds away the diffs of files, and says of those that change alike how many they are.
func (b *body) diffs(room int) string {
	groups := b.Change.FileGroups()
	block, shown := fittingCode("diff", room, len(groups), func(i int) string { return b.diff(groups[i]) })
	files, left := 0, 0
	for i, group := range groups {
		if files += group.Count; i >= shown {
			left += group.Count
		}
	}
	b.omit(left, "the diffs of %s", "file")
	summary := "Diffs of " + diag.Plural(files, "file")
	switch {
	case shown == 0:
		return ""
	case left > 0:
		summary = fmt.Sprintf("Diffs of %d of %s", files-left, diag.Plural(files, "file"))
	}
	return markdown.Details(summary, block)
}

// Bounds of a single diff.
const (
	maxDiffInput = 256 << 10
	maxDiffLines = 120
)

// diff returns the unified diff of the first file of a group, cut if it is long.
func (b *body) diff(group change.FileGroup) string {
	f := b.Change.Files[group.File]
	before, after := "a/"+markdown.Inert(f.Path), "b/"+markdown.Inert(f.Path)
	if f.Action == change.Added {
		before = "/dev/null"
	}
	if f.Action == change.Removed {
		after = "/dev/null"
	}
	text := "--- " + before + "\n+++ " + after + "\n@@ too large to show @@\n"
	if content := f.New.Bytes(); len(content)+len(f.Old) <= maxDiffInput {
		// The first line repeats the names in a form of its own.
		_, text, _ = strings.Cut(string(diff.Diff(before, f.Old, after, content)), "\n")
	}
	if group.Count > 1 {
		text = strings.Replace(text, "\n+++ ", fmt.Sprintf(" (the same lines change in %s)\n+++ ", diag.Plural(group.Count-1, "more file")), 1)
	}
	lines := slices.Collect(strings.Lines(text))
	if rest := len(lines) - maxDiffLines; rest > 0 {
		lines = append(lines[:maxDiffLines:maxDiffLines], fmt.Sprintf("@@ %s more @@\n", diag.Plural(rest, "line")))
	}
	return markdown.InertLines(strings.Join(lines, ""), maxLine)
}
