package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5"
)

// withoutLocks hides the locks of git. While git writes a branch, or after it was killed while it did, its lock
// lies beside it, often empty, and go-git takes it for a branch. No name of a branch ends like that.
type withoutLocks struct{ billy.Filesystem }

// mostListings is how often a directory is listed while locks come and go in it.
const mostListings = 100

// ReadDir implements billy.Dir. A lock that is gone before it is looked at makes go-billy say that there is no such
// directory, which go-git takes for one without branches.
func (f withoutLocks) ReadDir(path string) ([]os.FileInfo, error) {
	for range mostListings {
		entries, err := f.Filesystem.ReadDir(path)
		if errors.Is(err, fs.ErrNotExist) {
			if _, missing := f.Filesystem.Stat(path); missing == nil {
				continue
			}
		}
		return slices.DeleteFunc(entries, func(entry os.FileInfo) bool { return strings.HasSuffix(entry.Name(), ".lock") }), err
	}
	return nil, fmt.Errorf("list %s: its contents keep changing", path)
}
