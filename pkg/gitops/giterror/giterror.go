// Package giterror has the errors of reading and writing repositories: what is wrong, where, and what to do.
package giterror

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"unicode"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// The rules of what a Reader reports.
const (
	// RuleRefusedURL is a name that is malformed, or that must not be read where it was written.
	RuleRefusedURL = "refused-url"
	// RuleBranchNotFound is a branch that the repository does not have; an empty repository too.
	RuleBranchNotFound = "branch-not-found"
	// RuleCommitNotFound is a commit that the repository, or the branch, does not have.
	RuleCommitNotFound = "commit-not-found"
	// RulePathNotFound is a path that the commit does not have.
	RulePathNotFound = "path-not-found"
	// RuleAccessDenied is a repository that does not exist or may not be read.
	RuleAccessDenied = "access-denied"
	// RuleHostUnreachable is a server that does not answer.
	RuleHostUnreachable = "host-unreachable"
	// RuleRemoteFailed is a server that answers with a failure or with nonsense, retries included.
	RuleRemoteFailed = "remote-failed"
	// RulePackRefused is a repository that is too large or that was built to exhaust its reader.
	RulePackRefused = "pack-refused"
	// RulePushRefused is a branch that a server does not let us write.
	RulePushRefused = "push-refused"
	// RuleInvalidRepository is a repository that holds what git would not have written.
	RuleInvalidRepository = "invalid-repository"

	// RuleUncommittedChanges is the notice that a clone's uncommitted changes were not read.
	RuleUncommittedChanges = "uncommitted-changes"
	// RuleLocalState is the notice that what was read of a clone is not what its remote has, and the error that it cannot
	// be published.
	RuleLocalState = "local-state"
	// RuleUncheckedCommit is the notice that a plain directory stands for an exact commit.
	RuleUncheckedCommit = "unchecked-commit"
	// RuleOtherBranch is the notice that a work tree does not hold the branch that is asked for.
	RuleOtherBranch = "other-branch"
	// RuleWholeDirectory is the notice that a plain directory was read as a branch that it has no
	// subdirectory for, although it has some for others.
	RuleWholeDirectory = "whole-folder"
)

// IsRemote reports whether a diagnostic with the rule is the fault of a server or of the way to it,
// rather than of the fleet.
func IsRemote(rule string) bool {
	switch rule {
	case RuleAccessDenied, RuleHostUnreachable, RuleRemoteFailed, RulePushRefused:
		return true
	default:
		return false
	}
}

// ErrConflict says that what a run has read is not the newest any more, or that another run was faster: start over from
// reading.
var ErrConflict = errors.New("remote ref changed")

// ErrSuperseded is an ErrConflict for what was published nevertheless: it was right, and something that it was
// made of has moved since.
var ErrSuperseded = fmt.Errorf("superseded by a newer commit: %w", ErrConflict)

// Error is a repository that could not be read.
type Error struct {
	// Rule is one of the constants above.
	Rule string
	// Message is one line that names the repository; no secret is in it.
	Message string
	// Hint says what to do; it may be empty.
	Hint string
	Err  error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns what was behind it, or nil.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error with a message for people.
func New(rule, format string, args ...any) *Error {
	return &Error{Rule: rule, Message: fmt.Sprintf(format, args...)}
}

// WithHint sets what to do about the error, and returns it.
func (e *Error) WithHint(hint string) *Error {
	e.Hint = hint
	return e
}

// WithCause sets the error that Unwrap returns, and returns e.
func (e *Error) WithCause(err error) *Error {
	e.Err = err
	return e
}

// WithRemark adds what the server said.
func (e *Error) WithRemark(text string) *Error {
	if text != "" {
		e.Message += fmt.Sprintf(" (%s)", OneLine(text))
	}
	return e
}

// InterruptedError is a read that its context ended. Who knows which repository it was of makes an
// Error of it.
type InterruptedError struct {
	// cause is why the context ended, err that it did.
	Cause, Err error
}

// Interrupted returns the error of a context that has ended, with its cause.
func Interrupted(ctx context.Context) error {
	return InterruptedError{context.Cause(ctx), ctx.Err()}
}

func (e InterruptedError) Error() string { return "interrupted: " + e.Cause.Error() }
func (e InterruptedError) Unwrap() error { return e.Err }

// Explain returns the error of a read that was interrupted.
func (e InterruptedError) Explain(at string) *Error {
	return New(RuleRemoteFailed, "reading %s was interrupted: %v", at, e.Cause).WithCause(e.Err)
}

// AddTo adds err to the list at the place and with the subject of ref.
func AddTo(list *diag.List, ref model.Ref, err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = New(RuleInvalidRepository, "%s", OneLine(err.Error()))
	}
	list.Error(e.Rule, Culprit(ref, e.Rule), Subject(ref, e.Message), diag.Hint(e.Hint))
}

// Culprit is the value of a ref to change.
func Culprit(ref model.Ref, rule string) diag.Place {
	part := map[string]diag.Place{
		RuleBranchNotFound: ref.BranchAt, RuleCommitNotFound: ref.CommitAt, RulePathNotFound: ref.PathAt,
	}[rule]
	if part.IsZero() {
		return ref.At
	}
	return part
}

// Subject puts the subject of ref before a message.
func Subject(ref model.Ref, message string) string {
	if ref.Subject == "" {
		return message
	}
	return ref.Subject + ": " + message
}

// Unreachable turns the failure of a connection into an Error with a short cause.
func Unreachable(host string, err error) *Error {
	return New(RuleHostUnreachable, "%s cannot be reached: %s", host, ShortCause(err)).WithCause(err).WithHint(HintCertificate(err))
}

// HintCertificate says what to do about a certificate that is not trusted; it is empty for any other error.
func HintCertificate(err error) string {
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &unknown) {
		return ""
	}
	return "on Linux, SSL_CERT_FILE names a file with the certificate authorities to trust; on other systems, add them to the system's trust store"
}

// ShortCause describes the failure of a connection without the operations and the URL that errors repeat.
func ShortCause(err error) string {
	var (
		dns  *net.DNSError
		cert *tls.CertificateVerificationError
	)
	var timeout net.Error
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no such host"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &cert):
		return OneLine(cert.Err.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timed out"
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return OneLine(err.Error())
		}
		err = inner
	}
}

// maxRemark bounds what is quoted of a server's answer, in characters.
const maxRemark = 201

// OneLine makes untrusted text fit for a message: one line, nothing invisible, not too long.
func OneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		default:
			return r
		}
	}, text)
	return diag.ShortenCharacters(strings.Join(strings.Fields(text), " "), maxRemark)
}

// Cause drops the operation and the absolute path that errors of package os carry.
func Cause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// NoBranch is the error for a branch that is not among those there are.
func NoBranch(repo, name string, names []string) *Error {
	switch {
	case len(names) == 0:
		return New(RuleBranchNotFound, "branch %q not found in %s: it is empty", name, repo).WithHint("push a first commit to it")
	case name == "":
		return New(RuleBranchNotFound, "%s has no default branch; name one", repo).WithHint(diag.DidYouMean(name, names))
	}
	return New(RuleBranchNotFound, "branch %q not found in %s", name, repo).WithHint(diag.DidYouMean(name, names))
}
