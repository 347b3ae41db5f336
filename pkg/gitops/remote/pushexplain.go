package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
)

// explainPush implements pushable.
func (s *server) explainPush(err error, order PushOrder) error {
	var status *wire.StatusError
	var stopped giterror.InterruptedError
	var refused *pushRefused
	switch {
	case errors.As(err, &stopped):
		return s.keys.Secret.CleanError(giterror.New(giterror.RuleRemoteFailed, "pushing to %s was interrupted: %v", s.at, stopped.Cause).WithCause(stopped.Err))
	case errors.As(err, &refused):
		return s.keys.Secret.CleanError(explainRefusal(s.at.String(), err, order))
	case errors.As(err, &status) && denies(status):
		e := giterror.New(giterror.RuleAccessDenied, "%s must not be written with these credentials: %s", s.at, s.shown()).
			WithHint(s.keys.AdviceToWrite(s.role, s.credential(), s.at.Address)).WithRemark(status.Text)
		return s.keys.Secret.CleanError(e)
	default:
		e := s.explained(err)
		e.Message = "push " + order.names() + ": " + e.Message
		return s.keys.Secret.CleanError(e)
	}
}

// denies reports whether the status is about who asks, and final.
func denies(e *wire.StatusError) bool {
	switch e.Code {
	case http.StatusUnauthorized, http.StatusNotFound:
		return true
	default:
		return e.Code == http.StatusForbidden && !wire.Transient(e)
	}
}

// shown says which credential was sent.
func (s *server) shown() string {
	if c := s.credential(); c != nil {
		return "the one from " + c.Origin + " was sent"
	}
	return "no credential was sent"
}

// credential returns what is shown to the server, or nil.
func (s *server) credential() *credentials.Credential {
	if w, ok := s.wire.(*wire.HTTP); ok {
		return w.Credential
	}
	return nil
}

// pushRule is what servers say of a branch that is protected, with what can be done.
type pushRule struct {
	// said is in the text of the server, in lower case; rule is what people find in its settings.
	said, rule string
	// do helps with any push; publish is instead of it where an output is published, if it is not empty.
	do, publish string
	// direct says that it is in the way of a commit to the branch, and not of a pull request into it.
	direct bool
}

const exempt = "exempt kalypso's App or account from the rule"

// pushRules are in order: the first one that fits is told.
var pushRules = []pushRule{
	{said: "signatures", rule: "Require signed commits", do: "give a key with --signing-key whose public half the author's account has, or exempt the author from the rule"},
	{said: "creations being restricted", rule: "Restrict creations", do: exempt + " for this branch"},
	{said: "changes must be made through a pull request", rule: "Require a pull request before merging", do: exempt, publish: "publish without --direct, or " + exempt, direct: true},
	{said: "must use a pull request", rule: "a branch policy", do: exempt, publish: "publish without --direct, or " + exempt, direct: true}, // Azure DevOps
	{said: "force-push", rule: "Block force pushes", do: exempt + ": a new promotion replaces the one before", publish: exempt + ": a new output replaces the one before"},
	{said: "non-fast-forward", rule: "Deny non-fast-forwards", do: "allow it for this branch: a new promotion replaces the one before", publish: "allow it for this branch: a new output replaces the one before"},
	{said: "status check", rule: "Require status checks to pass", do: exempt + " for this branch", direct: true},
	{said: "cannot update this protected ref", rule: "Restrict updates", do: exempt + " for this branch", direct: true},
	{said: "workflow", rule: "the permission workflows", do: "give kalypso's App or token the permission workflows: write", publish: "give kalypso's App or token the permission workflows: write, or keep .github/workflows out of the path of the GitOpsRepo"},
	{said: "currently checked out", rule: "receive.denyCurrentBranch", do: "push to a bare repository, or check out another branch there", publish: "publish to a bare repository, or check out another branch there"},
	{said: "protected branch", rule: "a branch protection rule", do: exempt + " for this branch", direct: true},
	{said: "rule violations", rule: "a ruleset", do: "exempt kalypso's App or account from the rules for this branch", direct: true},
}

// advice says what can be done about a push that the rule forbids.
func (r pushRule) advice(purpose PushPurpose) string {
	switch {
	case purpose == toPublish && r.publish != "":
		return r.publish
	case purpose == ToPromote && r.direct:
		return "open a pull request instead with --pull-request, or " + r.do
	default:
		return r.do
	}
}

// explainRule names the rule that a server has refused a push for, if it is a known one, and what can be done.
func explainRule(e *giterror.Error, said string, purpose PushPurpose) {
	said = strings.ToLower(said)
	for _, r := range pushRules {
		if strings.Contains(said, r.said) {
			e.Message += fmt.Sprintf(" (%s)", r.rule)
			e.Hint = r.advice(purpose)
			return
		}
	}
	if purpose == ToPromote {
		e.Hint = "if the branch is protected, --pull-request opens a pull request instead"
	}
}

// explainRefusal explains why a server did not take a push. What it said in words comes with it, as it
// is the only one who knows.
func explainRefusal(repo string, err error, order PushOrder) *giterror.Error {
	var refused *pushRefused
	if !errors.As(err, &refused) {
		var known *giterror.Error
		if errors.As(err, &known) {
			return known
		}
		rule := giterror.RuleRemoteFailed
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return giterror.New(rule, "pushing to %s was interrupted", repo).WithCause(err)
		}
		return giterror.New(rule, "push %s to %s: %s", order.names(), repo, giterror.OneLine(err.Error()))
	}
	e := giterror.New(giterror.RulePushRefused, "%s refuses the push of %s: %s", repo, order.names(), giterror.OneLine(refused.reason))
	explainRule(e, refused.text+" "+refused.reason, order.Purpose)
	return e.WithRemark(strings.TrimSpace(refused.text))
}
