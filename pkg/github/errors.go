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

// Kind says what sort of failure an Error is.
type Kind string

// The kinds of failures. All of them are failures of the remote, not of the fleet.
const (
	// Denied is a token that is refused, or that lacks a permission.
	Denied Kind = "denied"
	// NotFound is what does not exist, or must not be known to exist by this token.
	NotFound Kind = "not-found"
	// RateLimited is too many requests, for longer than there is time.
	RateLimited Kind = "rate-limited"
	// Unavailable is a server that does not answer, or answers with a failure or nonsense, tries included.
	Unavailable Kind = "unavailable"
	// Invalid is a request that GitHub understands and will not do, whoever asks.
	Invalid Kind = "invalid"
)

// Error is something that could not be done on GitHub. Those that mean that a remote ref changed are
// giterror.ErrConflict, too.
type Error struct {
	Kind Kind
	// Repository is "owner/name".
	Repository string
	// Act is what was tried, such as "open a pull request".
	Act string
	// Message is one line; no secret is in it.
	Message string
	// Hint says what to do; it may be empty.
	Hint string
	// Status is that of GitHub's answer; zero if there was none.
	Status int
	// Permission is what the token lacks, such as "pull requests: write"; empty if that is not it.
	Permission string

	// moved is true if starting again from reading may succeed, or find that nothing is left to do.
	moved bool
	// maybeDone says that GitHub may have done it nevertheless.
	maybeDone bool
	err       error
}

// Error says what was tried, where, and why it was not done.
func (e *Error) Error() string {
	if e.Act == "" {
		return e.Message
	}
	return fmt.Sprintf("%s in %s: %s", e.Act, e.Repository, e.Message)
}

// Unwrap returns the end of a context that was behind it, or nil.
func (e *Error) Unwrap() error { return e.err }

// Is reports whether the error is giterror.ErrConflict.
func (e *Error) Is(target error) bool { return e.moved && target == giterror.ErrConflict }

// operation is something that is done on GitHub, and the permission that it takes.
type operation struct {
	act  string
	need string
}

func (r *Repository) explain(op operation, err error) error {
	if err == nil {
		return nil
	}
	e := r.client.wire.classify(op, err)
	if e.Act == "" { // else it is about something that had to be done first
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

// harmlessCause keeps of what was behind an error only the end of a context: anything else may hold a secret.
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

// hidden is how a hint begins about what GitHub says is not there.
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
