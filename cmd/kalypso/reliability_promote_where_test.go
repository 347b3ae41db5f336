package main

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// newShared is a press of a control plane whose one environment is on main itself, where nothing was ever promoted, or the
// first commit was.
func newShared(t *testing.T, promoted bool) *press {
	t.Helper()
	root := t.TempDir()
	files := gitopstest.Files{".environments/stage.yaml": acmeObject("Environment", "stage", "spec: {controlPlane: {repo: "+acme("control-plane")+", branch: main, path: stage}}"), "stage/notes.md": "Notes.\n"}
	commits := addRepo(t, root, "control-plane", gitopstest.Commit{Files: files})
	if promoted {
		files["stage/"+stageBase] = stageBaseAt(commits[0])
		commits = append(commits, addRepo(t, root, "control-plane", gitopstest.Commit{Files: files})...)
	}
	addRepo(t, root, "gitops", gitopstest.Commit{Branch: "stage", Files: gitopstest.Files{"docs/notes.md": "Somebody wrote this.\n"}})
	p := newStagesOf(t, root, commits)
	p.pushesTo("control-plane", "main")
	return p
}

// TestC6SharedBranch: an environment on the base branch itself gets a commit once. The commit that this makes is none to be
// promoted, so that it ends there.
func TestC6SharedBranch(t *testing.T) {
	t.Parallel()
	for _, promoted := range []bool{true, false} {
		p := newShared(t, promoted)
		newest := p.tip("main")
		p.must()
		assert.Equal(t, newest, p.git("control-plane", "rev-parse", "main^"))
		assert.Equal(t, "stage/"+stageBase, p.git("control-plane", "diff", "--name-only", newest, "main"))
		assert.Contains(t, p.files("control-plane", "main")["stage/"+stageBase], newest)
		assert.Equal(t, "pending Promoted", p.statusSaid())
		end := p.tip("main")
		for range 5 {
			p.set(nil)
			got := p.must()
			assert.Contains(t, got.stdout, "stage: "+end[:12]+" is not promoted\n")
			assert.Contains(t, got.stdout, "notice: commit "+end[:12]+" changes only a promoted commit: promoting it would start a loop\n")
			assert.Empty(t, p.writes())
			assert.Equal(t, end, p.tip("main"))
		}
		p.commit("control-plane", "main", gitopstest.Files{"docs/more.md": "More.\n"})
		change := p.tip("main")
		p.must()
		assert.Contains(t, p.files("control-plane", "main")["stage/"+stageBase], change, "a change is kept")
		p.assertNothingLost("shared")
	}
}

// newNever is a press whose stage was never promoted to: its branch holds just these files.
func newNever(t *testing.T, directory string, files gitopstest.Files) *press {
	t.Helper()
	root := t.TempDir()
	main := stagedMain(0)
	if directory != "" {
		main[".environments/stage.yaml"] = acmeObject("Environment", "stage", "spec: {controlPlane: {repo: "+acme("control-plane")+", branch: stage, path: "+directory+"}}")
	}
	commits := addRepo(t, root, "control-plane", gitopstest.Commit{Files: main})
	addRepo(t, root, "control-plane", gitopstest.Commit{Branch: "stage", Files: files})
	addRepo(t, root, "gitops", gitopstest.Commit{Branch: "stage", Files: gitopstest.Files{"docs/notes.md": "Somebody wrote this.\n"}})
	p := newStagesOf(t, root, commits)
	p.say(commits[0], devStatus, "success", "Deployed")
	return p
}

