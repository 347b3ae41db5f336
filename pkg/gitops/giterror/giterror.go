// Package giterror has the errors of reading and writing repositories.
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

// The rules of the diagnostics of a Reader.
const (
	// RuleRefusedURL is a repository URL that is malformed, or not allowed in its place.
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
	// RuleRemoteFailed is a server that answers with an error or an invalid answer, after retries.
	RuleRemoteFailed = "remote-failed"
	// RulePackRefused is a repository that exceeds a limit.
	RulePackRefused = "pack-refused"
	// RulePushRefused is a branch to which a server refuses a push.
	RulePushRefused = "push-refused"
	// RuleInvalidRepository is a repository with content that git would not write.
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

// IsRemote reports whether a diagnostic with the rule is an error of a server or the network, not of the fleet.
func IsRemote(rule string) bool {
	switch rule {
	case RuleAccessDenied, RuleHostUnreachable, RuleRemoteFailed, RulePushRefused:
		return true
	default:
		return false
	}
}

// ErrConflict means that a ref has changed since the run read it: the run must start again from reading.
var ErrConflict = errors.New("remote ref changed")

// ErrSuperseded is an ErrConflict after a publication: the output was correct, but a source has changed since.
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

// Unwrap returns the wrapped error, or nil.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error with a message.
func New(rule, format string, args ...any) *Error {
	return &Error{Rule: rule, Message: fmt.Sprintf(format, args...)}
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(hint string) *Error {
	e.Hint = hint
	return e
}

// WithCause sets the error that Unwrap returns, and returns e.
func (e *Error) WithCause(err error) *Error {
	e.Err = err
	return e
}

// WithRemark adds the text of a server.
func (e *Error) WithRemark(text string) *Error {
	if text != "" {
		e.Message += fmt.Sprintf(" (%s)", OneLine(text))
	}
	return e
}

// InterruptedError is the error of a read whose context ended. A caller that knows the repository turns it into an Error.
type InterruptedError struct {
	// Cause is the cause of the end of the context, Err its error.
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

// Culprit returns the place of the value of a ref that causes an error of a rule.
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

// HintCertificate returns the hint for a certificate that is not trusted; empty for other errors.
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

// maxRemark is the maximum length of a quoted answer of a server, in characters.
const maxRemark = 201

// OneLine sanitizes untrusted text for a message: one line of limited length, without invisible characters.
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

// Cause removes the operation and the absolute path from errors of package os.
func Cause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// NoBranch returns the error for a branch that is not among names.
func NoBranch(repo, name string, names []string) *Error {
	switch {
	case len(names) == 0:
		return New(RuleBranchNotFound, "branch %q not found in %s: it is empty", name, repo).WithHint("push a first commit to it")
	case name == "":
		return New(RuleBranchNotFound, "%s has no default branch; name one", repo).WithHint(diag.DidYouMean(name, names))
	}
	return New(RuleBranchNotFound, "branch %q not found in %s", name, repo).WithHint(diag.DidYouMean(name, names))
}
