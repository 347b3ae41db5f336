package credentials

import (
	"context"
	"errors"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
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

// Expect tells the TokenSource of the repositories that no other credential goes before.
func (k *Keyring) Expect(reached map[model.Role][]giturl.Address) {
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
func (k *Keyring) minted(ctx context.Context, role model.Role, a giturl.Address) (*Credential, error) {
	if k.tokens == nil || a.Scheme == "ssh" {
		return nil, nil
	}
	token, err := k.mint(ctx, role, a)
	if token == "" || err != nil {
		return nil, err
	}
	renew := func(ctx context.Context) (string, error) { return k.mint(ctx, role, a) }
	return &Credential{User: TokenUser, Password: token, Origin: AppOrigin, Renew: renew}, nil
}

func (k *Keyring) mint(ctx context.Context, role model.Role, a giturl.Address) (string, error) {
	token, err := k.tokens.Token(ctx, role, a.String())
	if err != nil {
		if ctx.Err() != nil {
			return "", giterror.Interrupted(ctx)
		}
		var known *giterror.Error
		if !errors.As(err, &known) {
			known = giterror.New(giterror.RuleRemoteFailed, "%s: %s", a, giterror.OneLine(err.Error()))
		}
		return "", known
	}
	k.Secret.Add(token)
	return token, nil
}
