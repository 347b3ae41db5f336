package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
)

// A press is a fleet in bare repositories on a GitHub of its own, where the environment dev is published.
// The requests of git and of the API pass a gate, which knows them all and can let anything happen.
type press struct {
	t     testing.TB
	root  string
	api   *githubtest.Server
	repo  *githubtest.Repo
	url   string
	books *books

	mu   sync.Mutex
	gate gate
	// seen are the requests so far, steps how many each run has made, foreign the branches that nobody
	// but the test may move, said what runs have printed.
	seen    []step
	steps   map[string]int
	foreign map[string]string
	said    []string
	// served are the repositories that are read over http. All others are read from their directory.
	served []string
	// command is what runs do; nil for "render --env dev". flags are given to every run.
	command, flags []string
	// variables are in the environment of every run, beside what runs need.
	variables map[string]string
	// clock is that of runs in this process; nil for that of the machine, and sleeping that takes no time.
	clock *aClock
	// timeouts is how long runs wait for the API; zero is as long as usual.
	timeouts github.Limits
	// stall is how long they wait for a git server that is silent; zero is a second if there is a gate, as that takes a
	// fault then, and longer otherwise.
	stall time.Duration
	// home is the repository that runs push to, and versions are the commits that they promote, the oldest first.
	home     string
	versions []string
	// moves tells of a reference, such as "gitops refs/heads/dev", whether it is for runs to move.
	moves func(ref string) bool
	// sound are the references of home when it was last checked, pushed is whether a push has arrived.
	sound  string
	pushed bool
	// commits is how many commits the test has added.
	commits atomic.Int64
}

// step is a request on its way to the server.
type step struct {
	// who is the name of the run, n counts its requests, from 1.
	who string
	n   int
	// what is the request: "POST gitops push", "GET /repos/acme/gitops/pulls".
	what string
}

func (s step) String() string { return fmt.Sprintf("%s %d: %s", s.who, s.n, s.what) }

// writes reports whether the request changes something on the server.
func (s step) writes() bool {
	return !strings.HasPrefix(s.what, "GET ") && !strings.HasSuffix(s.what, " fetch") && !strings.HasSuffix(s.what, " query")
}

// git reports whether it is git's.
func (s step) git() bool { return !strings.Contains(s.what, " /") }

// gate decides what becomes of a request; nil lets it through. It may wait.
type gate func(step) aFault

// The steps of publishing that tests act on.
const (
	tipsStep   = "GET gitops refs"
	readStep   = "POST gitops fetch"
	beforePush = "GET gitops refs for push"
	pushStep   = "POST gitops push"
	pullsStep  = "GET /repos/acme/gitops/pulls"
	createStep = "POST /repos/acme/gitops/pulls"
)

// usual is who runs if nothing else is said. The token of a run is its name and the secret.
const (
	usual  = "usual"
	secret = "+s3cr3t/of=the~run" // to be escaped in URLs
)

func tokenOf(who string) string { return who + secret }

// newPress starts a press over a copy of the repositories in a directory. The repositories named are read over http.
func newPress(t testing.TB, from string, served ...string) *press {
	t.Helper()
	p := &press{t: t, root: filepath.Join(t.TempDir(), "repos"), books: newBooks(), steps: map[string]int{}, served: slices.Concat(served, []string{"gitops"})}
	p.home = "gitops"
	p.moves = func(ref string) bool { return strings.HasPrefix(ref, "gitops refs/heads/deployment/") }
	copyRepos(t, from, p.root)
	p.api = githubtest.NewServer(t, githubtest.Options{})
	for _, name := range p.served {
		p.api.AddRepo("acme/"+name, githubtest.RepoOptions{Dir: p.dir(name), Private: true, DefaultBranch: "main"})
	}
	p.repo = p.api.Repo("acme/gitops")
	p.admit(usual)
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	p.url = front.URL
	p.foreign = p.refs()
	return p
}

