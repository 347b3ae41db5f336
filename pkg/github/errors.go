package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// Kind is the kind of an Error.
type Kind string

// The kinds of errors. All of them are errors of the remote, not of the fleet.
const (
	// Denied is a token that is refused or lacks a permission.
	Denied Kind = "denied"
	// NotFound is something that does not exist or is not visible to the token.
	NotFound Kind = "not-found"
	// RateLimited is a rate limit with a longer wait than Limits.Wait or the context allow.
	RateLimited Kind = "rate-limited"
	// Unavailable is a server without an answer, or with an error or an invalid answer, after retries.
	Unavailable Kind = "unavailable"
	// Invalid is a request that GitHub refuses regardless of the token.
	Invalid Kind = "invalid"
)

// Error is the error of a request to GitHub. It is giterror.ErrConflict if a remote ref has changed.
type Error struct {
	Kind Kind
	// Repository is "owner/name".
	Repository string
	// Act is the action, such as "open a pull request".
	Act string
	// Message is one line without secrets.
	Message string
	// Hint says what to do; it may be empty.
	Hint string
	// Status is that of GitHub's answer; zero if there was none.
	Status int
	// Permission is the missing permission, such as "pull requests: write"; empty for other errors.
	Permission string

	// moved is true if the run should start again from reading.
	moved bool
	// maybeDone is true if the action may have succeeded.
	maybeDone bool
	err       error
}

// Error returns the action, the repository and the message.
func (e *Error) Error() string {
	if e.Act == "" {
		return e.Message
	}
	return fmt.Sprintf("%s in %s: %s", e.Act, e.Repository, e.Message)
}

// Unwrap returns the error of the context that ended the request, or nil.
func (e *Error) Unwrap() error { return e.err }

// Is reports whether the error is giterror.ErrConflict.
func (e *Error) Is(target error) bool { return e.moved && target == giterror.ErrConflict }

// operation is an action on GitHub and the permission that it needs.
type operation struct {
	act  string
	need string
}

func (r *Repository) explain(op operation, err error) error {
	if err == nil {
		return nil
	}
	e := r.client.wire.classify(op, err)
	if e.Act == "" { // else it is the error of a previous operation
		e.Repository, e.Act = r.String(), op.act
	}
	return e
}

func (t *transport) classify(op operation, err error) *Error {
	var (
		known    *Error
		answered *gh.ErrorResponse
	)
	switch {
	case errors.As(err, &known):
		e := *known
		return &e
	case errors.As(err, &answered) && answered.Response != nil:
		return t.refusal(op, answered)
	}
	return &Error{
		Kind: Unavailable, Message: t.secrets.Line(reason(err)), Hint: giterror.HintCertificate(err),
		maybeDone: true, err: harmlessCause(err),
	}
}

// harmlessCause returns the error of a context, or nil: other wrapped errors may contain a secret.
func harmlessCause(err error) error {
	for _, harmless := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, harmless) {
			return harmless
		}
	}
	return nil
}

func hintLater(kind Kind) string {
	if kind == RateLimited {
		return "run again later; a GitHub App has a separate limit"
	}
	return "run again later"
}

// hidden is the prefix of hints for status 404.
const hidden = "not found, or not visible to the token: "

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
			// GitHub also returns 404 for a missing permission.
			t.lack(e, op.need)
			e.Hint = hidden + e.Hint
		}
	case http.StatusGone:
		e.Hint = "issues are turned off in the repository's settings"
	}
	return e
}

// deny explains a 403, which has other reasons besides a missing permission.
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
		e.Hint = "the organization allows only listed IP addresses: add that of this machine"
	default:
		t.lack(e, op.need)
	}
}

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

// inWorkflow returns permissions in the format of workflows; of alternatives, the first.
func inWorkflow(permissions string) string {
	permissions, _, _ = strings.Cut(permissions, " or ")
	var asked []string
	for one := range strings.SplitSeq(permissions, " and ") {
		name, level, _ := strings.Cut(one, ": ")
		asked = append(asked, strings.ReplaceAll(name, " ", "-")+": "+level)
	}
	return strings.Join(asked, ", ")
}

// saidBy returns GitHub's message about an error and its fields.
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

// status returns the HTTP status of an error; zero if there is none.
func status(err error) int {
	var answered *gh.ErrorResponse
	if errors.As(err, &answered) && answered.Response != nil {
		return answered.Response.StatusCode
	}
	return 0
}

// complains reports whether an error has a code for a field.
func complains(err error, field, code string) bool {
	var answered *gh.ErrorResponse
	return errors.As(err, &answered) && slices.ContainsFunc(answered.Errors, func(e gh.Error) bool {
		return e.Field == field && e.Code == code
	})
}

// says reports whether GitHub's message about an error contains words in lower case.
func says(err error, words string) bool {
	var answered *gh.ErrorResponse
	return errors.As(err, &answered) && strings.Contains(strings.ToLower(saidBy(answered)), words)
}
