package main

import (
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/model/fleettest"
)

// TestR5SecondRunWritesNothing: ten runs with nothing new write nothing at all, and list each branch once. The same input gives the
// same commit elsewhere.
func TestR5SecondRunWritesNothing(t *testing.T) {
	t.Parallel()
	template := newPress(t, acmeFleet(t))
	p, other := template.another(), template.another()
	for _, flags := range [][]string{nil, {"--label", "fleet", "--assignee", "octocat", "--reviewer", "octocat"}, {"--draft"}} {
		p.flags = flags
		p.repo.SetOptions(func(o *githubtest.RepoOptions) { o.Collaborators = map[string]string{"octocat": "write"} })
		p.must()
		for range 10 {
			p.set(nil)
			p.must()
			assert.Empty(t, p.writes(), flags)
			assert.Equal(t, 1, p.count(tipsStep), flags)
		}
	}
	other.must()
	assert.Equal(t, other.ending().Commit, p.ending().Commit)
	other.assertRight("ten runs")
}

// TestR12Mutations: with all that can be asked for, a run pushes once and makes six writing calls, and one for each label that
// is new to the repository. To bring that up to date takes one of each.
func TestR12Mutations(t *testing.T) {
	t.Parallel()
	p := newPress(t, acmeFleet(t))
	p.repo.SetOptions(func(o *githubtest.RepoOptions) {
		o.Collaborators, o.AllowAutoMerge, o.RequiredChecks = map[string]string{"octocat": "write"}, true, []string{"ci"}
	})
	p.flags = []string{"--label", "fleet,dev", "--reviewer", "octocat", "--assignee", "octocat", "--auto-merge"}
	written := func() (pushes, calls int) {
		p.set(nil)
		p.must()
		for _, s := range p.writes() {
			if s.git() {
				pushes++
			} else {
				calls++
			}
		}
		return pushes, calls
	}
	pushes, calls := written()
	assert.Equal(t, 1, pushes)
	assert.Equal(t, 6+2, calls, "%v", p.writes())
	p.target("web", "api")
	pushes, calls = written()
	assert.Equal(t, 1, pushes)
	assert.Equal(t, 1, calls, "%v", p.writes())
	p.assertNothingLost("all flags")
	assert.Len(t, p.repo.OpenPulls(), 1)
}

// TestR13ManyFoldersOfOthers: what others keep on the GitOps branch stays as it is, to the last bit.
func TestR13ManyFoldersOfOthers(t *testing.T) {
	t.Parallel()
	p := newPress(t, acmeFleet(t))
	const readme = "This folder contains deployment targets scheduled on the cluster type"
	files := gitopstest.Files{
		"edge/README.md": readme, "edge/notes.md": "Notes of the platform team.\n", "edge/app-9-web/values.yaml": "no: target\n", "cloud/README.md": "Mine.\n",
		"cloud/x/reconciler.yaml": "x: 1\n", "cloud/x/namespace.yaml": "x: 1\n", ".hidden/README.md": readme,
	}
	for i := range 3000 {
		files[fmt.Sprintf("theirs/%02d/%03d/file.txt", i%30, i)] = fmt.Sprintln(i)
	}
	p.move(func() {
		_, err := gitopstest.Add(p.dir("gitops"), gitopstest.Commit{
			Branch: "dev", Files: files, Links: map[string]string{"latest": "theirs/00"}, Submodules: map[string]string{"vendor/lib": strings.Repeat("1", 40)},
		})
		require.NoError(t, err)
	})
	p.must()
	for line := range strings.Lines(p.git("gitops", "diff", "--name-status", "dev", "deployment/dev")) {
		assert.Regexp(t, `^A\tedge/app-[123]-web/(reconciler|namespace)\.yaml\n?$`, line)
	}
	assert.Len(t, strings.Fields(p.git("gitops", "diff", "--name-only", "dev", "deployment/dev")), 6)
	p.assertNothingLost("many directories")
	assert.Len(t, p.repo.OpenPulls(), 1)
}

