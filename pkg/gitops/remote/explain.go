package remote

import (
	"errors"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
)

// explain turns the failure of a remote repository into an Error for people, without secrets.
func (s *server) explain(err error) error {
	if err == nil {
		return nil
	}
	return s.keys.Secret.CleanError(s.explained(err))
}

func (s *server) explained(err error) *giterror.Error {
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
		return stopped.Explain(s.at.String())
	case errors.As(err, &status):
		return s.explainStatus(status)
	case errors.As(err, &elsewhere):
		return giterror.New(giterror.RuleRefusedURL, "%s: %v", s.at, elsewhere).WithHint("name the repository where it is now")
	case errors.As(err, &ssh):
		return s.denied("over ssh, with the keys of the agent").WithCause(err).WithHint(ssh.Hint).WithRemark(ssh.Error())
	case errors.As(err, &tooMuch):
		return s.tooLarge(tooMuch)
	case errors.As(err, &timeSpent):
		return giterror.New(giterror.RuleRemoteFailed, "%s is not read any more in this run: %v", s.at, timeSpent).
			WithHint("--tenant-limit seconds=NUMBER allows more time")
	case errors.Is(err, gitobject.ErrMalformedPack):
		return giterror.New(giterror.RulePackRefused, "%s is refused: %s", s.at, giterror.OneLine(err.Error()))
	case errors.As(err, &broken):
		return giterror.Unreachable(s.at.Address.Authority(), broken.Err).WithSubject(s.at.String())
	case errors.As(err, &said):
		if w, ok := s.wire.(*wire.HTTP); ok && w.Moved() {
			return giterror.New(giterror.RuleRemoteFailed, "%s cannot be read: it redirects to another host, which does not serve it", s.at)
		}
		return giterror.New(giterror.RuleRemoteFailed, "%s cannot be read: the server says: %s", s.at, said.Text)
	default:
		return giterror.New(giterror.RuleRemoteFailed, "%s cannot be read: %s", s.at, giterror.OneLine(err.Error()))
	}
}

// TooLarge returns the error for a repository that exceeds a size limit.
func (s *server) tooLarge(limit gitobject.PackLimitError) *giterror.Error {
	e := giterror.New(giterror.RulePackRefused, "%s is refused: %v", s.at, limit)
	if limit.Settable && s.budget != nil {
		return e.WithHint("--tenant-limit repository-bytes=NUMBER allows more")
	}
	return e
}

func (s *server) explainStatus(status *wire.StatusError) *giterror.Error {
	if denies(status) {
		return s.denied(s.shown()).WithHint(s.keys.Advice(s.role, s.at.Address)).WithRemark(status.Text)
	}
	return giterror.New(giterror.RuleRemoteFailed, "%s cannot be read: the server answers %v", s.at, status)
}

// denied is the error for a repository that the server does not show. Servers do not say whether it
// exists to those who may not see it.
func (s *server) denied(shown string) *giterror.Error {
	return giterror.New(giterror.RuleAccessDenied, "%s was not found, or the credentials may not see it: %s", s.at, shown)
}
