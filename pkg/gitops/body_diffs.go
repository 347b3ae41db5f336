package gitops

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// diffGroup are files in which the same lines change.
type diffGroup struct {
	// file is the index of the first.
	file  int
	count int
}

// diffs folds away the diffs of files, and says of those that change alike how many they are.
func (b *body) diffs(room int) string {
	groups := b.diffGroups()
	block, shown := fittingCode("diff", room, len(groups), func(i int) string { return b.diff(groups[i]) })
	files, left := 0, 0
	for i, group := range groups {
		if files += group.count; i >= shown {
			left += group.count
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

// diffGroups returns the files that are worth a diff: changed ones first, and of these the changes that are in most
// files, then what is new and last what goes.
func (b *body) diffGroups() (groups []diffGroup) {
	byLines := map[[sha256.Size]byte]int{}
	gone := b.Change.targetsWith(Removed)
	var buffer []byte
	for i, f := range b.Change.Files {
		if _, removed := gone[targetFolder(f.Path)]; removed || isTold(f.Path) {
			continue
		}
		if f.Action == Changed {
			buffer = f.New.Append(buffer[:0])
			sum := changedLines(path.Base(f.Path), f.Old, buffer)
			if at, known := byLines[sum]; known {
				groups[at].count++
				continue
			}
			byLines[sum] = len(groups)
		}
		groups = append(groups, diffGroup{i, 1})
	}
	rank := func(g diffGroup) int { return [...]int{3, 1, 0, 2}[b.Change.Files[g.file].Action] }
	slices.SortStableFunc(groups, func(a, b diffGroup) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.count, a.count))
	})
	return groups
}

// isTold reports whether a file says nothing that the text does not.
func isTold(name string) bool {
	return name == render.TrackingFile || path.Base(name) == render.ReadmeFile && strings.Count(name, "/") == 1
}

// changedLines stands for the lines from the first to the last that differ. It is the same for files of
// the same name that change alike.
func changedLines(name string, old, now []byte) [sha256.Size]byte {
	start := lineStart(old, commonPrefix(old, now))
	old, now = old[start:], now[start:]
	end := linesAtEnd(old, now)
	return sha256.Sum256(slices.Concat([]byte(name), []byte{0}, old[:len(old)-end], []byte{0}, now[:len(now)-end]))
}

// Bounds of a single diff.
const (
	maxDiffInput = 256 << 10
	maxDiffLines = 120
)

// diff returns the unified diff of the first file of a group, cut if it is long.
func (b *body) diff(group diffGroup) string {
	f := b.Change.Files[group.file]
	before, after := "a/"+markdown.Inert(f.Path), "b/"+markdown.Inert(f.Path)
	if f.Action == Added {
		before = "/dev/null"
	}
	if f.Action == Removed {
		after = "/dev/null"
	}
	text := "--- " + before + "\n+++ " + after + "\n@@ too large to show @@\n"
	if content := f.New.Bytes(); len(content)+len(f.Old) <= maxDiffInput {
		// The first line repeats the names in a form of its own.
		_, text, _ = strings.Cut(string(diff.Diff(before, f.Old, after, content)), "\n")
	}
	if group.count > 1 {
		text = strings.Replace(text, "\n+++ ", fmt.Sprintf(" (the same lines change in %s)\n+++ ", diag.Plural(group.count-1, "more file")), 1)
	}
	lines := slices.Collect(strings.Lines(text))
	if rest := len(lines) - maxDiffLines; rest > 0 {
		lines = append(lines[:maxDiffLines:maxDiffLines], fmt.Sprintf("@@ %s more @@\n", diag.Plural(rest, "line")))
	}
	return markdown.InertLines(strings.Join(lines, ""), maxLine)
}