// copyRepos copies bare repositories, without git's examples of hooks. The copies share the files of their objects, which
// nobody changes.
func copyRepos(t testing.TB, from, to string) {
	t.Helper()
	source := os.DirFS(from)
	require.NoError(t, fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "hooks":
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case strings.Contains("/"+name, "/objects/") && os.Link(filepath.Join(from, name), filepath.Join(to, name)) == nil:
			return nil
		}
		content, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), content, 0o644)
	}))
}

// admit makes the token of a run known.
func (p *press) admit(who string) {
	p.api.AddToken(tokenOf(who), githubtest.Token{Name: who, Permissions: githubtest.AllPermissions()})
}

func (p *press) dir(repo string) string { return filepath.Join(p.root, repo+".git") }

// ServeHTTP lets a request through the gate.
func (p *press) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	s := step{who: whoseRequest(r), what: whatRequest(r)}
	p.steps[s.who]++
	s.n = p.steps[s.who]
	p.seen = append(p.seen, s)
	p.pushed = p.pushed || s.git() && s.writes()
	decide := p.gate
	p.mu.Unlock()
	var fault aFault
	if decide != nil {
		fault = decide(s)
	}
	if fault == nil {
		p.api.ServeHTTP(w, r)
		return
	}
	fault(w, r, p.api)
}

// servedRepo is the repository that git asks for, and the path below it; empty for the API.
func servedRepo(r *http.Request) (repo, below string) {
	name, isGit := strings.CutPrefix(r.URL.Path, "/acme/")
	if !isGit {
		return "", ""
	}
	repo, below, _ = strings.Cut(name, "/")
	return repo, below
}

func whoseRequest(r *http.Request) string {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, password, basic := r.BasicAuth(); basic {
		token = password
	}
	who, _ := strings.CutSuffix(token, secret)
	return who
}

func whatRequest(r *http.Request) string {
	repo, below := servedRepo(r)
	if repo == "" {
		return r.Method + " " + r.URL.Path + graphQLOperation(r)
	}
	what := map[string]string{"git-upload-pack": "fetch", "git-receive-pack": "push"}[below]
	switch r.URL.Query().Get("service") {
	case "git-upload-pack":
		what = "refs"
	case "git-receive-pack":
		what = "refs for push"
	}
	return r.Method + " " + repo + " " + what
}

// graphQLOperation returns " query" for a request that asks GraphQL a question, and nothing for any other.
func graphQLOperation(r *http.Request) string {
	if !strings.HasSuffix(r.URL.Path, "/graphql") {
		return ""
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil || bytes.Contains(body, []byte("mutation")) {
		return ""
	}
	return " query"
}

// set sets the gate, and forgets the requests so far.
func (p *press) set(g gate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate, p.seen, p.steps = g, nil, map[string]int{}
}

// requests are those so far.
func (p *press) requests() []step {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

// count counts the requests so far of a kind.
func (p *press) count(what string) int {
	n := 0
	for _, s := range p.requests() {
		if s.what == what {
			n++
		}
	}
	return n
}

// writes are the requests so far that change something.
func (p *press) writes() []step {
	return slices.DeleteFunc(p.requests(), func(s step) bool { return !s.writes() })
}

// at does something when a request of a kind arrives, before it is answered: at the nth, or at each if n is 0.
func at(what string, n int, do func()) gate {
	return when(what, n, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		do()
		next.ServeHTTP(w, r)
	})
}

// when lets a fault happen to the nth request of a kind, or to each if n is 0.
func when(what string, n int, fault aFault) gate {
	var mu sync.Mutex
	arrived := 0
	return func(s step) aFault {
		mu.Lock()
		defer mu.Unlock()
		if s.what != what {
			return nil
		}
		arrived++
		if n != 0 && arrived != n {
			return nil
		}
		return fault
	}
}

// args are the arguments of a run.
func (p *press) args(more ...string) []string {
	command := p.command
	if command == nil {
		command = []string{"render", "--env", "dev"}
	}
	args := slices.Concat(command, []string{"--control-plane", acme("control-plane")})
	for _, repo := range p.served {
		args = append(args, "--replace", acme(repo)+"="+p.url+"/acme/"+repo)
	}
	args = append(append(args, "--replace", acme("*")+"="+p.root+"/*.git"), p.flags...)
	return append(args, more...)
}

// environ is the environment of a run.
func (p *press) environ(who string) map[string]string {
	all := map[string]string{"GITHUB_SERVER_URL": p.url, "GITHUB_API_URL": p.url, "GITHUB_TOKEN": tokenOf(who)}
	maps.Copy(all, p.variables)
	return all
}

// listOf writes an environment as processes have it.
func listOf(environ map[string]string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		list = append(list, name+"="+environ[name])
	}
	return list
}

