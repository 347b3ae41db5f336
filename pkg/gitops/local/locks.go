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

// withoutLocks hides the lock files of git, which go-git would read as branches. No branch name ends in ".lock".
type withoutLocks struct{ billy.Filesystem }

// mostListings is the maximum number of listings of a directory whose locks change meanwhile.
const mostListings = 100

// ReadDir implements billy.Dir. If a lock is removed meanwhile, go-billy returns the error of a missing directory, which
// go-git treats as one without branches.
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