// TestR14AThousandAssignments publishes a fleet with so many files that a diff of them fits into no body, nor into one answer of GitHub.
func TestR14AThousandAssignments(t *testing.T) {
	t.Parallel()
	matrix(t)
	size, err := fleettest.Named("1k")
	require.NoError(t, err)
	fleet := fleettest.Generate(size)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, fleet.Directories()))
	repo := acmeObject("GitOpsRepo", "dev", "spec: {repo: "+acme("gitops")+", branch: dev}")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "control-plane", "dev", "gitops.yaml"), []byte(repo), 0o644))
	p := newPress(t, acmeFleet(t))
	flags := fleettest.Flags(dir)
	args := append([]string{"render", "--replace", acme("gitops") + "=" + p.url + "/acme/gitops"}, flags...)
	got := p.start(t.Context(), usual, args)
	require.Equal(t, cli.ExitDone, got.code, got.stderr)
	pull := p.repo.Pull(1)
	assert.Contains(t, pull.Body, fmt.Sprintf("+%d ~0 -0", size.Assignments()))
	assert.LessOrEqual(t, len([]rune(pull.Body)), 65_536)
	assert.Equal(t, 1, p.count(pushStep))
	assert.Greater(t, len(strings.Fields(p.git("gitops", "ls-tree", "-r", "--name-only", "deployment/dev"))), 2*size.Assignments())
	p.set(nil)
	got = p.start(t.Context(), usual, args)
	require.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Empty(t, p.writes())
	p.assertNothingLost("1k")
	assert.Len(t, p.repo.OpenPulls(), 1)
}

// TestR22DeletionGuard: a change that removes most of what is published is refused, and listed, unless it is meant.
func TestR22DeletionGuard(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d", "e", "f"}
	from := newPress(t, acmeFleet(t))
	from.target(names...)
	from.must()
	from.move(func() { from.repo.MergePull(1, "squash") })
	nobody := gitopstest.Files{"policy.yaml": acmeObject("SchedulingPolicy", "all", "spec: {clusterTypeSelector: {labelSelector: {matchLabels: {no: such}}}}")}
	for name, mistake := range map[string]func(p *press){
		"a policy that matches nothing": func(p *press) { p.commit("control-plane", "dev", nobody) },
		"a workload with few targets":   func(p *press) { p.target("a") },
	} {
		p := from.another()
		mistake(p)
		cmd, left := p.process(usual)
		got := finish(t, cmd)
		p.heard(got)
		assert.Equal(t, cli.ExitModel, got.code, "%s: %s", name, got.stderr)
		assert.Contains(t, got.stderr, "[many-deletions]", name)
		assert.Contains(t, got.stderr, "edge/app-1-f", name)
		assert.Contains(t, got.stderr, "--allow-deletions", name)
		assert.Empty(t, left(), name)
		assert.Empty(t, p.writes(), name)
		assert.Empty(t, p.repo.OpenPulls(), name)
		p.flags = []string{"--allow-deletions"}
		p.must()
		p.assertNothingLost(name)
		assert.Len(t, p.repo.OpenPulls(), 1, name)
	}
}

// TestNoBranchYet: an empty repository and a missing branch are errors that say what to do. With --create-branch two runs at once make
// one branch and one pull request.
func TestNoBranchYet(t *testing.T) {
	t.Parallel()
	template := newPress(t, acmeFleet(t))
	for name, empty := range map[string]func(p *press){
		"no branch": func(p *press) {
			p.git("gitops", "update-ref", "refs/heads/other", "dev")
			p.git("gitops", "update-ref", "-d", "refs/heads/dev")
		},
		"an empty repository": func(p *press) {
			require.NoError(t, os.RemoveAll(p.dir("gitops")))
			_, err := gitopstest.Bare(p.dir("gitops"))
			require.NoError(t, err)
		},
	} {
		p := template.another()
		p.move(func() { empty(p) })
		got := p.run()
		assert.Equal(t, cli.ExitModel, got.code, "%s: %s", name, got.stderr)
		assert.Contains(t, got.stderr, "--create-branch", name)
		assert.Empty(t, p.writes(), name)

		p.flags = []string{"--create-branch"}
		r := newRace(p)
		for _, who := range []string{"a", "b"} {
			r.start(who)
			for r.cars[who].next.what != pushStep {
				r.step(who)
			}
		}
		r.finish("a", "b")
		p.move(func() {}) // the branch is ours
		assert.Empty(t, p.git("gitops", "ls-tree", "dev"), name)
		p.assertRight(name)
		assert.Len(t, p.repo.Pulls(), 1, name)
	}
}

