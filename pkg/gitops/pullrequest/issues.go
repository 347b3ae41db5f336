package pullrequest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Issue is an issue of a GitOps repository.
type Issue struct {
	Number      int
	URL         string
	Title, Body string
}

// Issues is the interface to the forge of a GitOps repository for reporting failures.
type Issues interface {
	// OpenIssues lists the open issues with a label, without pull requests.
	OpenIssues(ctx context.Context, label string) ([]Issue, error)
	// CreateIssue opens an issue with a label, which is created if it is missing.
	CreateIssue(ctx context.Context, title, body, label string) (Issue, error)
	EditIssue(ctx context.Context, number int, title, body string) error
	// CloseIssue closes an issue, with a comment.
	CloseIssue(ctx context.Context, number int, comment string) error
}

// issueLabel is the label of every issue of kalypso, by which they are found.
const issueLabel = "kalypso"

// IssueReport is the content of an issue about the failure of an environment.
type IssueReport struct {
	Environment string
	Title       string
	// Body is Markdown with sanitized text of others. It is cut off at the end if it is too long.
	Body string
}

// IssueResult is the result of a report.
type IssueResult struct {
	// Action is Created, Updated or Unchanged.
	Action Action
	Issue  Issue
	// Closed are duplicate issues of kalypso, which concurrent runs can open.
	Closed []Issue
}

// ReportIssue opens the issue about the failure of an environment, or updates the open one if it differs.
func ReportIssue(ctx context.Context, issues Issues, r IssueReport) (IssueResult, error) {
	if !environmentName.MatchString(r.Environment) {
		return IssueResult{}, fmt.Errorf("%q is not the name of an environment", r.Environment)
	}
	r.Title, r.Body = cutTitle(r.Title), issueBody(r.Environment, r.Body)
	ours, err := openIssues(ctx, issues, r.Environment)
	if err != nil {
		return IssueResult{}, err
	}
	result := IssueResult{Action: Unchanged}
	if len(ours) == 0 {
		if result.Issue, err = issues.CreateIssue(ctx, r.Title, r.Body, issueLabel); err != nil {
			return result, err
		}
		result.Action = Created
		// A concurrent run may have opened one, too: the older one is kept.
		if ours, err = openIssues(ctx, issues, r.Environment); err != nil || len(ours) == 0 {
			return result, err
		}
	}
	result.Issue = ours[0]
	if result.Issue.Title != r.Title || !SameMarkdown(result.Issue.Body, r.Body) {
		if err := issues.EditIssue(ctx, result.Issue.Number, r.Title, r.Body); err != nil {
			return result, err
		}
		result.Issue.Title, result.Issue.Body = r.Title, r.Body
		result.Action = Updated
	}
	result.Closed, err = closeIssues(ctx, issues, ours[1:], fmt.Sprintf("Closed in favour of #%d, which reports the same.", result.Issue.Number))
	return result, err
}

// SettleIssue closes the issues about the failure of an environment, with a comment. Without one it only reads.
func SettleIssue(ctx context.Context, issues Issues, environment, comment string) (closed []Issue, err error) {
	ours, err := openIssues(ctx, issues, environment)
	if err != nil {
		return nil, err
	}
	return closeIssues(ctx, issues, ours, comment)
}

func closeIssues(ctx context.Context, issues Issues, ours []Issue, comment string) (closed []Issue, err error) {
	for _, issue := range ours {
		if err := issues.CloseIssue(ctx, issue.Number, comment); err != nil {
			return closed, err
		}
		closed = append(closed, issue)
	}
	return closed, nil
}

func openIssues(ctx context.Context, issues Issues, environment string) ([]Issue, error) {
	open, err := issues.OpenIssues(ctx, issueLabel)
	ours := slices.DeleteFunc(slices.Clone(open), func(i Issue) bool {
		first, _, _ := strings.Cut(i.Body, "\n")
		return strings.TrimSpace(first) != issueMarker(environment)
	})
	slices.SortFunc(ours, func(a, b Issue) int { return a.Number - b.Number })
	return ours, err
}

// issueMarker returns the first line of the body of an issue, which is not visible on GitHub.
func issueMarker(environment string) string {
	return fmt.Sprintf("<!-- kalypso:v1 failures environment=%s -->", environment)
}

func issueBody(environment, text string) string {
	head := issueMarker(environment) + "\n\n"
	return head + cutLines(strings.TrimSpace(printable(text)), maxForgeBody-utf8.RuneCountInString(head))
}
