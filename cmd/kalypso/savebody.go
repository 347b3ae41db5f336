package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// ruleSaveBody is a text of a pull request that cannot be saved.
const ruleSaveBody = "save-body"

// saveBodies writes what the pull requests of the run say, or would say, to a file: the title as a
// heading, and the body. It does nothing if no file is named.
func (s *session) saveBodies(path string) {
	if path == "" {
		return
	}
	var bodies []string
	for _, result := range s.results {
		for _, change := range result.changes {
			if change.report != nil && !change.change.Empty() {
				bodies = append(bodies, "# "+gitops.PullRequestTitle(*change.report)+"\n\n"+
					gitops.PullRequestBody(*change.report, gitops.MaxSubmissionBody))
			}
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(bodies, "\n\n")), 0o644); err != nil {
		s.diags.Error(ruleSaveBody, diag.Place{}, fmt.Sprintf("--save-body: %v", err))
	}
}
