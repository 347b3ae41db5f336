package github

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v53/github"
)

// hidden is how a hint begins about what GitHub says is not there.
const hidden = "either it does not exist, or the token must not see it: "

// refusal explains an answer that is not a success.
func (t *transport) refusal(op operation, answer *gh.ErrorResponse) *Error {
	e := &Error{Kind: Invalid, Status: answer.Response.StatusCode}
	said := t.secrets.Line(saidBy(answer))
	e.Message = fmt.Sprintf("GitHub answers %d: %s", e.Status, said)
	if said == "" {
		e.Message = fmt.Sprintf("GitHub answers %d %s", e.Status, http.StatusText(e.Status))
	}
	switch e.Status {
	case http.StatusUnauthorized:
		e.Kind = Denied
		e.Hint = "the token is wrong, has expired or was revoked"
	case http.StatusForbidden:
		t.deny(e, op, answer, said)
	case http.StatusNotFound:
		e.Kind = NotFound
		if op.need != "" {
			// GitHub hides what a token must not see, and also what it must not change.
			t.lack(e, op.need)
			e.Hint = hidden + e.Hint
		}
	case http.StatusGone:
		e.Hint = "issues are turned off in the repository's settings"
	}
	return e
}

// deny explains a 403, which has more reasons than a missing permission.
func (t *transport) deny(e *Error, op operation, answer *gh.ErrorResponse, said string) {
	e.Kind = Denied
	lower := strings.ToLower(said)
	switch {
	case strings.Contains(lower, "archived"):
		e.Kind = Invalid
		e.Hint = "the repository is archived, thus read-only"
	case answer.Response.Header.Get("X-GitHub-SSO") != "", strings.Contains(lower, "saml"):
		e.Hint = "authorize the token for the organization's single sign-on"
	case strings.Contains(lower, "actions is not permitted to create"):
		e.Permission = "pull requests: write"
		e.Hint = "tick “Allow GitHub Actions to create and approve pull requests” in the settings of the repository " +
			"or organization (Actions, General), or use a GitHub App"
	case strings.Contains(lower, "ip allow list"):
		e.Hint = "the organization lets in known addresses only: add that of this machine"
	default:
		t.lack(e, op.need)
	}
}

// lack says which permission is missing.
func (t *transport) lack(e *Error, permission string) {
	e.Permission = permission
	app, isApp := t.Token.(appTokens)
	switch {
	case permission == "":
		e.Hint = "the token lacks a permission"
	case isApp:
		e.Hint = fmt.Sprintf("the GitHub App %s needs the permission %q: add it under “Permissions & events” in its settings; "+
			"then the owner of the repository accepts it on the page of the installation", app.appID(), permission)
	case strings.Contains(permission, "members"):
		e.Hint = fmt.Sprintf("the token needs the permission %q, which GITHUB_TOKEN cannot have: use a GitHub App, or name people instead of teams", permission)
	case t.ActionsToken:
		e.Hint = fmt.Sprintf("the workflow needs the permission %q: add it to those of its job, as in \"permissions: {%s}\"; "+
			"its GITHUB_TOKEN reaches only the repository of the workflow, for another one use a GitHub App or a token",
			permission, inWorkflow(permission))
	default:
		e.Hint = fmt.Sprintf("the token needs the permission %q", permission)
	}
}

// inWorkflow returns permissions as a workflow asks for them; of alternatives, the first.
func inWorkflow(permissions string) string {
	permissions, _, _ = strings.Cut(permissions, " or ")
	var asked []string
	for one := range strings.SplitSeq(permissions, " and ") {
		name, level, _ := strings.Cut(one, ": ")
		asked = append(asked, strings.ReplaceAll(name, " ", "-")+": "+level)
	}
	return strings.Join(asked, ", ")
}

// saidBy returns what GitHub says of an error, with what it says of the fields.
func saidBy(answer *gh.ErrorResponse) string {
	parts := []string{answer.Message}
	for _, field := range answer.Errors {
		switch {
		case field.Message != "":
			parts = append(parts, field.Message)
		case field.Field != "":
			parts = append(parts, field.Field+" is "+strings.ReplaceAll(field.Code, "_", " "))
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}

// status returns the status of the answer behind an error; zero if there is none.
func status(err error) int {
	var answered *gh.ErrorResponse
	if errors.As(err, &answered) && answered.Response != nil {
		return answered.Response.StatusCode
	}
	return 0
}

// complains reports whether GitHub found fault with a field, in the given way.
func complains(err error, field, code string) bool {
	var answered *gh.ErrorResponse
	return errors.As(err, &answered) && slices.ContainsFunc(answered.Errors, func(e gh.Error) bool {
		return e.Field == field && e.Code == code
	})
}

// says reports whether GitHub's message about an error has some words in it, in any case.
func says(err error, words string) bool {
	var answered *gh.ErrorResponse
	return errors.As(err, &answered) && strings.Contains(strings.ToLower(saidBy(answered)), words)
}
