package main

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// aPublication is a run whose requests to GitHub go wrong one after the other.
type aPublication struct {
	name string
	// fleet is what is compiled, and whose GitOps repository is on GitHub.
	fleet string
	// pulls are open before.
	pulls []githubtest.Pull
	args  []string
	repo  githubtest.RepoOptions

	// requests and want are what the run sends and what it leaves if nothing goes wrong.
	requests []githubtest.Request
	want     aState
}

// hub returns a GitHub on which the publication has not happened yet.
func (p *aPublication) hub(t *testing.T) *hub {
	t.Helper()
	h := newHub(t, p.fleet, hubOptions{repo: p.repo})
	for _, pull := range p.pulls {
		h.repo.OpenPull(pull)
	}
	return h
}

// rehearse runs it without faults.
func (p *aPublication) rehearse(t *testing.T) *aPublication {
	t.Helper()
	h := p.hub(t)
	h.mustRender(p.args...)
	p.requests, p.want = h.Requests(), h.state()
	if p.name == "withdrawal" {
		require.Empty(t, h.repo.OpenPulls())
		h.assertNoSecret(p.name)
	} else {
		h.assertOnePullRequest(p.name)
	}
	h.assertPolite(p.name)
	return p
}

// keep makes what a hub has come to what the fleet finds: its branches, and its open pull requests as
// numbers 1 and on.
func (p *aPublication) keep(t *testing.T, h *hub) {
	t.Helper()
	_, err := gitopstest.Git(filepath.Join(p.fleet, "gitops.git"), "fetch", "-q", "--prune", h.repo.Dir(), "+refs/heads/*:refs/heads/*")
	require.NoError(t, err)
	p.pulls = h.repo.OpenPulls()
}

// publications are all that a run can do on GitHub.
func publications(t *testing.T) []*aPublication {
	t.Helper()
	return []*aPublication{firstPublication(t), anUpdate(t), aWithdrawal(t)}
}

// firstPublication has all that can be asked for on the command line, and an older pull request to close.
func firstPublication(t *testing.T) *aPublication {
	t.Helper()
	p := &aPublication{
		name: "first", fleet: promotedFleet(t),
		args: []string{"--label", "fleet", "--reviewer", "octocat", "--assignee", "octocat", "--auto-merge"},
		repo: githubtest.RepoOptions{AllowAutoMerge: true, RequiredChecks: []string{"ci"}},
	}
	h := newHub(t, p.fleet, hubOptions{})
	h.mustRender("--branch", "deployment/old")
	p.keep(t, h)
	p.rehearse(t)
	require.False(t, p.want.Pulls[0].Open)
	require.Equal(t, []string{"fleet", "promoted"}, p.want.Pulls[1].Labels)
	return p
}

// anUpdate changes the text and takes a label off.
func anUpdate(t *testing.T) *aPublication {
	t.Helper()
	p := &aPublication{name: "update", fleet: promotedFleet(t)}
	h := newHub(t, p.fleet, hubOptions{})
	h.mustRender()
	h.repo.MergePull(1, "squash")
	before := tipOf(t, p.fleet, "control-plane", "main")
	later := acmeMain()
	later["docs.md"] = "Nothing that is compiled.\n"
	pinCommit(t, p.fleet, addRepo(t, p.fleet, "control-plane", gitopstest.Commit{Files: later})[0])
	h.mustRender()
	require.Equal(t, []string{"promoted"}, h.repo.Pull(2).Labels)
	p.keep(t, h)
	pinCommit(t, p.fleet, before)
	addRepo(t, p.fleet, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "changed")})
	p.rehearse(t)
	require.Empty(t, p.want.Pulls[0].Labels)
	return p
}

// aWithdrawal closes a pull request that has no point any more.
func aWithdrawal(t *testing.T) *aPublication {
	t.Helper()
	p := &aPublication{name: "withdrawal", fleet: promotedFleet(t)}
	h := newHub(t, p.fleet, hubOptions{})
	h.mustRender()
	h.repo.MergePull(1, "rebase")
	addRepo(t, p.fleet, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "changed")})
	h.mustRender()
	p.keep(t, h)
	addRepo(t, p.fleet, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "main")})
	p.rehearse(t)
	require.False(t, p.want.Pulls[0].Open)
	return p
}

