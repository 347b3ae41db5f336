package render

import (
	"fmt"
	"os"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// saveBodies writes what the pull requests of the run say, or would say, to a file: the title as a
// heading, and the body. It does nothing if no file is named.
func (s *Publisher) saveBodies(path string) {
	if path == "" {
		return
	}
	var bodies []string
	for _, result := range s.Results {
		for _, change := range result.Changes {
			if change.Report != nil && !change.Change.Empty() {
				bodies = append(bodies, "# "+gitops.PullRequestTitle(*change.Report)+"\n\n"+
					gitops.PullRequestBody(*change.Report, gitops.MaxSubmissionBody))
			}
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(bodies, "\n\n")), 0o644); err != nil {
		s.Diags.Error(session.RuleSaveBody, diag.Place{}, fmt.Sprintf("--save-body: %v", err))
	}
}
