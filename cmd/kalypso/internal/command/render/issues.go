package render

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
)

// issueRoom is how many bytes the list of failures in an issue may have: an issue has 65,536 characters.
const issueRoom = 60_000

// reportIssues opens an issue for each environment that failed, in its GitOps repositories, or brings it
// up to date; and closes those of the environments that did not fail. What cannot be reported is a
// warning: how the run ended does not depend on it.
func (s *Publisher) reportIssues(ctx context.Context) {
	for _, result := range s.Results {
		told := map[string]bool{} // two outputs may go to one repository
		for _, destination := range s.Destinations[result.Environment.Name.Value] {
			if told[destination.At] || len(destination.Diags) > 0 {
				continue
			}
			told[destination.At] = true
			s.Begin("reporting on " + result.Environment.Name.Value)
			if err := s.reportIssue(ctx, result, destination); err != nil && ctx.Err() == nil {
				what := "the failure of Environment %q is not reported: %v"
				if !needsIssue(result) {
					what = "an issue about Environment %q cannot be closed: %v"
				}
				_, hint := session.CauseOf(err)
				result.Diags.Warning(session.RuleGitHubFailed, destination.Repo.Repo.At, fmt.Sprintf(what, result.Environment.Name.Value, err), diag.Hint(hint))
			}
		}
	}
}

// needsIssue reports whether the environment needs an open issue.
func needsIssue(r *session.Result) bool {
	return r.Diags.HasErrors() || len(r.Held.Registrations) > 0
}

func (s *Publisher) reportIssue(ctx context.Context, result *session.Result, destination *gitops.Destination) error {
	forge, err := s.Forge(ctx, destination)
	if err != nil {
		return err
	}
	name := result.Environment.Name.Value
	switch failed := needsIssue(result); {
	case forge.Repo == nil && forge.Note != "" && failed:
		return errors.New(forge.Note)
	case forge.Repo == nil:
		return nil // it has no issues, or none that could be closed
	case !failed:
		closed, err := pullrequest.SettleIssue(ctx, forge.Repo, name, "The environment is published again.")
		for _, issue := range closed {
			result.Notes = append(result.Notes, fmt.Sprintf("issue #%d is closed: %s", issue.Number, issue.URL))
		}
		return err
	}
	title := "kalypso cannot publish " + name
	if !result.Diags.HasErrors() {
		title = "kalypso publishes " + name + " with registrations in quarantine"
	}
	reported, err := pullrequest.ReportIssue(ctx, forge.Repo, pullrequest.IssueReport{
		Environment: name, Title: title, Body: s.failures(result),
	})
	if err == nil {
		result.Notes = append(result.Notes, fmt.Sprintf("issue #%d is %s: %s", reported.Issue.Number, reported.Action, reported.Issue.URL))
	}
	return err
}

// failures lists the errors of an environment, in Markdown.
func (s *Publisher) failures(result *session.Result) string {
	r := actions.Report{Commits: actions.Commits{}}
	if result.Fleet != nil {
		r.Commits.Add(result.Fleet.Sources)
	}
	r.Diags = append(slices.Clone(result.Diags), result.Held.Diags...).Sorted().Only(diag.Error)
	here := ""
	if s.Workflow != nil {
		here = s.Workflow.Repo
	}
	become := "cannot be published; its clusters keep the published output"
	if !result.Diags.HasErrors() {
		become = "is published with " + diag.Plural(len(result.Held.Registrations), "registration") + " in quarantine"
	}
	return fmt.Sprintf("The environment %s %s: %s.\n\n%s\n%s",
		markdown.TextCode(result.Environment.Name.Value), become, diag.Plural(len(r.Diags), "error"), actions.Table(r, here, issueRoom),
		"The next run that succeeds closes this issue.")
}
