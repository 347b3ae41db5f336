package github

import (
	"context"
	"errors"
	"fmt"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
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

// Error is something that could not be done on GitHub. Those that mean that somebody else was faster are
// remote.ErrMoved, too.
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

	// moved says that starting over from reading may succeed, or find that there is nothing to do.
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

// Is reports whether the error is remote.ErrMoved.
func (e *Error) Is(target error) bool { return e.moved && target == remote.ErrMoved }

// operation is something that is done on GitHub, and the permission that it takes.
type operation struct {
	act  string
	need string
}

// explain turns what came of an operation into an Error, or nil.
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
		return "run again later; a GitHub App has a limit of its own"
	}
	return "run again later"
}
