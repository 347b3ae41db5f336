package told

import (
	"regexp"
	"strings"
)

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
