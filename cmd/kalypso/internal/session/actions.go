package session

import (
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// MaxDetails is how many bytes the summary of a step has for the details of one result.
const MaxDetails = 200_000

// Report is what the session has to say in GitHub Actions. title heads the summary, and verdict
// says how it went.
func (s *Session) actionsReport(title, verdict string, diags diag.List) actions.Report {
	r := actions.Report{Title: title, Verdict: verdict, Diags: diags, Commits: actions.Commits{}}
	for _, result := range s.Results {
		if result.Fleet != nil {
			r.Commits.Add(result.Fleet.Sources)
		}
		if len(result.Changes) == 0 {
			r.Results = append(r.Results, actions.Result{Environment: result.Environment.Name.Value, Uncompared: true})
		}
		for _, change := range result.Changes {
			r.Results = append(r.Results, newActionsResult(result.Environment.Name.Value, change))
		}
	}
	return r
}

func newActionsResult(environment string, c *Change) actions.Result {
	r := actions.Result{
		Environment: environment, GitOpsRepo: c.GitOpsRepo, Changed: c.Waiting || !c.Change.Empty(), Plan: c.Plan,
	}
	if c.Report != nil && !c.Change.Empty() {
		r.Details = gitops.PullRequestBody(*c.Report, MaxDetails)
	}
	if c.Published == nil {
		return r
	}
	r.Branch, r.Commit = c.Published.Branch, c.Published.Commit
	switch request := c.Published.PullRequest; {
	case request != nil:
		r.PullRequest = actions.NewPullRequest(request.Number, request.URL, string(request.Action))
	case len(c.Published.Closed) > 0:
		closed := c.Published.Closed[0]
		r.PullRequest = actions.NewPullRequest(closed.Number, closed.URL, "closed")
	}
	return r
}
