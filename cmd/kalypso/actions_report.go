package main

import (
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// maxDetails is how many bytes the summary of a step has for the details of one result.
const maxDetails = 200_000

// actionsReport is what the session has to say in GitHub Actions. title heads the summary, and verdict
// says how it went.
func (s *session) actionsReport(title, verdict string, diags diag.List) actionsReport {
	r := actionsReport{title: title, verdict: verdict, diags: diags, commits: readCommits{}}
	for _, result := range s.results {
		if result.fleet != nil {
			r.commits.add(result.fleet.Sources)
		}
		if len(result.changes) == 0 {
			r.results = append(r.results, actionsResult{Environment: result.environment.Name.Value, uncompared: true})
		}
		for _, change := range result.changes {
			r.results = append(r.results, newActionsResult(result.environment.Name.Value, change))
		}
	}
	return r
}

func newActionsResult(environment string, c *changeResult) actionsResult {
	r := actionsResult{
		Environment: environment, GitOpsRepo: c.GitOpsRepo, Changed: c.waiting || !c.change.Empty(), Plan: c.Plan,
	}
	if c.report != nil && !c.change.Empty() {
		r.details = gitops.PullRequestBody(*c.report, maxDetails)
	}
	if c.Published == nil {
		return r
	}
	r.Branch, r.Commit = c.Published.Branch, c.Published.Commit
	switch request := c.Published.PullRequest; {
	case request != nil:
		r.PullRequest = &actionsPullRequest{request.Number, request.URL, string(request.Action)}
	case len(c.Published.Closed) > 0:
		closed := c.Published.Closed[0]
		r.PullRequest = &actionsPullRequest{closed.Number, closed.URL, "closed"}
	}
	return r
}