// assertDone makes sure that what is there is exactly what would be if nothing had gone wrong: commits, texts,
// labels, people, comments, each once. rehearse has made sure that this is right.
func (p *aPublication) assertDone(h *hub, which string) {
	h.t.Helper()
	assert.Equal(h.t, p.want, h.state(), which)
	h.assertSilent(which)
	h.assertPolite(which)
}

// passing are temporary faults, which retries pass, and how long a run waits.
type passing struct {
	faults []githubtest.Fault
	// min and max bound the longest wait, and retryAfter are the waits that GitHub requests.
	min, max   time.Duration
	retryAfter []time.Duration
	// until is the end of a rate limit; zero if GitHub does not return it.
	until time.Time
}

// passingFaults are all of them.
func passingFaults(now time.Time) map[string]passing {
	const second, minute = time.Second, time.Minute
	several := func(faults ...githubtest.Fault) []githubtest.Fault { return faults }
	return map[string]passing{
		"failures, and a limit without a time": {
			faults: several(githubtest.HTTPError(http.StatusInternalServerError),
				githubtest.SecondaryRateLimit(http.StatusForbidden, 0), githubtest.HTTPError(http.StatusBadGateway)),
			min: minute, max: 2*minute + second,
		},
		"limits": {
			faults: several(githubtest.HTTPError(http.StatusTooManyRequests), githubtest.SecondaryRateLimit(http.StatusForbidden, 2*minute),
				githubtest.PrimaryRateLimit(http.StatusForbidden, now.Add(10*minute)), githubtest.HTTPError(http.StatusTooManyRequests).With("Retry-After", "30")),
			min: 6 * minute, max: 7*minute + second, retryAfter: []time.Duration{2 * minute, 30 * second}, until: now.Add(10 * minute),
		},
		"reset before it is read": {faults: several(githubtest.Reset()), max: second},
		"reset after it is done":  {faults: several(githubtest.LostAnswer()), max: second},
		"cut in the middle":       {faults: several(githubtest.CutAnswer()), max: second},
	}
}

// inject lets a request of a publication go wrong, and its next tries.
func inject(server *githubtest.Server, faults []githubtest.Fault, request githubtest.Request) {
	for _, fault := range faults {
		server.Inject(fault, githubtest.First(1, func(r githubtest.Request) bool {
			return r.Number >= request.Number && r.String() == request.String()
		}))
	}
}

// TestR10EveryRequestMayFail lets every request of a publication fail in every way that passes. The run waits as
// long as it is told, and ends as if nothing had happened.
func TestR10EveryRequestMayFail(t *testing.T) {
	t.Parallel()
	matrix(t)
	for _, p := range publications(t) {
		names := slices.Sorted(maps.Keys(passingFaults(time.Time{})))
		for i, name := range names {
			t.Run(p.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				for _, request := range spread(p.requests, i, len(names)) { // make test has one way for each request
					which := fmt.Sprintf("%s: %s: request %d, %s", p.name, name, request.Number, request)
					h := p.hub(t)
					f := passingFaults(h.clock.now())[name]
					inject(h.Server, f.faults, request)
					got := h.render(p.args...)
					assert.Equal(t, cli.ExitDone, got.code, "%s: %s", which, got.stderr)
					p.assertDone(h, which)
					assert.LessOrEqual(t, len(h.Requests()), len(p.requests)+3*len(f.faults), "%s: a try, and perhaps a look before it", which)
					assert.GreaterOrEqual(t, h.clock.longest(), f.min, which)
					assert.LessOrEqual(t, h.clock.longest(), f.max, which)
					assert.Subset(t, h.clock.sleeps(), f.retryAfter, which)
					assert.False(t, h.clock.now().Before(f.until), which)
				}
			})
		}
	}
}

