package main

import (
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// maxListedTargets is how many targets the summary of a step lists for one result.
const maxListedTargets = 500

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
		Environment: environment, GitOpsRepo: c.GitOpsRepo, Changed: !c.change.Empty(), Plan: c.Plan, details: targetsTable(c.Targets),
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

// targetsTable lists what happens to each target, what goes first, in Markdown that is folded.
func targetsTable(targets []targetResult) string {
	if len(targets) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<details><summary>%s</summary>\n\n| | target | files |\n| --- | --- | --- |\n", diag.Plural(len(targets), "target"))
	listed := 0
	for _, action := range []gitops.Action{gitops.Removed, gitops.Changed, gitops.Added} {
		for _, t := range targets {
			if t.Action != action || listed == maxListedTargets {
				continue
			}
			listed++
			fmt.Fprintf(&b, "| %s | %s | %s |\n", action, inertCode(t.ClusterType+"/"+t.Target), inertMarkdown(strings.Join(t.Files, ", ")))
		}
	}
	if rest := len(targets) - listed; rest > 0 {
		fmt.Fprintf(&b, "\n%d more are in the log.\n", rest)
	}
	return b.String() + "\n</details>\n"
}
