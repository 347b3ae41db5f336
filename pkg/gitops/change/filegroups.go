package change

import (
	"cmp"
	"crypto/sha256"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// FileGroup are files in which the same lines change.
type FileGroup struct {
	// File is the index of the first in Change.Files.
	File  int
	Count int
}

// FileGroups returns the files that are worth a diff: changed ones first, and of these the changes that are in most
// files, then what is new and last what goes.
func (c *Change) FileGroups() (groups []FileGroup) {
	byLines := map[[sha256.Size]byte]int{}
	gone := c.targetsWith(Removed)
	var buffer []byte
	for i, f := range c.Files {
		if _, removed := gone[targetFolder(f.Path)]; removed || isTold(f.Path) {
			continue
		}
		if f.Action == Changed {
			buffer = f.New.Append(buffer[:0])
			sum := changedLines(path.Base(f.Path), f.Old, buffer)
			if at, known := byLines[sum]; known {
				groups[at].Count++
				continue
			}
			byLines[sum] = len(groups)
		}
		groups = append(groups, FileGroup{i, 1})
	}
	rank := func(g FileGroup) int { return [...]int{3, 1, 0, 2}[c.Files[g.File].Action] }
	slices.SortStableFunc(groups, func(a, b FileGroup) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Count, a.Count))
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
