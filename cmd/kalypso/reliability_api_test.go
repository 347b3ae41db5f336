package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// The tests in reliability_api_*_test.go publish the fleet of acmeFleet to a GitHub that goes wrong, is
// used by people at the same time, or gives no permission. They run the program in this process, since
// it waits a second between any two changes and much longer if GitHub asks for that: the clock is theirs.

// aClock stands still until somebody sleeps, and notes for how long they do.
type aClock struct {
	mu    sync.Mutex
	at    time.Time
	slept []time.Duration
	// wake is called with the duration before each sleep; may be nil.
	wake func(d time.Duration)
}

// newClock begins with the time of the machine: the deadlines of contexts are by that.
func newClock() *aClock { return &aClock{at: time.Now().Truncate(time.Second)} }

func (c *aClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *aClock) sleep(ctx context.Context, d time.Duration) error {
	if c.wake != nil {
		c.wake(d)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

// pass lets time go by without anybody asleep.
func (c *aClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// sleeps are how long anybody has slept, each time.
func (c *aClock) sleeps() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.slept)
}

// longest is the longest sleep; zero if there was none.
func (c *aClock) longest() time.Duration { return slices.Max(append(c.sleeps(), 0)) }

// hubSecret is the token of a workflow that may do everything. Nothing may ever show it.
const hubSecret = "ghs_S3cr3tOfTheWorkflow0123456789abcdef"

// hub is a GitHub with the GitOps repository of a fleet, and the machine that publishes to it.
type hub struct {
	*githubtest.Server
	t     *testing.T
	repo  *githubtest.Repo
	clock *aClock
	// fleet is the directory of the repositories of the fleet; that of GitOps is a copy.
	fleet string
	// env is the environment of the next runs.
	env      map[string]string
	timeouts github.Limits
	version  string
	secrets  []string
	// said is all that runs have printed.
	said strings.Builder
	// changes are the times at which requests came that change something, tries included.
	changes []time.Time
}

// hubOptions are what can be different about a hub.
type hubOptions struct {
	server githubtest.Options
	repo   githubtest.RepoOptions
}

// newHub starts a GitHub for the fleet in a directory, which it leaves as it is.
func newHub(t *testing.T, fleet string, o hubOptions) *hub {
	t.Helper()
	h := &hub{t: t, fleet: fleet, clock: newClock(), version: "v1.2.3", secrets: []string{hubSecret}}
	dir := filepath.Join(t.TempDir(), "gitops.git")
	copyRepos(t, filepath.Join(fleet, "gitops.git"), dir)
	o.server.Now = h.clock.now
	h.Server = githubtest.NewServer(t, o.server)
	o.repo.Dir = dir
	if o.repo.Collaborators == nil {
		o.repo.Collaborators = map[string]string{"octocat": "write"}
	}
	h.repo = h.AddRepo("acme/gitops", o.repo)
	h.AddToken(hubSecret, githubtest.Token{Name: "workflow", Permissions: githubtest.AllPermissions()})
	h.Inject(githubtest.Fault{}, func(r githubtest.Request) bool {
		if r.Write > 0 {
			h.changes = append(h.changes, h.clock.now())
		}
		return false
	})
	h.env = map[string]string{"GITHUB_API_URL": h.URL, "GITHUB_SERVER_URL": h.WebURL, "GITHUB_TOKEN": hubSecret}
	return h
}

// run runs the program with the clock of the hub.
func (h *hub) run(args ...string) outcome {
	h.t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(h.t.Context(), acmeArgs(h.fleet, map[string]string{"gitops": h.WebURL + "/acme/gitops"}, args...), &cli.Host{IO: term.IO{
		Stdout: &stdout, Stderr: &stderr, Env: func(name string) string { return h.env[name] },
		WorkingDir: func() (string, error) { return h.t.TempDir(), nil },
		Sleep:      h.clock.sleep, Now: h.clock.now,
	}, Timeouts: h.timeouts, Build: cli.Build{Version: h.version}})
	got := outcome{code, stdout.String(), stderr.String()}
	h.said.WriteString(got.stdout + got.stderr)
	h.clock.pass(time.Second) // the next run comes later
	return got
}

// render publishes.
func (h *hub) render(args ...string) outcome {
	h.t.Helper()
	return h.run(append([]string{"render"}, args...)...)
}

// mustRender publishes, which must succeed.
func (h *hub) mustRender(args ...string) outcome {
	h.t.Helper()
	got := h.render(args...)
	require.Equal(h.t, cli.ExitDone, got.code, got.stderr)
	return got
}

// aPull is what matters of a pull request.
type aPull struct {
	Number                              int
	Title, Body, Head, Base, HeadCommit string
	Open, Merged, Draft                 bool
	Labels, Assignees, Reviewers, Teams []string
	AutoMerge                           string
	Comments                            []string
}

// aState is all that is left of a run on GitHub.
type aState struct {
	Pulls    []aPull
	Branches map[string]string
	Labels   []githubtest.Label
}

// state returns what is on GitHub now. It is the same wherever the server listens.
func (h *hub) state() aState {
	s := aState{Branches: h.repo.Branches(), Labels: h.repo.Labels()}
	for _, p := range h.repo.Pulls() {
		view := aPull{
			Number: p.Number, Title: p.Title, Body: strings.ReplaceAll(p.Body, h.WebURL, "https://hub"),
			Head: p.Head, Base: p.Base, HeadCommit: p.HeadCommit, Open: p.Open, Merged: p.Merged, Draft: p.Draft,
			Labels: slices.Sorted(slices.Values(p.Labels)), Assignees: p.Assignees, Reviewers: p.Reviewers, Teams: p.Teams, AutoMerge: p.AutoMerge,
		}
		for _, c := range p.Comments {
			view.Comments = append(view.Comments, c.Body)
		}
		s.Pulls = append(s.Pulls, view)
	}
	return s
}

// withoutComments is the same but for comments.
func (s aState) withoutComments() aState {
	s.Pulls = slices.Clone(s.Pulls)
	for i := range s.Pulls {
		s.Pulls[i].Comments = nil
	}
	return s
}

// to are the requests to an endpoint.
func (h *hub) to(method, pattern string) []githubtest.Request {
	return slices.DeleteFunc(h.Requests(), func(r githubtest.Request) bool { return !githubtest.On(method, pattern)(r) })
}

// git asks the GitOps repository something.
func (h *hub) git(args ...string) string {
	h.t.Helper()
	out, err := ask(h.repo.Dir(), args...)
	require.NoError(h.t, err)
	return strings.TrimSpace(out)
}

// marked reports whether a pull request has our marker.
func marked(p githubtest.Pull) bool {
	return strings.Contains(p.Body, "<!-- kalypso:v1 environment=dev ")
}

// assertOnePullRequest checks the state after every fault: one open pull request of kalypso, its branch one
// commit of kalypso on top of the GitOps branch with all of the output and what people wrote, the counts in
// its text. And no token in anything.
func (h *hub) assertOnePullRequest(which ...any) githubtest.Pull {
	h.t.Helper()
	defer h.assertNoSecret(which...)
	var ours []githubtest.Pull
	for _, p := range h.repo.OpenPulls() {
		if marked(p) {
			ours = append(ours, p)
		}
	}
	if !assert.Len(h.t, ours, 1, which...) {
		return githubtest.Pull{}
	}
	pull := ours[0]
	assert.Equal(h.t, "dev", pull.Base, which...)
	assert.Equal(h.t, h.repo.Branches()[pull.Head], pull.HeadCommit, which...)
	head, err := gitopstest.FindCommit(h.repo.Dir(), pull.HeadCommit)
	require.NoError(h.t, err, which...)
	assert.Equal(h.t, []string{h.repo.Branches()["dev"]}, head.Parents, which...)
	assert.Contains(h.t, head.Text, "\nKalypso-", which...)
	files, err := gitopstest.Read(h.repo.Dir(), pull.HeadCommit)
	require.NoError(h.t, err, which...)
	for _, app := range appsOfAcme {
		assert.Contains(h.t, files, "edge/"+app+"-web/reconciler.yaml", which...)
	}
	assert.Contains(h.t, files, "docs/notes.md", which...)
	assert.Contains(h.t, pull.Body, "3 targets on 1 cluster type, 3 assignments: ", which...)
	return pull
}

// assertPolite makes sure that changes come a second apart, as GitHub asks for.
func (h *hub) assertPolite(which ...any) {
	h.t.Helper()
	for i := 1; i < len(h.changes); i++ {
		apart := h.changes[i].Sub(h.changes[i-1])
		assert.GreaterOrEqual(h.t, apart, time.Second, which...)
	}
}

// assertNoSecret looks for tokens in all that was printed, committed or sent to GitHub.
func (h *hub) assertNoSecret(which ...any) {
	h.t.Helper()
	all, err := gitopstest.Everything(h.repo.Dir())
	require.NoError(h.t, err, which...)
	h.assertSecret(all, which...)
	h.assertSilent(which...)
}

// assertSilent looks for tokens everywhere but in commits.
func (h *hub) assertSilent(which ...any) {
	h.t.Helper()
	h.assertSecret(h.said.String(), which...)
	h.assertSecret(fmt.Sprintf("%+v", h.state()), which...)
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"} {
		if written, err := os.ReadFile(h.env[name]); err == nil {
			h.assertSecret(string(written), which...)
		}
	}
	for _, r := range h.Requests() {
		h.assertSecret(r.String()+r.Body, which...)
	}
}

// assertSecret makes sure that no token is in a text, nor a good part of one.
func (h *hub) assertSecret(text string, which ...any) {
	h.t.Helper()
	for _, secret := range h.secrets {
		assert.NotContains(h.t, text, secret[:20], which...)
	}
}

// promotedFleet is acmeFleet with a promoted commit, so that its first publication promotes.
func promotedFleet(t *testing.T) string {
	t.Helper()
	root := acmeFleet(t)
	pinCommit(t, root, tipOf(t, root, "control-plane", "main"))
	return root
}

// pinCommit pins the environment dev to a commit of main.
func pinCommit(t *testing.T, root, commit string) {
	t.Helper()
	files := maps.Clone(acmeDev())
	files["base.yaml"] = acmeObject("BaseRepo", "main", "spec: {repo: "+acme("control-plane")+", branch: main, commit: "+commit+"}")
	addRepo(t, root, "control-plane", gitopstest.Commit{Branch: "dev", Files: files})
}