// TestDirect commits to the GitOps branch itself, and loses races there as anywhere.
func TestDirect(t *testing.T) {
	t.Parallel()
	template := newPress(t, acmeFleet(t))
	for _, what := range []string{"", tipsStep, readStep, beforePush, pushStep} {
		p := template.another()
		more := p.prepare("gitops", "dev", gitopstest.Files{"docs/more.md": "More.\n"})
		p.set(at(what, 1, func() { p.point("gitops", "dev", more) }))
		p.must("--direct")
		p.move(func() {})
		files := p.files("gitops", "dev")
		assert.Contains(t, files, "edge/app-3-web/reconciler.yaml", what)
		assert.Contains(t, files, "docs/notes.md", what)
		assert.Equal(t, what != "", files["docs/more.md"] != "", what)
		assert.Empty(t, p.repo.Pulls(), what)
		assert.NotContains(t, refsOf(p.dir("gitops")), "refs/heads/deployment/dev", what)
		p.set(nil)
		p.must("--direct")
		assert.Empty(t, p.writes(), what)
		p.assertNothingLost(what)
	}
}

// TestBranch pushes to another branch, and leaves the usual one alone.
func TestBranch(t *testing.T) {
	t.Parallel()
	p := newPress(t, acmeFleet(t))
	p.must("--branch", "kalypso/dev")
	tip := p.git("gitops", "rev-parse", "kalypso/dev")
	assert.Equal(t, p.undisturbed().Commit, tip)
	assert.NotContains(t, refsOf(p.dir("gitops")), "refs/heads/deployment/dev")
	open := p.repo.OpenPulls()
	require.Len(t, open, 1)
	assert.Equal(t, "kalypso/dev", open[0].Head)
	p.must() // the usual one again: the other pull request is closed in its favour
	p.move(func() {})
	p.assertRight("the usual branch")
}

// several makes the environment have GitOpsRepos: a second repository, and a directory of the first.
func several(p *press) {
	addRepo(p.t.(*testing.T), p.root, "gitops2", gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"x": "1"}})
	p.api.AddRepo("acme/gitops2", githubtest.RepoOptions{Dir: p.dir("gitops2"), Private: true})
	p.served = append([]string{"gitops2"}, p.served...)
	p.commit("control-plane", "dev", gitopstest.Files{
		"gitops2.yaml": acmeObject("GitOpsRepo", "second", "spec: {repo: "+acme("gitops2")+", branch: dev}"),
		"gitops3.yaml": acmeObject("GitOpsRepo", "third", "spec: {repo: "+acme("gitops")+", branch: dev, path: clusters/eu}"),
	})
}

// TestSeveralGitOpsRepos: each gets the whole tree and a pull request. One that fails does not stop the others.
func TestSeveralGitOpsRepos(t *testing.T) {
	t.Parallel()
	for _, broken := range []bool{true, false} {
		p := newPress(t, acmeFleet(t))
		several(p)
		if broken {
			p.set(when("GET gitops2 refs for push", 0, answers(http.StatusForbidden)))
		}
		got := p.run()
		heads := map[string]int{}
		for _, repo := range []string{"gitops", "gitops2"} {
			for _, pull := range p.api.Repo("acme/" + repo).OpenPulls() {
				heads[repo+" "+pull.Head]++
			}
		}
		want := map[string]int{"gitops deployment/dev": 1, "gitops deployment/dev.clusters-eu": 1}
		if broken {
			assert.Equal(t, cli.ExitRemote, got.code, got.stderr)
			assert.Contains(t, got.stderr, acme("gitops2"))
			assert.Contains(t, got.stderr, "not everything was published")
		} else {
			want["gitops2 deployment/dev"] = 1
			assert.Equal(t, cli.ExitDone, got.code, got.stderr)
		}
		assert.Equal(t, want, heads)
		if !broken {
			assert.Contains(t, p.files("gitops2", "deployment/dev"), "edge/app-3-web/reconciler.yaml")
		}
		below := p.git("gitops", "diff", "--name-only", "dev", "deployment/dev.clusters-eu")
		for line := range strings.Lines(below) {
			assert.True(t, strings.HasPrefix(line, "clusters/eu/edge/"), line)
		}
		assert.Len(t, strings.Fields(below), 7)
		p.set(nil)
		p.must()
		if !broken {
			assert.Empty(t, p.writes())
		}
		delete(p.foreign, "gitops2 refs/heads/deployment/dev")
		refs := p.refs()
		maps.DeleteFunc(refs, func(name, _ string) bool { return strings.Contains(name, "refs/heads/deployment/") })
		assert.Equal(t, p.foreign, refs)
		p.git("gitops2", "fsck", "--strict")
	}
}

