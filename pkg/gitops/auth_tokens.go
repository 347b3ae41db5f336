package gitops

import (
	"context"
	"errors"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// AppOrigin is the origin of a credential that a TokenSource minted.
const AppOrigin = "the GitHub App"

// TokenSource mints tokens for repositories over https, as a GitHub App does. Repositories are in normal form. It is
// used by several goroutines at once.
type TokenSource interface {
	// Expect says, before the first Token for one of them, which repositories a run needs in a role, so that they can
	// share a token.
	Expect(role model.Role, repos []string)
	// Token returns a token that is good for at least a few minutes. It is empty, without an error, if there is none
	// for the repository: then other credentials are tried. The error is an *Error, without secrets.
	Token(ctx context.Context, role model.Role, repo string) (string, error)
	// Advice says what a person can do so that there is a token for the repository; empty for nothing.
	Advice(role model.Role, repo string) string
}

// expect tells the TokenSource of the repositories that no other credential goes before.
func (k *keyring) expect(reached map[model.Role][]address) {
	if k.tokens == nil {
		return
	}
	for role, addresses := range reached {
		var repos []string
		for _, a := range addresses {
			if k.ofRole(role, a) == nil {
				repos = append(repos, a.String())
			}
		}
		if len(repos) > 0 {
			k.tokens.Expect(role, repos)
		}
	}
}

// minted returns the credential of the TokenSource, or nil.
func (k *keyring) minted(ctx context.Context, role model.Role, a address) (*credential, error) {
	if k.tokens == nil || a.scheme == "ssh" {
		return nil, nil
	}
	token, err := k.mint(ctx, role, a)
	if token == "" || err != nil {
		return nil, err
	}
	renew := func(ctx context.Context) (string, error) { return k.mint(ctx, role, a) }
	return &credential{user: tokenUser, password: token, origin: AppOrigin, renew: renew}, nil
}

func (k *keyring) mint(ctx context.Context, role model.Role, a address) (string, error) {
	token, err := k.tokens.Token(ctx, role, a.String())
	if err != nil {
		if ctx.Err() != nil {
			return "", interrupted(ctx)
		}
		var known *Error
		if !errors.As(err, &known) {
			known = problem(RuleRemoteFailed, "%s: %s", a, oneLine(err.Error()))
		}
		return "", known
	}
	k.secret.add(token)
	return token, nil
}
