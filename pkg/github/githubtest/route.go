package githubtest

import (
	"fmt"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest/openapitest"
)

const (
	onRepo  = "/repos/{owner}/{repo}"
	onPull  = onRepo + "/pulls/{pull_number}"
	onIssue = onRepo + "/issues/{issue_number}"

	readIssues  = "issues=read; pull_requests=read"
	writeIssues = "issues=write; pull_requests=write"
)

// routes are the endpoints that the stand-in has, which all servers share.
var routes = sync.OnceValues(newRoutes)

func newRoutes() ([]route, error) {
	operations, err := openapitest.Operations()
	if err != nil {
		return nil, err
	}
	table := []route{
		{method: "GET", path: onRepo, needs: "metadata=read", handle: (*call).showRepo},
		{method: "GET", path: onRepo + "/pulls", needs: "pull_requests=read", handle: (*call).listPulls},
		{method: "POST", path: onRepo + "/pulls", needs: "pull_requests=write", handle: (*call).createPull},
		{method: "GET", path: onPull, needs: "pull_requests=read", handle: (*call).showPull},
		{method: "PATCH", path: onPull, needs: "pull_requests=write", handle: (*call).updatePull},
		{method: "PUT", path: onPull + "/merge", needs: "contents=write", handle: (*call).mergePull},
		{method: "POST", path: onPull + "/requested_reviewers", needs: "pull_requests=write", handle: (*call).requestReviewers},
		{method: "GET", path: onRepo + "/issues", needs: readIssues, handle: (*call).listIssues},
		{method: "POST", path: onRepo + "/issues", needs: "issues=write", handle: (*call).createIssue},
		{method: "PATCH", path: onIssue, needs: writeIssues, handle: (*call).updateIssue},
		{method: "GET", path: onIssue + "/comments", needs: readIssues, handle: (*call).listComments},
		{method: "POST", path: onIssue + "/comments", needs: writeIssues, handle: (*call).createComment},
		{method: "PATCH", path: onRepo + "/issues/comments/{comment_id}", needs: writeIssues, handle: (*call).updateComment},
		{method: "POST", path: onIssue + "/assignees", needs: writeIssues, handle: (*call).addAssignees},
		{method: "POST", path: onIssue + "/labels", needs: writeIssues, handle: (*call).addIssueLabels},
		{method: "DELETE", path: onIssue + "/labels/{name}", needs: writeIssues, handle: (*call).removeIssueLabel},
		{method: "POST", path: onRepo + "/labels", needs: writeIssues, handle: (*call).createLabel},
		{method: "GET", path: onRepo + "/labels/{name}", needs: readIssues, handle: (*call).showLabel},
		{method: "GET", path: onRepo + "/git/ref/{ref}", needs: "contents=read", handle: (*call).showRef},
		{method: "POST", path: onRepo + "/statuses/{sha}", needs: "statuses=write", handle: (*call).createStatus},
		{method: "GET", path: onRepo + "/commits/{ref}/statuses", needs: "statuses=read", handle: (*call).listStatuses},
		{method: "GET", path: onRepo + "/compare/{basehead}", needs: "contents=read", handle: (*call).compare},
		{method: "POST", path: onRepo + "/actions/workflows/{workflow_id}/dispatches", needs: "actions=write", handle: (*call).dispatchWorkflow},
		{method: "GET", path: onRepo + "/branches/{branch}", needs: "contents=read", handle: (*call).showBranch},
		{method: "GET", path: onRepo + "/rules/branches/{branch}", needs: "metadata=read", handle: (*call).listRules},
		{method: "GET", path: onRepo + "/rulesets/{ruleset_id}", needs: "metadata=read", handle: (*call).showRuleset},
		{method: "GET", path: onRepo + "/actions/permissions/workflow", needs: "administration=read", handle: (*call).showWorkflowPermissions},
		{method: "GET", path: onRepo + "/installation", handle: (*call).showInstallation},
		{method: "POST", path: "/app/installations/{installation_id}/access_tokens", handle: (*call).mintToken},
		{method: "GET", path: "/app", handle: (*call).showApp},
		{method: "GET", path: "/users/{username}", handle: (*call).showUser},
		{method: "GET", path: "/users/{username}/installation", handle: (*call).showOwnerInstallation},
	}
	for i := range table {
		r := &table[i]
		r.compile()
		operation, described := operations[r.method+" "+r.path]
		if !described {
			return nil, fmt.Errorf("openapitest/schemas.json does not have %s %s: add it to operations.txt", r.method, r.path)
		}
		r.operation = operation
	}
	return table, nil
}