// TestTwoEnvironments: two environments in one run, in one GitOps repository, have a pull request each. What happens to one does not
// touch the other.
func TestTwoEnvironments(t *testing.T) {
	t.Parallel()
	from := newPress(t, acmeFleet(t))
	stage := acmeObject("Environment", "stage", "spec: {controlPlane: {repo: "+acme("control-plane")+", branch: stage}}")
	from.commit("control-plane", "main", gitopstest.Files{".environments/stage.yaml": stage})
	files := from.files("control-plane", "dev")
	files["gitops.yaml"] = strings.ReplaceAll(files["gitops.yaml"], "branch: dev", "branch: stage")
	from.replace("control-plane", "stage", files)
	from.replace("gitops", "stage", gitopstest.Files{"docs/stage.md": "Stage.\n"})
	for _, app := range appsOfAcme {
		all := from.files(app, "main")
		both := all["workload/workload.yaml"]
		target := both[strings.Index(both, "{name: web"):strings.LastIndex(both, "]")]
		both = strings.Replace(both, target, target+", "+strings.Replace(target, "environment: dev", "environment: stage", 1), 1)
		from.replace(app, "main", gitopstest.Files{"workload/workload.yaml": both})
	}
	from.flags = []string{"--env", "stage"}
	heads := func(p *press) []string {
		var all []string
		for _, pull := range p.repo.OpenPulls() {
			all = append(all, pull.Head+" -> "+pull.Base)
		}
		return slices.Sorted(slices.Values(all))
	}
	both := []string{"deployment/dev -> dev", "deployment/stage -> stage"}
	p := from.another()
	p.must()
	assert.Equal(t, both, heads(p))
	p.set(nil)
	p.must()
	assert.Empty(t, p.writes())
	p.assertNothingLost("two environments")

	// Of one somebody has changed the deployment branch.
	p.commit("gitops", "deployment/stage", gitopstest.Files{"fix.txt": "By hand.\n"})
	p.target("web", "api")
	tip := p.git("gitops", "rev-parse", "deployment/stage")
	got := p.run()
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Equal(t, tip, p.git("gitops", "rev-parse", "deployment/stage"))
	assert.Equal(t, both, heads(p))
	assert.Contains(t, p.files("gitops", "deployment/dev"), "edge/app-1-api/reconciler.yaml")
	p.assertNothingLost("one of two")

	// Of one the GitOps branch moves while both are published: only that is done again.
	p = from.another()
	p.set(at(createStep, 2, func() { p.commit("gitops", "stage", gitopstest.Files{"docs/more.md": "More.\n"}) }))
	p.must()
	assert.Equal(t, both, heads(p))
	assert.Equal(t, 2, p.count(createStep))
	p.assertNothingLost("one moved")
}

// TestSigned signs with a key; git knows it, and the same input gives the same commit.
func TestSigned(t *testing.T) {
	t.Parallel()
	p := newPress(t, acmeFleet(t))
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	signers := signingKey(t, key, "me@example.com")
	p.flags = []string{"--signing-key", key, "--author", "Me <me@example.com>"}
	cmd, left := p.process(usual)
	got := finish(t, cmd)
	p.heard(got)
	require.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.Empty(t, left())
	out, err := gitopstest.Git(p.dir("gitops"), "-c", "gpg.ssh.allowedSignersFile="+signers, "log", "-1", "--format=%G?%GS", "deployment/dev")
	require.NoError(t, err)
	assert.Equal(t, "Gme@example.com", strings.TrimSpace(out))
	p.assertRight("signed")
}

// signingKey writes a new key, and returns a file that says whose it is.
func signingKey(t *testing.T, file, of string) (signers string) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("git checks signatures with ssh-keygen, which is not installed")
	}
	public, err := writeKey(file)
	require.NoError(t, err)
	known, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	signers = file + ".signers"
	require.NoError(t, os.WriteFile(signers, append([]byte(of+" "), ssh.MarshalAuthorizedKey(known)...), 0o600))
	return signers
}

// writeKey makes a key to sign with.
func writeKey(file string) (ed25519.PublicKey, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return nil, err
	}
	return public, os.WriteFile(file, pem.EncodeToMemory(block), 0o600)
}
