package gitops

import (
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5"
)

// withoutLocks hides the locks of git. While git writes a branch, or after it was killed while it did, its lock
// lies beside it, often empty, and go-git takes it for a branch. No name of a branch ends like that.
type withoutLocks struct{ billy.Filesystem }

// ReadDir implements billy.Dir.
func (f withoutLocks) ReadDir(path string) ([]os.FileInfo, error) {
	entries, err := f.Filesystem.ReadDir(path)
	return slices.DeleteFunc(entries, func(entry os.FileInfo) bool { return strings.HasSuffix(entry.Name(), ".lock") }), err
}
