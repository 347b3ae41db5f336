package gitobject

import (
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// checkNewPath refuses paths that we must not write: those that git would not check out anywhere.
func checkNewPath(path string) error {
	for name := range strings.SplitSeq(path, "/") {
		err := checkTreeName(name)
		if err == nil && (strings.Contains(name, "\x00") || isDotGit(name)) {
			err = fmt.Errorf("a tree entry with the name %q", giterror.OneLine(name))
		}
		if err != nil {
			return fmt.Errorf("%q cannot be in a repository: %w", giterror.OneLine(path), err)
		}
	}
	return nil
}

// isDotGit reports whether some system takes the name for that of the folder .git: Windows passes over
// dots and spaces at the end, names a stream after a colon, and calls the folder GIT~1 for short; macOS
// passes over characters that cannot be seen. Git refuses all of them everywhere.
func isDotGit(name string) bool {
	visible := strings.Map(func(r rune) rune {
		if ignoredByHFS(r) {
			return -1
		}
		return r
	}, name)
	for part := range strings.SplitSeq(visible, `\`) {
		part, _, _ = strings.Cut(part, ":")
		part = strings.TrimRight(part, " .")
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1") {
			return true
		}
	}
	return false
}

// ignoredByHFS tells the characters that git's next_hfs_char passes over.
func ignoredByHFS(r rune) bool {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return true
	default:
		return false
	}
}