// TestR10NothingIsForever lets a request fail whenever it is sent. The run gives up after a few tries, or at once
// if it would have to wait longer than it has time; what it says names GitHub's answer. The next run recovers.
func TestR10NothingIsForever(t *testing.T) {
	t.Parallel()
	matrix(t)
	p := firstPublication(t)
	for name, f := range map[string]struct {
		fault githubtest.Fault
		args  []string
		say   string
		tries int
		max   time.Duration
	}{
		"502":              {githubtest.HTTPError(http.StatusBadGateway), nil, "GitHub answers 502 Bad Gateway", 5, time.Minute},
		"reset":            {githubtest.Reset(), nil, "broke off", 10, time.Minute}, // Go's client sends it twice
		"limited":          {githubtest.SecondaryRateLimit(http.StatusForbidden, time.Minute), nil, "You have exceeded a secondary rate limit", 5, 5 * time.Minute},
		"limited for long": {githubtest.PrimaryRateLimit(http.StatusForbidden, time.Now().Add(5*time.Hour)), nil, "which is too late", 1, 0},
		"limited for longer than there is time": {
			githubtest.SecondaryRateLimit(http.StatusTooManyRequests, 5*time.Minute), []string{"--timeout", "3m"}, "which is too late", 1, 0,
		},
	} {
		for _, pattern := range []string{"GET /repos/acme/gitops/pulls", "POST /repos/acme/gitops/pulls", "POST /repos/*/*/issues/*/labels"} {
			which := name + ": " + pattern
			method, path, _ := strings.Cut(pattern, " ")
			h := p.hub(t)
			h.Inject(f.fault, githubtest.On(method, path))
			got := h.render(append(f.args, p.args...)...)
			assert.Equal(t, cli.ExitRemote, got.code, "%s: %s", which, got.stderr)
			assert.Contains(t, got.stderr, f.say, which)
			assert.Contains(t, got.stderr, "hint: run again later", which)
			assert.LessOrEqual(t, len(h.to(method, path)), f.tries+3, which)
			assert.LessOrEqual(t, h.clock.longest(), max(f.max, time.Second), which)
			h.assertPolite(which)
			h.Heal()
			h.mustRender(p.args...)
			p.assertDone(h, which)
		}
	}
}

// TestR11PermanentErrorsAreNotRetried refuses each request, whenever it is sent, in each way that no further try
// mends. The run ends at once, with an answer that says what to do. The run after it has been mended ends as if
// nothing had happened.
func TestR11PermanentErrorsAreNotRetried(t *testing.T) {
	t.Parallel()
	matrix(t)
	for _, p := range publications(t) {
		seen := map[string]bool{}
		for i, request := range share(p.requests) {
			endpoint := request.Method + " " + request.Path
			if seen[endpoint] {
				continue
			}
			seen[endpoint] = true
			t.Run(p.name+"/"+endpoint, func(t *testing.T) {
				t.Parallel()
				h := p.hub(t)
				for _, refusal := range spread(refusals, i, 2) {
					which := fmt.Sprintf("%s: %d", endpoint, refusal.status)
					if refusal.status == http.StatusNotFound && aStateNotAnError(endpoint) {
						continue
					}
					if once(endpoint) {
						h = p.hub(t)
					}
					h.Forget()
					h.Heal()
					h.Inject(githubtest.Refusal(refusal.status, refusal.message), githubtest.On(request.Method, request.Path))
					got := h.render(p.args...)
					assert.Equal(t, cli.ExitRemote, got.code, "%s: %s", which, got.stderr)
					assert.Contains(t, got.stderr, refusal.say, which)
					assert.Contains(t, got.stderr, "[github-failed]", which)
					assert.Len(t, h.to(request.Method, request.Path), 1, which)
					h.assertSilent(which)
				}
				h.Heal()
				h.mustRender(p.args...)
				want := p.want
				if once(endpoint) {
					want = want.withoutComments()
				}
				got := h.state()
				if once(endpoint) {
					got = got.withoutComments()
				}
				assert.Equal(t, want, got, endpoint)
			})
		}
	}
}

