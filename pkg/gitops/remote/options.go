package remote

import (
	"context"
	"net/http"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Options are the options of a Reader. The zero value has no replacements, no credentials and the default limits.
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
	// Helper returns a credential if a server requires one and none is known, as GitCredential does; may be nil.
	Helper credentials.CredentialHelper
	// Tokens creates tokens for repositories, which are used after the tokens of a role and before all others; may be nil.
	Tokens credentials.TokenSource
	// Transport sends the HTTP requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Sleep waits before a retry, or returns the error of ctx when that is done; nil means retryafter.Sleep.
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
