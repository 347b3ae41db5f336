package gitops

import "errors"

// explain turns the failure of a remote repository into an Error for people, without secrets.
func (s *server) explain(err error) error {
	if err == nil {
		return nil
	}
	return s.keys.secret.cleanError(s.explained(err))
}

func (s *server) explained(err error) *Error {
	var (
		known     *Error
		stopped   interruptedError
		status    *statusError
		elsewhere *redirectError
		ssh       *sshError
		tooMuch   packLimitError
		timeSpent timeSpentError
		broken    brokenError
		said      *serverError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &stopped):
		return stopped.explain(s.at.String())
	case errors.As(err, &status):
		return s.explainStatus(status)
	case errors.As(err, &elsewhere):
		return problem(RuleRefusedURL, "%s: %v", s.at, elsewhere).hint("name the repository where it is now")
	case errors.As(err, &ssh):
		return s.denied("over ssh, with the keys of the agent").because(err).hint(ssh.hint).remark(ssh.Error())
	case errors.As(err, &tooMuch):
		return s.tooLarge(tooMuch)
	case errors.As(err, &timeSpent):
		return problem(RuleRemoteFailed, "%s is not read any more in this run: %v", s.at, timeSpent).
			hint("--tenant-limit seconds=NUMBER allows more time")
	case errors.Is(err, errMalformedPack):
		return problem(RulePackRefused, "%s is refused: %s", s.at, oneLine(err.Error()))
	case errors.As(err, &broken):
		return unreachable(s.at.address.authority(), broken.err).about(s.at.String())
	case errors.As(err, &said):
		if w, ok := s.wire.(*httpWire); ok && w.moved() {
			return problem(RuleRemoteFailed, "%s cannot be read: it redirects to another host, which does not serve it", s.at)
		}
		return problem(RuleRemoteFailed, "%s cannot be read: the server says: %s", s.at, said.text)
	default:
		return problem(RuleRemoteFailed, "%s cannot be read: %s", s.at, oneLine(err.Error()))
	}
}

// tooLarge returns the error for a repository that exceeds a size limit.
func (s *server) tooLarge(limit packLimitError) *Error {
	e := problem(RulePackRefused, "%s is refused: %v", s.at, limit)
	if limit.settable && s.budget != nil {
		return e.hint("--tenant-limit repository-bytes=NUMBER allows more")
	}
	return e
}

func (s *server) explainStatus(status *statusError) *Error {
	if denies(status) {
		return s.denied(s.shown()).hint(s.keys.advice(s.role, s.at.address)).remark(status.text)
	}
	return problem(RuleRemoteFailed, "%s cannot be read: the server answers %v", s.at, status)
}

// denied is the error for a repository that the server does not show. Servers do not say whether it
// exists to those who may not see it.
func (s *server) denied(shown string) *Error {
	return problem(RuleAccessDenied, "%s was not found, or the credentials may not see it: %s", s.at, shown)
}
