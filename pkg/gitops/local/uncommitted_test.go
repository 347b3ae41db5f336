package local

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
)

// unreadFS has files of a size, and fails the test if one is read.
type unreadFS struct {
	t    *testing.T
	size int64
}

func (f unreadFS) Open(name string) (fs.File, error) {
	f.t.Error("the file is read")
	return nil, fs.ErrNotExist
}

func (f unreadFS) Stat(string) (fs.FileInfo, error) { return unreadInfo{size: f.size}, nil }

type unreadInfo struct {
	fs.FileInfo
	size int64
}

func (i unreadInfo) Size() int64 { return i.size }

// A large file of a work tree is not read to find out whether it was changed.
func TestS8LargeFilesAreNotCompared(t *testing.T) {
	t.Parallel()
	large := unreadFS{t, mostCompared + 1}
	assert.True(t, sameText(large, large, "big.yaml"))
	assert.False(t, sameText(large, unreadFS{t, mostCompared + 2}, "big.yaml"))
}
