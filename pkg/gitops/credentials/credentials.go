// Package credentials decides which secret is sent to which host, and keeps secrets out of texts.
package credentials

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// The environment variables that hold tokens.
const (
	EnvControlPlane = "KALYPSO_CONTROL_PLANE_TOKEN"
	EnvSource       = "KALYPSO_SOURCE_TOKEN"
	EnvGitOps       = "KALYPSO_GITOPS_TOKEN"
	EnvGitHub       = "GITHUB_TOKEN"
	EnvGH           = "GH_TOKEN"
	EnvGitHubServer = "GITHUB_SERVER_URL"
	// EnvTokenHosts is a comma-separated list of hosts, besides GitHub's, that may get the tokens of roles.
	EnvTokenHosts = "KALYPSO_TOKEN_HOSTS"
)

// TokenUser goes with a token where a user name and a password are asked for. GitHub, GitLab,
// Bitbucket and Azure DevOps do not look at it.
const TokenUser = "x-access-token"

// Credential is what a server is shown. It prints as where it is from, never as what it is.
type Credential struct {
	User, Password string
	// Origin says where it is from: a variable, AppOrigin, "netrc", "git credential".
	Origin string
	// Renew returns the password to be sent now, in place of password, for one that ends; nil if it does not end.
	Renew func(ctx context.Context) (string, error)
}

// Now returns the password to be sent now.
func (c Credential) Now(ctx context.Context) (string, error) {
	if c.Renew == nil {
		return c.Password, nil
	}
	return c.Renew(ctx)
}

// String returns the origin.
func (c Credential) String() string { return c.Origin }

// GoString returns the origin.
func (c Credential) GoString() string { return c.Origin }

// CredentialHelper asks for a user name and a password for one repository. It must not ask a
// person. Both are empty, without an error, if it knows none.
type CredentialHelper func(ctx context.Context, scheme, host, path, user string) (name, password string, err error)

// Keyring knows which credential goes to which host. A host is its authority: "example.com",
// "example.com:8443".
type Keyring struct {
	env    func(string) string
	helper CredentialHelper
	// tokens may be nil.
	tokens TokenSource
	// Secret knows all secrets that were handed out.
	Secret *Scrubber
	netrc  func() []netrcEntry

	mu sync.Mutex
	// bound is the one host that each role's token goes to.
	bound map[string]string
}

// NewKeyring returns the credentials of an environment, asking helper and tokens (either may be nil) for others.
func NewKeyring(env func(string) string, helper CredentialHelper, tokens TokenSource) *Keyring {
	k := &Keyring{env: env, helper: helper, tokens: tokens, Secret: &Scrubber{}, bound: map[string]string{}}
	for _, name := range []string{EnvControlPlane, EnvSource, EnvGitOps, EnvGitHub, EnvGH} {
		k.Secret.Add(env(name))
	}
	k.netrc = sync.OnceValue(func() []netrcEntry { return readNetrc(env) })
	return k
}

// RoleVariable is the variable with the token for repositories of a role.
func RoleVariable(role model.Role) string {
	switch role {
	case model.Tenant:
		return EnvSource
	case model.Output:
		return EnvGitOps
	default:
		return EnvControlPlane
	}
}

// Bind decides which host the token of each role goes to: the one that the role's repositories are
// on, if it may have tokens. Where they are on several that may, it is GitHub's if that is among them,
// else none. Once decided it stays: a token is never shown to a second host.
func (k *Keyring) Bind(hosts map[string][]string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for variable, named := range hosts {
		named = slices.DeleteFunc(named, func(host string) bool { return !slices.Contains(k.tokenHosts(), host) })
		if k.bound[variable] != "" || len(named) == 0 {
			continue
		}
		slices.Sort(named)
		switch named = slices.Compact(named); {
		case len(named) == 1:
			k.bound[variable] = named[0]
		case slices.Contains(named, k.gitHubHost()):
			k.bound[variable] = k.gitHubHost()
		}
	}
}

func (k *Keyring) tokenHosts() []string {
	hosts := []string{k.gitHubHost()}
	for name := range strings.SplitSeq(k.env(EnvTokenHosts), ",") {
		name = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(name), "https://"), "/")
		if host, port, err := giturl.ParseHost(name, giturl.DefaultPort("https")); err == nil {
			hosts = append(hosts, giturl.Address{Host: host, Port: port}.Authority())
		}
	}
	return hosts
}

// gitHubHost is the only host that GITHUB_TOKEN goes to.
func (k *Keyring) gitHubHost() string {
	server := k.env(EnvGitHubServer)
	if server == "" {
		return "github.com"
	}
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	host, port, err := giturl.ParseHost(u.Host, giturl.DefaultPort(u.Scheme))
	if err != nil {
		return ""
	}
	return giturl.Address{Host: host, Port: port}.Authority()
}

