package told

import (
	"path"
	"strings"
)

// FolderBelow returns the first folder on the way from root down to folder; none if they are the same. Both count from
// the top of the repository, however they begin, and neither leads out of it.
func FolderBelow(folder, root string) (first string, below bool) {
	folder, root = path.Clean("/"+folder), path.Clean("/"+root)
	if folder == root {
		return "", true
	}
	rest, below := strings.CutPrefix(folder, strings.TrimSuffix(root, "/")+"/")
	if !below {
		return "", false
	}
	first, _, _ = strings.Cut(rest, "/")
	return first, true
}
