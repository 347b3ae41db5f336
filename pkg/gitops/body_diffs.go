package gitops

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
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
	groups, files := b.diffGroups()
	if files == 0 {
		return ""
	}
	lines := &sheet{room: room - len(details("Diffs of 1000000 of 1000000 files", fenced("diff", "")))}
	shown := 0
	for _, group := range groups {
		if lines.room-lines.Len() < minDiff || !lines.addCode(b.diff(group)) {
			break
		}
		shown += group.count
	}
	if shown < files {
		b.omit("the diffs of " + diag.Plural(files-shown, "file"))
	}
	if shown == 0 {
		return ""
	}
	summary := "Diffs of " + diag.Plural(files, "file")
	if shown < files {
		summary = fmt.Sprintf("Diffs of %d of %s", shown, diag.Plural(files, "file"))
	}
	return details(summary, fenced("diff", lines.String()))
}

// minDiff is how long a diff is at least: with less room none is tried.
const minDiff = 60

// diffGroups returns the files that are worth a diff, and how many they are: changed ones first, and of
// these the changes that are in most files, then what is new and last what goes.
func (b *body) diffGroups() (groups []diffGroup, files int) {
	byLines := map[[sha256.Size]byte]int{}
	gone := b.Change.targetsWith(Removed)
	var buffer []byte
	for i, f := range b.Change.Files {
		if _, removed := gone[targetFolder(f.Path)]; removed || isTold(f.Path) {
			continue
		}
		files++
		if f.Action != Changed {
			groups = append(groups, diffGroup{i, 1})
			continue
		}
		buffer = f.New.Append(buffer[:0])
		sum := changedLines(path.Base(f.Path), f.Old, buffer)
		if at, known := byLines[sum]; known {
			groups[at].count++
			continue
		}
		byLines[sum] = len(groups)
		groups = append(groups, diffGroup{i, 1})
	}
	rank := func(g diffGroup) int { return [...]int{3, 1, 0, 2}[b.Change.Files[g.file].Action] }
	slices.SortStableFunc(groups, func(a, b diffGroup) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.count, a.count))
	})
	return groups, files
}

// isTold reports whether a file says nothing that the text does not.
func isTold(name string) bool {
	return name == render.TrackingFile || path.Base(name) == render.ReadmeFile && strings.Count(name, "/") == 1
}

// changedLines stands for the lines from the first to the last that differ. It is the same for files of
// the same name that change alike.
func changedLines(name string, old, now []byte) [sha256.Size]byte {
	start := bytes.LastIndexByte(old[:commonPrefix(old, now)], '\n') + 1
	old, now = old[start:], now[start:]
	end := commonSuffix(old, now)
	if i := bytes.IndexByte(old[len(old)-end:], '\n'); i >= 0 {
		end -= i
	} else {
		end = 0
	}
	old, now = old[:len(old)-end], now[:len(now)-end]
	return sha256.Sum256(bytes.Join([][]byte{[]byte(name), old, now}, []byte{0}))
}

// Bounds of a single diff.
const (
	maxDiffInput = 256 << 10
	maxDiffLines = 120
)

// diff returns the unified diff of the first file of a group, cut if it is long.
func (b *body) diff(group diffGroup) string {
	f := b.Change.Files[group.file]
	before, after := "a/"+inert(f.Path), "b/"+inert(f.Path)
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
	return inertLines(firstLines(text, maxDiffLines))
}

// firstLines cuts a text after a number of lines, and says so.
func firstLines(text string, n int) string {
	rest := text
	for range n {
		_, after, found := strings.Cut(rest, "\n")
		if !found {
			return text
		}
		rest = after
	}
	if rest == "" {
		return text
	}
	return text[:len(text)-len(rest)] + fmt.Sprintf("@@ %s more @@\n", diag.Plural(strings.Count(rest, "\n"), "line"))
}