// TestC6NeverPromoted: the first promotion makes the BaseRepo, in a file of its own or behind what is there.
func TestC6NeverPromoted(t *testing.T) {
	t.Parallel()
	matrix(t)
	const notes = "docs/notes.md"
	config := acmeObjectOf("v1", "ConfigMap", "more", "data: {a: b}")
	for _, c := range []struct {
		name, directory string
		files           gitopstest.Files
		// at is the file that is made or changed, and keeps what it holds.
		at string
	}{
		{"nothing is there", "", gitopstest.Files{notes: "Notes.\n"}, stageBase},
		{"below a directory", "fleet/stage", gitopstest.Files{"fleet/stage/notes.md": "Notes.\n", stageBase: stageBaseAt(strings.Repeat("1", 40))}, "fleet/stage/" + stageBase},
		{"the file holds other things", "", gitopstest.Files{stageBase: config}, stageBase},
		{"the file holds another BaseRepo", "", gitopstest.Files{stageBase: strings.Replace(stageBaseAt(strings.Repeat("1", 40)), "main}", "common}", 1)}, stageBase},
		{"the file is empty", "", gitopstest.Files{stageBase: ""}, stageBase},
		{"there is a broken ConfigMap", "", gitopstest.Files{"broken.yaml": acmeObjectOf("v1", "ConfigMap", "broken", "data: {a: [b]}")}, stageBase},
		{"there is a broken policy", "", gitopstest.Files{"broken.yaml": acmeObject("SchedulingPolicy", "broken", "spec: {clusterTypeSelector: 7}")}, stageBase},
		{"what is broken is ignored", "", gitopstest.Files{".sourceignore": "/old/\n", "old/broken.yaml": "a: [\n", "old/base.yaml": stageBaseAt(strings.Repeat("1", 40))}, stageBase},
	} {
		p := newNever(t, c.directory, c.files)
		before := p.tip("stage")
		got := p.run("--skip-compile")
		if !assert.Equal(t, cli.ExitDone, got.code, "%s: %s", c.name, got.stderr) {
			continue
		}
		assert.Contains(t, got.stdout, "stage: nothing -> "+p.versions[0][:12]+", promoted\n", c.name)
		files := p.files("control-plane", "stage")
		assert.True(t, strings.HasPrefix(files[c.at], c.files[c.at]), c.name)
		assert.Equal(t, 1, strings.Count(files[c.at], "\n  commit: "+p.versions[0]+"\n"), c.name)
		want := maps.Clone(c.files)
		want[c.at] = files[c.at]
		assert.Equal(t, want, files, c.name)
		assert.Equal(t, before, p.git("control-plane", "rev-parse", "stage^"), c.name)
		p.set(nil)
		got = p.must()
		assert.Contains(t, got.stdout, "stage: already at ", c.name)
		assert.Empty(t, p.writes(), c.name)
		p.assertNothingLost(c.name)
	}
}

// acmeObjectOf is an object of another API.
func acmeObjectOf(api, kind, name, content string) string {
	return "apiVersion: " + api + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\n" + content + "\n"
}

// TestC6CannotBeWritten: where the BaseRepo may be in what cannot be read, or a new one would not be read, nothing is promoted,
// and the run says which file it is.
func TestC6CannotBeWritten(t *testing.T) {
	t.Parallel()
	matrix(t)
	one := stageBaseAt(strings.Repeat("1", 40))
	for _, c := range []struct {
		name  string
		files gitopstest.Files
		says  []string
	}{
		{"a file is no YAML", gitopstest.Files{"broken.yaml": "a: [\n"}, []string{"broken.yaml:", "[invalid-yaml]"}},
		{"the file itself is none", gitopstest.Files{stageBase: "a: [\n"}, []string{stageBase, "[invalid-yaml]"}},
		{"the BaseRepo is broken", gitopstest.Files{stageBase: strings.Replace(one, "repo:", "ropo:", 1)}, []string{stageBase + ":", "ropo"}},
		{"there are two", gitopstest.Files{"a.yaml": one, "b.yaml": one}, []string{"b.yaml:", "a.yaml:", "[duplicate-object]"}},
		{"it is another repository", gitopstest.Files{stageBase: strings.Replace(one, "acme/control-plane", "acme/common", 1)}, []string{stageBase + ":", "[foreign-base]"}},
		{"it is another branch", gitopstest.Files{stageBase: strings.Replace(one, "branch: main", "branch: trunk", 1)}, []string{stageBase + ":", "[foreign-base]", "--base-branch"}},
		{"the file is ignored", gitopstest.Files{".sourceignore": "base-repo.yaml\n"}, []string{stageBase, ".sourceignore"}},
		{"the file is ignored and there", gitopstest.Files{".sourceignore": "/*\n!/fleet.yaml\n", stageBase: one}, []string{stageBase, ".sourceignore"}},
		{"the file is a directory", gitopstest.Files{stageBase + "/notes.md": "Notes.\n"}, []string{stageBase}},
	} {
		p := newNever(t, "", c.files)
		got := p.run()
		assert.Equal(t, cli.ExitModel, got.code, "%s: %s", c.name, got.stderr)
		for _, says := range c.says {
			assert.Contains(t, got.stderr, says, c.name)
		}
		assert.Contains(t, got.stderr, "nothing was promoted", c.name)
		p.assertUnpromoted(c.name)
	}
}

