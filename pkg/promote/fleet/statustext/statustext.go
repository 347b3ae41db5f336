// Package statustext reads what reconcilers and servers report as text.
//
// In: text of others, whatever is in it. Out: a line that can be shown, the id of a commit, a directory; or an error that
// shows no more of the text than a line.
package statustext

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Line returns the first line of a text, shortened and without characters that act on a terminal.
func Line(text string) string {
	const longest = 300 // characters: two lines of a terminal that is wide
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return diag.Safe(diag.ShortenCharacters(strings.TrimSpace(text[:min(len(text), 8*longest)]), longest))
}

var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// CommitID returns a commit's id in lower case; an empty one is valid.
func CommitID(text string) (string, error) {
	id := strings.ToLower(text)
	if id != "" && !fullCommit.MatchString(id) {
		return "", fmt.Errorf("the commit %q is not 40 hex digits: a full id, or empty", Line(text))
	}
	return id, nil
}

// revisionForm is BRANCH@sha1:COMMIT, refs/heads/BRANCH@sha1:COMMIT or sha1:COMMIT, or as before Flux 2.0 BRANCH/COMMIT or
// COMMIT. See https://github.com/fluxcd/flux2/tree/main/rfcs/0005-artifact-revision-and-digest
var revisionForm = regexp.MustCompile(`^(?s:.*[@/])?(?:sha1:|sha256:)?([0-9a-f]{40}|[0-9a-f]{64})$`)

// Commit returns the commit of a revision as Flux writes it, in lower case; empty if it has none.
func Commit(revision string) string {
	found := revisionForm.FindStringSubmatch(strings.ToLower(revision))
	if found == nil {
		return ""
	}
	return found[1]
}

// DirectoryBelow returns the first directory on the way from root down to directory; none if they are the same. Both are relative
// to the top of the repository, with or without a leading slash or dot, and ".." does not leave it.
func DirectoryBelow(directory, root string) (first string, below bool) {
	directory, root = path.Clean("/"+directory), path.Clean("/"+root)
	if directory == root {
		return "", true
	}
	rest, below := strings.CutPrefix(directory, strings.TrimSuffix(root, "/")+"/")
	if !below {
		return "", false
	}
	first, _, _ = strings.Cut(rest, "/")
	return first, true
}

// Reason returns the text of the innermost error: the outer ones repeat what was asked.
func Reason(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return diag.Safe(err.Error())
}
