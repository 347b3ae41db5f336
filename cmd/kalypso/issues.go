package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
)

// issueRoom is how many bytes the list of failures in an issue may have: an issue has 65,536 characters.
const issueRoom = 60_000

// reportIssues opens an issue for each environment that failed, in its GitOps repositories, or brings it
// up to date; and closes those of the environments that did not fail. What cannot be reported is a
// warning: how the run ended does not depend on it.
func (s *session) reportIssues(ctx context.Context) {
	for _, result := range s.results {
		told := map[string]bool{} // two outputs may go to one repository
		for _, destination := range s.destinations[result.environment.Name.Value] {
			if told[destination.At] || len(destination.Diags) > 0 {
				continue
			}
			told[destination.At] = true
			s.begin("reporting on " + result.environment.Name.Value)
			if err := s.reportIssue(ctx, result, destination); err != nil && ctx.Err() == nil {
				what := "the failure of Environment %q is not reported: %v"
				if !result.needsIssue() {
					what = "an issue about Environment %q cannot be closed: %v"
				}
				_, hint := causeOf(err)
				result.diags.Warning(ruleGitHubFailed, destination.Repo.Repo.At, fmt.Sprintf(what, result.environment.Name.Value, err), diag.Hint(hint))
			}
		}
	}
}

// needsIssue reports whether the environment needs an open issue.
func (r *result) needsIssue() bool { return r.diags.HasErrors() || len(r.held.registrations) > 0 }

func (s *session) reportIssue(ctx context.Context, result *result, destination *gitops.Destination) error {
	repo, note, err := s.forge(ctx, destination)
	if err != nil {
		return err
	}
	name := result.environment.Name.Value
	switch failed := result.needsIssue(); {
	case repo == nil && note == "":
		return nil // it has no issues
	case repo == nil:
		if failed {
			return fmt.Errorf("%s", note)
		}
		return nil
	case !failed:
		closed, err := gitops.SettleIssue(ctx, repo, name, "The environment is published again.")
		for _, issue := range closed {
			result.notes = append(result.notes, fmt.Sprintf("issue #%d is closed: %s", issue.Number, issue.URL))
		}
		return err
	}
	title := "kalypso cannot publish " + name
	if !result.diags.HasErrors() {
		title = "kalypso publishes " + name + " without what is broken"
	}
	reported, err := gitops.ReportIssue(ctx, repo, gitops.IssueReport{
		Environment: name, Title: title, Body: s.failures(result),
	})
	if err == nil {
		result.notes = append(result.notes, fmt.Sprintf("issue #%d is %s: %s", reported.Issue.Number, reported.Action, reported.Issue.URL))
	}
	return err
}

// failures lists the errors of an environment, in Markdown.
func (s *session) failures(result *result) string {
	r := actionsReport{commits: readCommits{}}
	if result.fleet != nil {
		r.commits.add(result.fleet.Sources)
	}
	for _, d := range append(slices.Clone(result.diags), result.held.diags...).Sorted() {
		if d.Severity == diag.Error {
			r.diags = append(r.diags, d)
		}
	}
	here := ""
	if s.workflow != nil {
		here = s.workflow.repo
	}
	become := "cannot be published, so its clusters keep what they have"
	if !result.diags.HasErrors() {
		become = "is published without what is broken in " + diag.Plural(len(result.held.registrations), "registration")
	}
	return fmt.Sprintf("The environment %s %s: %s.\n\n%s\n%s",
		markdown.TextCode(result.environment.Name.Value), become, diag.Plural(len(r.diags), "error"), diagnosticsTable(r, here, issueRoom),
		"The next run that succeeds closes this issue.")
}
