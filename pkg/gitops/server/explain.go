package server

import (
	"errors"
	"net/http"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
)

// ExplainPush turns the failure of a push of branches into an Error, which may contain secrets.
func (s *Connection) ExplainPush(err error, branches string) *giterror.Error {
	var status *wire.StatusError
	var stopped giterror.InterruptedError
	switch {
	case errors.As(err, &stopped):
		return giterror.New(giterror.RuleRemoteFailed, "pushing to %s was interrupted: %v", s.At, stopped.Cause).WithCause(stopped.Err)
	case errors.As(err, &status) && denies(status):
		return giterror.New(giterror.RuleAccessDenied, "%s: push access denied: %s", s.At, s.shown()).
			WithHint(s.Keys.AdviceToWrite(s.Role, s.credential(), s.At.Address)).WithRemark(status.Text)
	default:
		e := s.explained(err)
		e.Message = "push " + branches + ": " + e.Message
		return e
	}
}

// denies reports whether the status refuses the credential for good.
func denies(e *wire.StatusError) bool {
	switch e.Code {
	case http.StatusUnauthorized, http.StatusNotFound:
		return true
	default:
		return e.Code == http.StatusForbidden && !wire.Transient(e)
	}
}

// shown describes the credential that was sent.
func (s *Connection) shown() string {
	if c := s.credential(); c != nil {
		return "the one from " + c.Origin + " was sent"
	}
	return "no credential was sent"
}

// credential returns the credential that is sent, or nil.
func (s *Connection) credential() *credentials.Credential {
	if w, ok := s.wire.(*wire.HTTP); ok {
		return w.Credential
	}
	return nil
}

// explain turns an error into an Error without secrets.
func (s *Connection) explain(err error) error {
	if err == nil {
		return nil
	}
	return s.Keys.Secret.CleanError(s.explained(err))
}

func (s *Connection) explained(err error) *giterror.Error {
	var (
		known     *giterror.Error
		stopped   giterror.InterruptedError
		status    *wire.StatusError
		elsewhere *wire.RedirectError
		ssh       *wire.SSHError
		tooMuch   gitobject.PackLimitError
		timeSpent wire.TimeSpentError
		broken    wire.BrokenError
		said      *wire.ServerError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &stopped):
		return stopped.Explain(s.At.String())
	case errors.As(err, &status):
		return s.explainStatus(status)
	case errors.As(err, &elsewhere):
		return giterror.New(giterror.RuleRefusedURL, "%s: %v", s.At, elsewhere).WithHint("use the new address of the repository")
	case errors.As(err, &ssh):
		return s.denied("over ssh, with the keys of the agent").WithCause(err).WithHint(ssh.Hint).WithRemark(ssh.Error())
	case errors.As(err, &tooMuch):
		return s.tooLarge(tooMuch)
	case errors.As(err, &timeSpent):
		return giterror.New(giterror.RuleRemoteFailed, "%s is no longer read in this run: %v", s.At, timeSpent).
			WithHint("--tenant-limit seconds=NUMBER allows more time")
	case errors.Is(err, gitobject.ErrMalformedPack):
		return giterror.New(giterror.RulePackRefused, "%s is refused: %s", s.At, giterror.OneLine(err.Error()))
	case errors.As(err, &broken):
		e := giterror.Unreachable(s.At.Address.Authority(), broken.Err)
		e.Message = s.At.String() + ": " + e.Message
		return e
	case errors.As(err, &said):
		return giterror.New(giterror.RuleRemoteFailed, "%s cannot be read: the server reports: %s", s.At, said.Text)
	default:
		return giterror.New(giterror.RuleRemoteFailed, "%s cannot be read: %s", s.At, giterror.OneLine(err.Error()))
	}
}

// tooLarge returns the error for a repository that exceeds a size limit.
func (s *Connection) tooLarge(limit gitobject.PackLimitError) *giterror.Error {
	e := giterror.New(giterror.RulePackRefused, "%s is refused: %v", s.At, limit)
	if limit.Settable && s.Budget != nil {
		return e.WithHint("--tenant-limit repository-bytes=NUMBER allows more")
	}
	return e
}

func (s *Connection) explainStatus(status *wire.StatusError) *giterror.Error {
	if denies(status) {
		return s.denied(s.shown()).WithHint(s.Keys.Advice(s.Role, s.credential(), s.At.Address)).WithRemark(status.Text)
	}
	return giterror.New(giterror.RuleRemoteFailed, "%s cannot be read: the server answers %v", s.At, status)
}

// denied returns the error for a repository that the server does not show. Servers do not distinguish repositories that
// do not exist from those that the credentials may not read.
func (s *Connection) denied(shown string) *giterror.Error {
	return giterror.New(giterror.RuleAccessDenied, "%s was not found, or the credentials may not see it: %s", s.At, shown)
}
