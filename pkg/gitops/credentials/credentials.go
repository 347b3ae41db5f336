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

// TokenUser is the user name for a token. GitHub, GitLab, Bitbucket and Azure DevOps ignore it.
const TokenUser = "x-access-token"

// Credential is a user name and a password. It is printed as its origin, never as the secret.
type Credential struct {
	User, Password string
	// Origin is the source: a variable, AppOrigin, "netrc" or "git credential".
	Origin string
	// Renew returns the current password, for a password that expires; nil if it does not expire.
	Renew func(ctx context.Context) (string, error)
}

// Now returns the current password.
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

// CredentialHelper returns a user name and a password for one repository, without a prompt. Both are empty if there is
// none.
type CredentialHelper func(ctx context.Context, scheme, host, path, user string) (name, password string, err error)

// Keyring has the credentials by host, with the port if it is not the default: "example.com", "example.com:8443".
type Keyring struct {
	env    func(string) string
	helper CredentialHelper
	// tokens may be nil.
	tokens TokenSource
	// Secret has all secrets that were returned.
	Secret *Scrubber
	netrc  func() []netrcEntry

	mu sync.Mutex
	// bound is the only host of each role's token.
	bound map[string]string
}

// NewKeyring returns the credentials of an environment, of helper and of tokens, both of which may be nil.
func NewKeyring(env func(string) string, helper CredentialHelper, tokens TokenSource) *Keyring {
	k := &Keyring{env: env, helper: helper, tokens: tokens, Secret: &Scrubber{}, bound: map[string]string{}}
	for _, name := range []string{EnvControlPlane, EnvSource, EnvGitOps, EnvGitHub, EnvGH} {
		k.Secret.Add(env(name))
	}
	k.netrc = sync.OnceValue(func() []netrcEntry { return readNetrc(env) })
	return k
}

// RoleVariable returns the variable with the token for repositories of a role.
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

// Bind selects the host of the token of each role: that of the role's repositories, if it may have tokens. If there are
// several such hosts, it is GitHub's, else none. The selection is final: a token is never sent to a second host.
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

// gitHubHost returns the only host to which GITHUB_TOKEN is sent.
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

// Known returns the credential for the first request to a, or nil. The error is an Error or an InterruptedError.
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

// ofRole returns the token of a role's variable if it is for the host of a.
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

// Ask returns the credential of git's credential helpers for a, or nil. It is called after the server required one.
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

// AppOrigin is the origin of the credential of a TokenSource.
const AppOrigin = "the GitHub App"

// TokenSource creates tokens for repositories over https, as a GitHub App does. Repositories are in normal form. It must be
// safe for concurrent use.
type TokenSource interface {
	// Expect announces, before the first Token, the repositories of a role that a run needs, so that they can share a
	// token.
	Expect(role model.Role, repos []string)
	// Token returns a token that is valid for at least a few minutes. It is empty, without an error, if there is none
	// for the repository: then other credentials are used. The error is an *Error, without secrets.
	Token(ctx context.Context, role model.Role, repo string) (string, error)
	// Advice returns a hint for a repository without a token; empty for none.
	Advice(role model.Role, repo string) string
}

// Expect announces to the TokenSource the repositories without a token of their role.
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

// AdviceToWrite returns a hint for a credential that was refused for a push to a GitOps repository or the control plane.
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

// workflowRepo returns the only repository to which the token of a workflow can write.
func (k *Keyring) workflowRepo() string {
	if repo := k.env("GITHUB_REPOSITORY"); repo != "" {
		return giterror.OneLine(repo)
	}
	return "the repository of the workflow"
}
