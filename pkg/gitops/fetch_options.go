package gitops

import (
	"context"
	"net/http"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
)

// Options says how repositories are read. The zero Options read with no replacements, no
// credentials and the default limits.
type Options struct {
	// Replace holds the values of --replace, each "REPO=PATH", in order: the first that matches wins.
	Replace []string
	// Worktree reads the work tree of a clone that has the branch checked out, uncommitted changes
	// included, instead of the branch. What is published is always read from the branch.
	Worktree bool
	// Env looks up environment variables: tokens, NETRC, HOME. Nil means that none is set.
	Env func(string) string
	// Helper is asked for a credential when a server wants one and none is known; see
	// GitCredential. Nil asks nobody.
	Helper credentials.CredentialHelper
	// Tokens mints tokens for repositories; nil mints none. They go after the tokens of a role and before all others.
	Tokens credentials.TokenSource
	// Transport sends the http requests. Nil means one like http.DefaultTransport.
	Transport http.RoundTripper
	// Sleep waits between two tries of one request, or until ctx is done, whose error it then
	// returns. Nil means by the clock.
	Sleep func(ctx context.Context, d time.Duration) error
	// Progress is told how many of the repositories of a Read are done; nil tells nobody. It may be called
	// from several goroutines.
	Progress func(done, total int)
	// Waiting is told when a request is sent again after a pause, and why; nil tells nobody. It may be called
	// from several goroutines.
	Waiting func(pause time.Duration, why string)
	// Limits bound what is read; a field that is zero has its default.
	Limits Limits
}

// Limits bound what repositories may make of themselves, and how long they may take.
type Limits struct {
	// Object is the size in bytes beyond which a file is not loaded; 64 MiB by default.
	Object int64
	// Total is the sum in bytes of all that one answer of a server inflates to; 2 GiB by default.
	Total int64
	// Objects is how many objects one answer may have; 5,000,000 by default.
	Objects int
	// Parallel is how many requests are under way at once; 8 by default.
	Parallel int
	// Stall is how long a server may be silent; a minute by default.
	Stall time.Duration
	// Request is how long one request may take in all; 15 minutes by default.
	Request time.Duration
	// Slow is how long a request to an application repository occupies one of the Parallel slots. After that it
	// continues without a slot, so that it does not delay other requests. The default is 10 seconds.
	Slow time.Duration
	// Tenant has the additional limits of application repositories.
	Tenant TenantLimits
}

func (l Limits) orDefaults() Limits {
	setDefault(&l.Object, 64<<20)
	setDefault(&l.Total, 2<<30)
	setDefault(&l.Objects, 5_000_000)
	setDefault(&l.Parallel, 8)
	setDefault(&l.Stall, time.Minute)
	setDefault(&l.Request, 15*time.Minute)
	setDefault(&l.Slow, 10*time.Second)
	l.Tenant = l.Tenant.orDefaults()
	return l
}

func setDefault[T int | int64 | time.Duration](value *T, to T) {
	if *value == 0 {
		*value = to
	}
}
