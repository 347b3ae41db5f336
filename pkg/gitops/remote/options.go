package remote

import (
	"context"
	"net/http"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Options says how repositories are read. The zero Options read with no replacements, no
// credentials and the default limits.
type Options struct {
	// Replace holds the values of --replace, each "REPO=PATH", in order: the first that matches wins.
	Replace []string
	// Worktree reads the work tree of a clone that has the branch checked out, uncommitted changes
	// included, instead of the branch. What is published is always read from the branch.
	Worktree bool
	// Publishes refuses branches of a clone that are not what its remote has.
	Publishes bool
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
	// Progress is called with the number of repositories of a Read that are done; may be nil. It may be called
	// from several goroutines.
	Progress func(done, total int)
	// Waiting is called before the pause after which a request is retried, with the reason; may be nil. It may be called
	// from several goroutines.
	Waiting func(pause time.Duration, why string)
	// Read is called with each source, its location and the duration; may be nil. It may be called from several goroutines.
	Read func(source *model.Source, from string, took time.Duration)
	// Limits bound what is read; a field that is zero has its default.
	Limits wire.Limits
}
