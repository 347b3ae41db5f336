package gitops

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// The environment variables that hold tokens.
const (
	envControlPlane = "KALYPSO_CONTROL_PLANE_TOKEN"
	envSource       = "KALYPSO_SOURCE_TOKEN"
	envGitOps       = "KALYPSO_GITOPS_TOKEN"
	envGitHub       = "GITHUB_TOKEN"
	envGH           = "GH_TOKEN"
	envGitHubServer = "GITHUB_SERVER_URL"
	// envTokenHosts is a comma-separated list of hosts, besides GitHub's, that may get the tokens of roles.
	envTokenHosts = "KALYPSO_TOKEN_HOSTS"
)

// tokenUser goes with a token where a user name and a password are asked for. GitHub, GitLab,
// Bitbucket and Azure DevOps do not look at it.
const tokenUser = "x-access-token"

// credential is what a server is shown. It prints as where it is from, never as what it is.
type credential struct {
	user, password string
	// origin says where it is from: a variable, AppOrigin, "netrc", "git credential".
	origin string
	// renew returns the password to be sent now, in place of password, for one that ends; nil if it does not end.
	renew func(ctx context.Context) (string, error)
}

// now returns the password to be sent now.
func (c credential) now(ctx context.Context) (string, error) {
	if c.renew == nil {
		return c.password, nil
	}
	return c.renew(ctx)
}

// String returns the origin.
func (c credential) String() string { return c.origin }

// GoString returns the origin.
func (c credential) GoString() string { return c.origin }

// CredentialHelper asks for a user name and a password for one repository. It must not ask a
// person. Both are empty, without an error, if it knows none.
type CredentialHelper func(ctx context.Context, scheme, host, path, user string) (name, password string, err error)

// keyring knows which credential goes to which host. A host is its authority: "example.com",
// "example.com:8443".
type keyring struct {
	env    func(string) string
	helper CredentialHelper
	// tokens may be nil.
	tokens TokenSource
	secret *scrubber
	netrc  func() []netrcEntry

	mu sync.Mutex
	// bound is the one host that each role's token goes to.
	bound map[string]string
}

func newKeyring(env func(string) string, helper CredentialHelper, tokens TokenSource) *keyring {
	k := &keyring{env: env, helper: helper, tokens: tokens, secret: &scrubber{}, bound: map[string]string{}}
	for _, name := range []string{envControlPlane, envSource, envGitOps, envGitHub, envGH} {
		k.secret.add(env(name))
	}
	k.netrc = sync.OnceValue(func() []netrcEntry { return readNetrc(env) })
	return k
}

// roleVariable is the variable with the token for repositories of a role.
func roleVariable(role model.Role) string {
	switch role {
	case model.Tenant:
		return envSource
	case model.Output:
		return envGitOps
	default:
		return envControlPlane
	}
}

// bind decides which host the token of each role goes to: the one that the role's repositories are
// on, if it may have tokens. Where they are on several that may, it is GitHub's if that is among them,
// else none. Once decided it stays: a token is never shown to a second host.
func (k *keyring) bind(hosts map[string][]string) {
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
func (k *keyring) tokenHosts() []string {
	hosts := []string{k.gitHubHost()}
	for name := range strings.SplitSeq(k.env(envTokenHosts), ",") {
		name = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(name), "https://"), "/")
		if host, port, err := parseHost(name, defaultPort("https")); err == nil {
			hosts = append(hosts, address{host: host, port: port}.authority())
		}
	}
	return hosts
}

// gitHubHost is the only host that GITHUB_TOKEN goes to.
func (k *keyring) gitHubHost() string {
	server := k.env(envGitHubServer)
	if server == "" {
		return "github.com"
	}
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	host, port, err := parseHost(u.Host, defaultPort(u.Scheme))
	if err != nil {
		return ""
	}
	return address{host: host, port: port}.authority()
}

// known returns the credential that is sent to a without being asked, or nil. The error is one for people, or an
// interruption.
func (k *keyring) known(ctx context.Context, role model.Role, a address) (*credential, error) {
	if a.scheme != "https" && !a.loopback() {
		return nil, nil
	}
	if c := k.ofRole(role, a); c != nil {
		return c, nil
	}
	if c, err := k.minted(ctx, role, a); c != nil || err != nil {
		return c, err
	}
	if a.authority() == k.gitHubHost() {
		for _, name := range []string{envGitHub, envGH} {
			if token := k.env(name); token != "" {
				return &credential{user: tokenUser, password: token, origin: name}, nil
			}
		}
	}
	for _, entry := range k.netrc() {
		if entry.machine == a.host && (a.user == "" || a.user == entry.login) {
			k.secret.add(entry.password)
			return &credential{user: entry.login, password: entry.password, origin: "netrc"}, nil
		}
	}
	return nil, nil
}

// ofRole returns the token of a role's variable, if it goes to the host of a.
func (k *keyring) ofRole(role model.Role, a address) *credential {
	variable := roleVariable(role)
	k.mu.Lock()
	bound := k.bound[variable]
	k.mu.Unlock()
	if token := k.env(variable); token != "" && bound == a.authority() {
		return &credential{user: tokenUser, password: token, origin: variable}
	}
	return nil
}

// ask returns what git's credential helpers know for a, or nil. It is called after the server
// refused to answer without.
func (k *keyring) ask(ctx context.Context, a address) *credential {
	if k.helper == nil || a.scheme != "https" && !a.loopback() {
		return nil
	}
	user, password, err := k.helper(ctx, a.scheme, a.authority(), a.path, a.user)
	if err != nil || password == "" {
		return nil
	}
	k.secret.add(password)
	return &credential{user: user, password: password, origin: "git credential"}
}
