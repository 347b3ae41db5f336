package remote

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// pushRule is a rule for branches that can refuse a push.
type pushRule struct {
	// said is in the output of the server, in lower case; rule is the name of the rule in its settings.
	said, rule string
	// do is the hint; publish, if it is not empty, the hint when an output is published.
	do, publish string
	// direct is true if a pull request into the branch is allowed.
	direct bool
}

const exempt = "exempt kalypso's App or account from the rule"

// pushRules are in order: the first one that matches is reported.
var pushRules = []pushRule{
	{said: "signatures", rule: "Require signed commits", do: "use a key with --signing-key whose public half the author's account has, or exempt the author from the rule"},
	{said: "creations being restricted", rule: "Restrict creations", do: exempt + " for this branch"},
	{said: "changes must be made through a pull request", rule: "Require a pull request before merging", do: exempt, publish: "publish without --direct, or " + exempt, direct: true},
	{said: "must use a pull request", rule: "a branch policy", do: exempt, publish: "publish without --direct, or " + exempt, direct: true}, // Azure DevOps
	{said: "force-push", rule: "Block force pushes", do: exempt + ": a new promotion replaces the one before", publish: exempt + ": a new output replaces the one before"},
	{said: "non-fast-forward", rule: "Deny non-fast-forwards", do: "allow it for this branch: a new promotion replaces the one before", publish: "allow it for this branch: a new output replaces the one before"},
	{said: "status check", rule: "Require status checks to pass", do: exempt + " for this branch", direct: true},
	{said: "cannot update this protected ref", rule: "Restrict updates", do: exempt + " for this branch", direct: true},
	{said: "workflow", rule: "the permission workflows", do: "grant kalypso's App or token the permission workflows: write", publish: "grant kalypso's App or token the permission workflows: write, or keep .github/workflows out of the path of the GitOpsRepo"},
	{said: "currently checked out", rule: "receive.denyCurrentBranch", do: "push to a bare repository, or check out another branch there", publish: "publish to a bare repository, or check out another branch there"},
	{said: "protected branch", rule: "a branch protection rule", do: exempt + " for this branch", direct: true},
	{said: "rule violations", rule: "a ruleset", do: "exempt kalypso's App or account from the rules for this branch", direct: true},
}

// advice returns the hint for a push that the rule forbids.
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

// explainRule adds the rule that refuses a push, if it is a known one, and a hint.
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

// explainPush turns the failure of a push into an Error, with the output of the server.
func explainPush(to Repository, err error, order PushOrder) *giterror.Error {
	refused, ok := errors.AsType[*pushRefused](err)
	if !ok {
		return to.ExplainPush(err, order.names())
	}
	e := giterror.New(giterror.RulePushRefused, "%s refuses the push of %s: %s", to, order.names(), giterror.OneLine(refused.reason))
	explainRule(e, refused.text+" "+refused.reason, order.Purpose)
	return e.WithRemark(strings.TrimSpace(refused.text))
}