// refusals are answers that no retry passes, and the message for people.
var refusals = []struct {
	status  int
	message string
	say     string
}{
	{http.StatusUnauthorized, "Bad credentials", "GitHub answers 401: Bad credentials"},
	{http.StatusForbidden, "Resource not accessible by integration", "hint: the token "},
	{http.StatusNotFound, "Not Found", "GitHub answers 404: Not Found"},
	{http.StatusUnprocessableEntity, "Validation Failed", "GitHub answers 422: Validation Failed"},
}

// aStateNotAnError reports whether what is not found is just not there: a label that is to be made, a branch that
// somebody has deleted.
func aStateNotAnError(endpoint string) bool {
	return strings.HasPrefix(endpoint, "GET /repos/acme/gitops/labels/") || strings.HasPrefix(endpoint, "GET /repos/acme/gitops/git/ref/")
}

// once reports whether the run after a failed one does not come to a request any more: the word on a pull request
// that is closed by then, and the last look after everything was written.
func once(endpoint string) bool {
	return strings.HasSuffix(endpoint, "/comments") || strings.HasPrefix(endpoint, "GET /repos/acme/gitops/git/ref/")
}

// TestR26SilentGitHub: GitHub takes a request and never answers, at each of them. It is sent again, or it is
// looked up what became of it.
func TestR26SilentGitHub(t *testing.T) {
	t.Parallel()
	matrix(t)
	var wait sync.WaitGroup
	limit := make(chan struct{}, 8) // they do nothing most of the time
	for _, p := range publications(t) {
		for _, request := range share(p.requests) {
			which := fmt.Sprintf("%s: request %d, %s", p.name, request.Number, request)
			h := p.hub(t)
			h.timeouts.Request = time.Second
			h.Inject(githubtest.Hang(), githubtest.Nth(request.Number))
			wait.Go(func() {
				limit <- struct{}{}
				defer func() { <-limit }()
				got := h.render(p.args...)
				assert.Equal(t, cli.ExitDone, got.code, "%s: %s", which, got.stderr)
				p.assertDone(h, which)
			})
		}
	}
	wait.Wait()
}

// TestR26DeadlineWhilePublishing: GitHub does not answer at all, and the time is up. The run ends with its own
// code, says what it was about, and the next one goes on from where it was.
func TestR26DeadlineWhilePublishing(t *testing.T) {
	t.Parallel()
	p := firstPublication(t)
	for _, endpoint := range []string{"GET /repos/*/*/pulls", "POST /repos/*/*/pulls", "POST /graphql"} {
		method, path, _ := strings.Cut(endpoint, " ")
		h := p.hub(t)
		h.Inject(githubtest.Hang(), githubtest.On(method, path))
		var got outcome
		// On a slow machine the time may be up before GitHub was asked: then with more time.
		for timeout := time.Second; timeout < safetyNet && len(h.to(method, path)) == 0; timeout *= 3 {
			h.changes = nil // the pause between changes is that of one run
			got = h.render(append([]string{"--timeout", timeout.String()}, p.args...)...)
		}
		assert.Equal(t, cli.ExitTimeUp, got.code, "%s: %s", endpoint, got.stderr)
		assert.Contains(t, got.stderr, "while publishing dev [time-is-up]", endpoint)
		assert.Len(t, h.to(method, path), 1, endpoint)
		h.Heal()
		h.mustRender(p.args...)
		p.assertDone(h, endpoint)
	}
}

// TestR12FewWrites: an environment costs one push and about six requests that change something; nothing more to
// do costs one request that reads.
func TestR12FewWrites(t *testing.T) {
	t.Parallel()
	h := newHub(t, promotedFleet(t), hubOptions{repo: githubtest.RepoOptions{Labels: []string{"fleet", "promoted"}}})
	args := []string{"--label", "fleet", "--reviewer", "octocat", "--assignee", "octocat"}
	h.mustRender(args...)
	assert.LessOrEqual(t, len(h.Writes()), 6)
	h.assertOnePullRequest()
	for range 3 {
		h.Forget()
		h.mustRender(args...)
		assert.Empty(t, h.Writes())
		assert.Len(t, h.Requests(), 1)
	}
	h.assertOnePullRequest()
}