// Known returns the credential that is sent to a without being asked, or nil. The error is one for people, or an
// interruption.
func (k *Keyring) Known(ctx context.Context, role model.Role, a giturl.Address) (*Credential, error) {
	if a.Scheme != "https" && !a.Loopback() {
		return nil, nil
	}
	if c := k.ofRole(role, a); c != nil {
		return c, nil
	}
	if c, err := k.minted(ctx, role, a); c != nil || err != nil {
		return c, err
	}
	if a.Authority() == k.gitHubHost() {
		for _, name := range []string{EnvGitHub, EnvGH} {
			if token := k.env(name); token != "" {
				return &Credential{User: TokenUser, Password: token, Origin: name}, nil
			}
		}
	}
	for _, entry := range k.netrc() {
		if entry.machine == a.Host && (a.User == "" || a.User == entry.login) {
			k.Secret.Add(entry.password)
			return &Credential{User: entry.login, Password: entry.password, Origin: "netrc"}, nil
		}
	}
	return nil, nil
}

// ofRole returns the token of a role's variable, if it goes to the host of a.
func (k *Keyring) ofRole(role model.Role, a giturl.Address) *Credential {
	variable := RoleVariable(role)
	k.mu.Lock()
	bound := k.bound[variable]
	k.mu.Unlock()
	if token := k.env(variable); token != "" && bound == a.Authority() {
		return &Credential{User: TokenUser, Password: token, Origin: variable}
	}
	return nil
}

// Ask returns what git's credential helpers know for a, or nil. It is called after the server
// refused to answer without.
func (k *Keyring) Ask(ctx context.Context, a giturl.Address) *Credential {
	if k.helper == nil || a.Scheme != "https" && !a.Loopback() {
		return nil
	}
	user, password, err := k.helper(ctx, a.Scheme, a.Authority(), a.Path, a.User)
	if err != nil || password == "" {
		return nil
	}
	k.Secret.Add(password)
	return &Credential{User: user, Password: password, Origin: "git credential"}
}

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

// Advice says which credential could open the repository. sent is the one that did not; nil for none.
func (k *Keyring) Advice(role model.Role, sent *Credential, a giturl.Address) string {
	variable := RoleVariable(role)
	k.mu.Lock()
	bound := k.bound[variable]
	k.mu.Unlock()
	if k.env(variable) != "" && !slices.Contains(k.tokenHosts(), a.Authority()) {
		return variable + " is not sent to " + a.Authority() + ": add the host to " + EnvTokenHosts +
			", or use netrc or a git credential helper"
	}
	if k.env(variable) != "" && bound != a.Authority() {
		if bound == "" {
			bound = "and the repositories of this role are on several"
		}
		return variable + " is not sent to " + a.Authority() + ": a token goes to one host only, " + bound +
			"; use netrc or a git credential helper"
	}
	if k.tokens != nil && a.Scheme != "ssh" {
		if advice := k.tokens.Advice(role, a.String()); advice != "" {
			return advice + ", or set " + variable
		}
	}
	set := "set " + variable
	if !slices.Contains(k.tokenHosts(), a.Authority()) {
		set += " and " + EnvTokenHosts + "=" + a.Authority()
	}
	switch isGitHub := a.Authority() == k.gitHubHost(); {
	case isGitHub && k.inWorkflow():
		return set + ", or use a GitHub App: the GITHUB_TOKEN of a workflow reaches only " + k.workflowRepo()
	case sent != nil && sent.Origin == variable:
		return "check that the credential has not expired and has access"
	case sent != nil:
		return "check that the credential has not expired and has access, or " + set
	case isGitHub:
		return set + " or " + EnvGitHub + ", or log in with a git credential helper"
	default:
		return set + ", or use netrc or a git credential helper"
	}
}

// AdviceToWrite says what a credential that was refused lacks for writing. What is written to is a GitOps repository,
// or else the control plane.
func (k *Keyring) AdviceToWrite(role model.Role, c *Credential, a giturl.Address) string {
	permission, inJob := "publishing", "pull-requests"
	if role != model.Output {
		permission, inJob = "promoting", "statuses"
	}
	permission += " needs the permission contents: write on it; "
	switch {
	case c == nil:
		return permission + k.Advice(role, c, a)
	case c.Origin == EnvGitHub && k.inWorkflow() && !strings.EqualFold(strings.Trim(a.NormalPath(), "/"), k.env("GITHUB_REPOSITORY")):
		return permission + "the GITHUB_TOKEN of a workflow reaches only " + k.workflowRepo() +
			": set " + RoleVariable(role) + ", or use a GitHub App"
	case c.Origin == EnvGitHub && k.inWorkflow():
		return permission + `write "permissions: {contents: write, ` + inJob + `: write}" into the job of the workflow`
	case c.Origin == AppOrigin:
		return permission + "the GitHub App has it, but a ruleset or an archived repository may prevent the push"
	default:
		return permission + k.Advice(role, c, a)
	}
}

// inWorkflow reports whether GITHUB_TOKEN is that of a workflow of GitHub Actions.
func (k *Keyring) inWorkflow() bool {
	return k.env("GITHUB_ACTIONS") == "true" && k.env(EnvGitHub) != ""
}

// workflowRepo is the only repository that the token of a workflow can write to.
func (k *Keyring) workflowRepo() string {
	if repo := k.env("GITHUB_REPOSITORY"); repo != "" {
		return giterror.OneLine(repo)
	}
	return "the repository of the workflow"
}
