package gitops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// RulePushRefused is a branch that a server does not let us write.
const RulePushRefused = "push-refused"

// sender implements pushable. It connects anew: the credential that reads need not be the one that
// writes, and a server may ask for one only then.
func (m *remote) sender(ctx context.Context) (sender, error) {
	switch w := m.wire.(type) {
	case *sshWire:
		return w, nil
	case *httpWire:
		again := newHTTPWire(m.net.transport, m.at.address, w.credential)
		again.base = w.base
		if w.credential == nil {
			if asked := m.keys.ask(ctx, m.at.address); asked != nil {
				again.credential = asked
			}
		}
		return again, nil
	default:
		return nil, errors.New("there is no way to write to this repository")
	}
}

// tipsNow implements pushable.
func (m *remote) tipsNow(ctx context.Context) (map[string]plumbing.Hash, error) {
	var refs *packp.AdvRefs
	err := m.net.retry(ctx, func(at attempt) (err error) {
		refs, err = m.wire.advertise(at)
		return err
	})
	if err != nil {
		return nil, m.explain(err)
	}
	return branchesOf(refs), nil
}

// branchesOf returns the branches that a server has listed.
func branchesOf(refs *packp.AdvRefs) map[string]plumbing.Hash {
	branches := map[string]plumbing.Hash{}
	for name, id := range refs.References {
		if branch, found := strings.CutPrefix(name, "refs/heads/"); found {
			branches[branch] = id
		}
	}
	return branches
}

// explainPush implements pushable.
func (m *remote) explainPush(err error, order pushOrder) error {
	var status *statusError
	var stopped interruptedError
	var refused *pushRefused
	switch {
	case errors.As(err, &stopped):
		return m.keys.secret.cleanError(problem(RuleRemoteFailed, "pushing to %s was interrupted: %v", m.at, stopped.cause).because(stopped.err))
	case errors.As(err, &refused):
		return m.keys.secret.cleanError(explainRefusal(m.at.String(), err, order))
	case errors.As(err, &status) && status.denies():
		e := problem(RuleAccessDenied, "%s must not be written with these credentials: %s", m.at, m.shown()).
			hint(m.keys.adviceToWrite(m.credential(), m.at.address)).remark(status.text)
		return m.keys.secret.cleanError(e)
	default:
		e := m.explained(err)
		e.Message = "push " + order.names() + ": " + e.Message
		return m.keys.secret.cleanError(e)
	}
}

// denies reports whether the status is about who asks, and final.
func (e *statusError) denies() bool {
	switch e.code {
	case http.StatusUnauthorized, http.StatusNotFound:
		return true
	default:
		return e.code == http.StatusForbidden && !transient(e)
	}
}

// shown says which credential was sent.
func (m *remote) shown() string {
	if c := m.credential(); c != nil {
		return "the one from " + c.origin + " was sent"
	}
	return "no credential was sent"
}

// credential returns what is shown to the server, or nil.
func (m *remote) credential() *credential {
	if w, ok := m.wire.(*httpWire); ok {
		return w.credential
	}
	return nil
}

func (o pushOrder) names() string {
	names := make([]string, len(o.updates))
	for i, u := range o.updates {
		names[i] = u.branch
	}
	return strings.Join(names, ", ")
}

// pushRules are what servers say of a branch that is protected, with what can be done.
var pushRules = []struct{ said, rule, do string }{
	{"signatures", "Require signed commits", "give a key with --signing-key whose public half the author's account has, or exempt the author from the rule"},
	{"creations being restricted", "Restrict creations", "exempt kalypso's App or account from the rule for this branch"},
	{"changes must be made through a pull request", "Require a pull request before merging", "publish without --direct, or exempt kalypso's App or account from the rule"},
	{"force-push", "Block force pushes", "exempt kalypso's App or account from the rule: a new output replaces the one before"},
	{"non-fast-forward", "Deny non-fast-forwards", "allow it for this branch: a new output replaces the one before"},
	{"status check", "Require status checks to pass", "exempt kalypso's App or account from the rule for this branch"},
	{"cannot update this protected ref", "Restrict updates", "exempt kalypso's App or account from the rule for this branch"},
	{"workflow", "the permission workflows", "give kalypso's App or token the permission workflows: write, or keep .github/workflows out of the path of the GitOpsRepo"},
	{"currently checked out", "receive.denyCurrentBranch", "publish to a bare repository, or check out another branch there"},
	{"protected branch", "a branch protection rule", "exempt kalypso's App or account from the rule for this branch"},
	{"rule violations", "a ruleset", "exempt kalypso's App or account from the rules for this branch"},
}

// explainRefusal explains why a server did not take a push. What it said in words comes with it, as it
// is the only one who knows.
func explainRefusal(repo string, err error, order pushOrder) *Error {
	var refused *pushRefused
	if !errors.As(err, &refused) {
		var known *Error
		if errors.As(err, &known) {
			return known
		}
		rule := RuleRemoteFailed
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return problem(rule, "pushing to %s was interrupted", repo).because(err)
		}
		return problem(rule, "push %s to %s: %s", order.names(), repo, oneLine(err.Error()))
	}
	e := problem(RulePushRefused, "%s refuses the push of %s: %s", repo, order.names(), oneLine(refused.reason))
	text := strings.ToLower(refused.text + " " + refused.reason)
	for _, r := range pushRules {
		if strings.Contains(text, r.said) {
			e.Message += fmt.Sprintf(" (%s)", r.rule)
			e.Hint = r.do
			break
		}
	}
	return e.remark(strings.TrimSpace(refused.text))
}