// TestC6BrokenElsewhere: what is wrong with other objects of the branch keeps nobody from promoting.
func TestC6BrokenElsewhere(t *testing.T) {
	t.Parallel()
	p := newStages(t)
	p.commit("control-plane", "stage", gitopstest.Files{"broken.yaml": acmeObject("ClusterType", "broken", "spec: {reconcilr: flux}")})
	before := p.tip("stage")
	got := p.must("--skip-compile")
	assert.Empty(t, got.stderr)
	p.assertPromotes("stage", before, p.versions[0], p.versions[2], "broken elsewhere")
}

// TestC6WithoutFilters: where the server cannot send commits alone the API is asked how they stand to each other; without an
// API, the whole history is read.
func TestC6WithoutFilters(t *testing.T) {
	t.Parallel()
	template := newStages(t)
	want := template.rehearse()
	for name, c := range map[string]struct {
		prepare func(p *press)
		compare bool
	}{
		"no filters":             {func(*press) {}, true},
		"no filters, no compare": {func(p *press) { p.set(forbidCompare()) }, true},
	} {
		p := template.another()
		p.books = newBooks() // another server answers otherwise
		p.git("control-plane", "config", "uploadpack.allowFilter", "false")
		c.prepare(p)
		p.must()
		p.assertPromoted(want, name)
		asked := 0
		for _, s := range p.requests() {
			if strings.Contains(s.what, "/compare/") {
				asked++
			}
		}
		assert.Positive(t, asked, name)
		assert.LessOrEqual(t, len(p.requests()), 24, name)
		got := p.run("--commit", p.versions[1])
		assert.Equal(t, cli.ExitModel, got.code, got.stderr)
		assert.Contains(t, got.stderr, "[older-commit]", name)
	}
}

// forbidCompare is a GitHub that compares nothing.
func forbidCompare() gate {
	return func(s step) aFault {
		if strings.Contains(s.what, "/compare/") {
			return answers(http.StatusForbidden)
		}
		return nil
	}
}

// TestC6DefaultCommit: without --commit it is the one that the workflow runs for, if the base branch of the control plane
// started it; else the newest.
func TestC6DefaultCommit(t *testing.T) {
	t.Parallel()
	matrix(t)
	template := newStages(t)
	older, newest := template.versions[1], template.versions[2]
	for _, c := range []struct {
		repo, ref string
		want      string
	}{
		{"acme/control-plane", "refs/heads/main", older},
		{"acme/control-plane", "refs/heads/dev", newest},
		{"acme/control-plane", "refs/pull/1/merge", newest},
		{"acme/control-plane", "refs/tags/main", newest},
		{"acme/gitops", "refs/heads/main", newest},
		{"", "", newest},
	} {
		p := template.another()
		p.commit("control-plane", "stage", gitopstest.Files{stageBase: strings.Replace(stageBaseAt(p.versions[0]), "https://github.com", p.url, 1)})
		p.variables = map[string]string{"GITHUB_REPOSITORY": c.repo, "GITHUB_REF": c.ref, "GITHUB_SHA": older}
		p.must("--control-plane", p.url+"/acme/control-plane", "--skip-compile")
		assert.Equal(t, c.want, commitOf(p.files("control-plane", "stage")[stageBase]), c)
		p.assertNothingLost(c.ref)
	}
	p := template.another()
	p.variables = map[string]string{"GITHUB_REPOSITORY": "acme/control-plane", "GITHUB_REF": "refs/heads/main", "GITHUB_SHA": newest}
	p.must("--commit", older)
	require.Equal(t, older, commitOf(p.files("control-plane", "stage")[stageBase]))
}
