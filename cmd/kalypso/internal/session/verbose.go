package session

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// traceSource writes a line for each source that is read.
func traceSource(progress *term.Progress) func(*model.Source, string, time.Duration) {
	return func(source *model.Source, from string, took time.Duration) {
		commit := "no commit"
		if source.Commit != "" {
			commit = fmt.Sprintf("commit %.12s", source.Commit)
		}
		progress.Line(diag.Safe(fmt.Sprintf("source: %s, branch %s, %s (%v)", from, cmp.Or(source.Ref.Branch, "unknown"), commit, took.Round(time.Millisecond))))
	}
}

// Transport returns the HTTP transport; with --verbose, it writes a line for each request.
func Transport(e *cli.Host, progress *term.Progress) http.RoundTripper {
	if !e.Verbose || progress == nil {
		return http.DefaultTransport
	}
	return tracedRequests{e, progress}
}

type tracedRequests struct {
	*cli.Host
	progress *term.Progress
}

// RoundTrip sends a request. Its line has no query, user or header, which may hold secrets.
func (t tracedRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	began := t.Now()
	answer, err := http.DefaultTransport.RoundTrip(r)
	result := "failed"
	if err == nil {
		result = answer.Status
	}
	t.progress.Line(diag.Safe(fmt.Sprintf("request: %s %s://%s%s: %s (%v)", r.Method, r.URL.Scheme, r.URL.Host, r.URL.Path,
		result, t.Now().Sub(began).Round(time.Millisecond))))
	return answer, err
}
