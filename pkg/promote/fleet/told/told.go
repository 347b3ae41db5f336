// Package told makes what fleets tell fit for use.
//
// In: texts of strangers, whatever is in them. Out: a line that can be shown, the id of a commit, a folder; or an
// error that shows no more of the text than a line.
package told

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Line makes a stranger's text one line that is short and harmless.
func Line(text string) string {
	const longest = 300 // characters: two lines of a terminal that is wide
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return diag.Safe(diag.ShortenCharacters(strings.TrimSpace(text[:min(len(text), 8*longest)]), longest))
}

var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// CommitID returns a commit's id in lower case; an empty one is fine.
func CommitID(text string) (string, error) {
	id := strings.ToLower(text)
	if id != "" && !fullCommit.MatchString(id) {
		return "", fmt.Errorf("the commit %q is not 40 hex digits: a full id, or empty", Line(text))
	}
	return id, nil
}

// Reason is the innermost of an error: the layers above it repeat what was asked.
func Reason(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return diag.Safe(err.Error())
}