// run publishes, in this process, where waiting takes no time.
func (p *press) run(more ...string) outcome { return p.runAs(p.t.Context(), usual, more...) }

func (p *press) runAs(ctx context.Context, who string, more ...string) outcome {
	return p.start(ctx, who, p.args(more...))
}

// start runs with just these arguments.
func (p *press) start(ctx context.Context, who string, args []string) outcome {
	var stdout, stderr bytes.Buffer
	environ := p.environ(who)
	e := &cli.Host{IO: term.IO{
		Stdout: &stdout, Stderr: &stderr, Env: func(name string) string { return environ[name] },
		Environ:    func() []string { return append(listOf(environ), "PATH="+os.Getenv("PATH")) },
		WorkingDir: func() (string, error) { return "", errors.New("there is none") },
		Sleep:      func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Now:        time.Now,
	}, Build: cli.Build{Version: "devel"}, Timeouts: p.timeouts, Limits: wire.Limits{Stall: p.gitStall()}}
	if p.clock != nil {
		e.Sleep, e.Now = p.clock.sleep, p.clock.now
	}
	code := run(ctx, args, e)
	got := outcome{code, stdout.String(), stderr.String()}
	p.heard(got)
	return got
}

// gitStall is how long a git server may be silent.
func (p *press) gitStall() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stall == 0 && p.gate != nil {
		return time.Second
	}
	return cmp.Or(p.stall, time.Minute) // a machine with other work may well be silent for seconds
}

// heard keeps what a run has printed.
func (p *press) heard(got outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, got.stdout, got.stderr)
}

// must publishes, and must succeed.
func (p *press) must(more ...string) outcome {
	p.t.Helper()
	got := p.run(more...)
	require.Equal(p.t, cli.ExitDone, got.code, got.stderr)
	return got
}

// process is the real program, with directories of its own for all that it may leave behind.
func (p *press) process(who string, more ...string) (cmd *exec.Cmd, left func() []string) {
	p.t.Helper()
	home := p.t.TempDir()
	env := listOf(p.environ(who))
	for _, directory := range []string{"home", "tmp", "work"} {
		require.NoError(p.t, os.Mkdir(filepath.Join(home, directory), 0o755))
	}
	env = append(env, "PATH="+os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "HOME="+filepath.Join(home, "home"), "TMPDIR="+filepath.Join(home, "tmp"))
	ctx, cancel := context.WithTimeout(p.t.Context(), safetyNet)
	p.t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, "kalypso", p.args(more...)...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = env, filepath.Join(home, "work"), time.Second
	return cmd, func() []string {
		var found []string
		_ = fs.WalkDir(os.DirFS(home), ".", func(name string, _ fs.DirEntry, _ error) error {
			if strings.Contains(name, "/") {
				found = append(found, name)
			}
			return nil
		})
		return found
	}
}

// ask runs git in a bare repository, unless it has answered the same question about the same commits before.
func ask(dir string, args ...string) (string, error) {
	switch args[0] {
	case "diff", "for-each-ref", "log", "ls-tree", "rev-list", "rev-parse", "show":
		return gitopstest.Ask(dir, args...)
	}
	return gitopstest.Git(dir, args...)
}

// git runs git in a repository.
func (p *press) git(repo string, args ...string) string {
	p.t.Helper()
	out, err := ask(p.dir(repo), args...)
	if err != nil { // it may be called from any goroutine
		p.t.Error(err)
	}
	return strings.TrimSpace(out)
}

