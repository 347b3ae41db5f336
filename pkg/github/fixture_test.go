package github_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
)

const secret = "ghp_secretsecretsecret"

// clock is a clock that sleeping moves.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	naps   []time.Duration
	others []func(time.Duration)
}

func newClock() *clock { return &clock{now: githubtest.Midnight()} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.naps = append(c.naps, d)
	c.now = c.now.Add(d)
	for _, move := range c.others {
		move(d)
	}
	return nil
}

// slept returns how long was slept so far, and forgets it.
func (c *clock) slept() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	naps := c.naps
	c.naps = nil
	return naps
}

// fixture is a repository on a GitHub that is not there.
type fixture struct {
	hub    *githubtest.Server
	remote *githubtest.Repo
	clock  *clock
	repo   *github.Repository
	// notices are what was said about retries.
	mu      sync.Mutex
	notices []string
}

// setup makes a fixture with branches main and deployment/main. Options may be changed before the client is made.
func setup(t *testing.T, server githubtest.Options, change func(*github.Options)) *fixture {
	t.Helper()
	f := &fixture{hub: githubtest.NewServer(t, server), clock: newClock()}
	f.clock.others = append(f.clock.others, f.hub.Advance)
	f.remote = f.hub.AddRepo("acme/gitops", githubtest.RepoOptions{
		Private: true, AllowAutoMerge: true, Teams: []string{"fleet"},
		Collaborators: map[string]string{"ann": "write", "bob": "read", "cid": "read"},
	})
	f.remote.SetBranch("main", commit("0"))
	f.remote.SetBranch("deployment/main", commit("1"))
	f.hub.AddToken(secret, githubtest.Token{Name: "workflow", Permissions: githubtest.AllPermissions()})
	f.repo = f.client(t, change).Repository("acme", "gitops")
	return f
}

func (f *fixture) client(t *testing.T, change func(*github.Options)) *github.Client {
	t.Helper()
	o := github.Options{
		API: f.hub.URL, Token: github.StaticToken(secret),
		Sleep: f.clock.Sleep, Now: f.clock.Now,
		Notice: func(line string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.notices = append(f.notices, line)
		},
	}
	if change != nil {
		change(&o)
	}
	client, err := github.New(o)
	require.NoError(t, err)
	return client
}

// commit returns the id of a commit.
func commit(digit string) string {
	id := ""
	for range 40 {
		id += digit
	}
	return id
}

// everything is a submission that asks for all there is.
func everything() pullrequest.Submission {
	return pullrequest.Submission{
		Environment: "dev", Head: "deployment/main", Base: "main", HeadCommit: commit("1"), Tree: commit("a"),
		Title: "Deploy dev", Body: "Two targets change.", Promoted: true,
		Options: pullrequest.Options{
			Labels: []string{"needs a look"}, Reviewers: []string{"ann", "acme/fleet"}, Assignees: []string{"bob"},
		},
	}
}
