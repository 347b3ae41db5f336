package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// saveBodies writes what the pull requests of the run say, or would say, to a file: the title as a
// heading, and the body. It does nothing if no file is named.
func (s *session) saveBodies(path string) error {
	if path == "" {
		return nil
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
		return &exitError{exitModel, fmt.Errorf("--save-body: %w", err)}
	}
	return nil
}