// refs are all references of the repositories, but for those that runs make.
func (p *press) refs() map[string]string {
	refs := map[string]string{}
	repos, err := filepath.Glob(filepath.Join(p.root, "*.git"))
	if err != nil || len(repos) == 0 {
		p.t.Errorf("%v: no repositories", err)
	}
	for _, dir := range repos {
		for name, id := range refsOf(dir) {
			refs[strings.TrimSuffix(filepath.Base(dir), ".git")+" "+name] = id
		}
	}
	maps.DeleteFunc(refs, func(name, _ string) bool { return p.moves(name) })
	return refs
}

// refsOf reads the references of a bare repository, none of which are packed. Those that a push is about to write
// have other names.
func refsOf(dir string) map[string]string {
	refs := map[string]string{}
	_ = fs.WalkDir(os.DirFS(dir), "refs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && !strings.HasSuffix(name, ".lock") {
			if content, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				refs[name] = strings.TrimSpace(string(content))
			}
		}
		return nil // a file that is gone is skipped
	})
	return refs
}

// move does something to the repositories that is not the doing of a run.
func (p *press) move(do func()) {
	do()
	refs := p.refs()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.foreign = refs
}

// commit adds a commit to a branch, as somebody else would: the files given beside, or in place of, what is there.
func (p *press) commit(repo, branch string, files gitopstest.Files) {
	all := p.files(repo, branch)
	maps.Copy(all, files)
	p.replace(repo, branch, all)
}

// replace adds a commit with just these files.
func (p *press) replace(repo, branch string, files gitopstest.Files) {
	p.move(func() {
		_, err := gitopstest.Add(p.dir(repo), gitopstest.Commit{Branch: branch, Files: files, Time: 1_700_001_000 + p.commits.Add(1)})
		if err != nil {
			p.t.Error(err)
		}
	})
}

// prepare makes such a commit for later: see point.
func (p *press) prepare(repo, branch string, files gitopstest.Files) (id string) {
	before := refsOf(p.dir(repo))["refs/heads/"+branch]
	p.commit(repo, branch, files)
	id = refsOf(p.dir(repo))["refs/heads/"+branch]
	p.point(repo, branch, before)
	return id
}

// point makes a branch be at a commit, at once.
func (p *press) point(repo, branch, id string) {
	p.move(func() {
		name := filepath.Join(p.dir(repo), "refs", "heads", filepath.FromSlash(branch))
		if err := os.WriteFile(name, []byte(id+"\n"), 0o644); err != nil {
			p.t.Error(err)
		}
	})
}

// look returns a commit.
func (p *press) look(repo, revision string) gitopstest.Found {
	found, err := gitopstest.FindCommit(p.dir(repo), revision)
	if err != nil {
		p.t.Error(err)
	}
	return found
}

// firstParents are a commit, its first parent, and so on.
func (p *press) firstParents(repo, revision string) []gitopstest.Found {
	found, err := gitopstest.FirstParents(p.dir(repo), revision)
	if err != nil {
		p.t.Error(err)
	}
	return found
}

// files are those of a commit.
func (p *press) files(repo, commit string) gitopstest.Files {
	found, err := gitopstest.Read(p.dir(repo), commit)
	if err != nil {
		p.t.Error(err)
	}
	return found
}

// target changes the application app-1 so that its targets are those.
func (p *press) target(names ...string) {
	p.replace("app-1", "main", gitopstest.Files{"workload/workload.yaml": workloadWith(names...)})
}

func workloadWith(targets ...string) string {
	specs := make([]string, len(targets))
	for i, name := range targets {
		specs[i] = fmt.Sprintf("{name: %s, environment: dev, manifests: {repo: %s, branch: main, path: .}}", name, acme("app-1"))
	}
	return acmeObject("Workload", "app-1", "spec: {deploymentTargets: ["+strings.Join(specs, ", ")+"]}")
}

// books hold what a run that nothing disturbs makes of repositories, by their references.
type books struct {
	mu   sync.Mutex
	ends map[string]ending
}

func newBooks() *books { return &books{ends: map[string]ending{}} }
