// Package credentials decides which secret is sent to which host, and keeps secrets out of texts.
package credentials

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"

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

// tokenHosts returns the hosts that may get the tokens of roles.
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
