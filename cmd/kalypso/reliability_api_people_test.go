package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// somebody is what people do to a pull request, and how it must end.
var somebody = map[string]struct {
	does func(r *githubtest.Repo, number int)
	// check looks at the end, after a run that nobody disturbed. first is the pull request that it was done to.
	check func(t *testing.T, h *hub, first githubtest.Pull, which string)
}{
	"closes it": {
		func(r *githubtest.Repo, number int) { r.Close(number) },
		func(t *testing.T, h *hub, first githubtest.Pull, which string) {
			assert.False(t, first.Open, "%s: it stays closed", which)
			if len(h.repo.OpenPulls()) == 0 { // it was of the new tree when it was closed
				assert.Contains(t, h.render().stdout, "--reopen", which)
				return
			}
			h.assertOnePullRequest(which)
		},
	},
	"merges it": {
		func(r *githubtest.Repo, number int) { r.MergePull(number, "squash") },
		func(t *testing.T, h *hub, first githubtest.Pull, which string) {
			assert.True(t, first.Merged, which)
			if len(h.repo.OpenPulls()) == 0 { // it had everything when it was merged
				assert.Contains(t, h.git("show", "dev:edge/app-2-web/reconciler.yaml"), "changed", which)
				return
			}
			h.assertOnePullRequest(which)
		},
	},
	"deletes its branch": {
		func(r *githubtest.Repo, number int) { r.DeleteBranch("deployment/dev") },
		func(t *testing.T, h *hub, first githubtest.Pull, which string) {
			assert.False(t, first.Open, which)
			if len(h.repo.OpenPulls()) == 0 {
				assert.Contains(t, h.render().stdout, "--reopen", which)
				return
			}
			h.assertOnePullRequest(which)
		},
	},
	"gives it another base": {
		func(r *githubtest.Repo, number int) { r.Retarget(number, "elsewhere") },
		func(t *testing.T, h *hub, first githubtest.Pull, which string) {
			assert.True(t, first.Open, which)
			assert.Equal(t, "elsewhere", first.Base, "%s: it stays there", which)
			h.repo.Close(first.Number)
			h.assertOnePullRequest(which)
		},
	},
	"makes it a draft": {
		func(r *githubtest.Repo, number int) { r.SetDraft(number, true) },
		func(t *testing.T, h *hub, first githubtest.Pull, which string) {
			assert.True(t, first.Draft, "%s: it stays one", which)
			assert.Equal(t, first.Number, h.assertOnePullRequest(which).Number, which)
		},
	},
	"writes around our text": {
		func(r *githubtest.Repo, number int) {
			r.Edit(number, "Somebody's title", "Not before Monday!\n\n"+r.Pull(number).Body+"\n\nThanks.")
		},
		func(t *testing.T, h *hub, first githubtest.Pull, which string) {
			assert.Equal(t, first.Number, h.assertOnePullRequest(which).Number, which)
			if !strings.Contains(which, "PATCH") { // GitHub knows no "if it is still the same"
				assert.True(t, strings.HasPrefix(first.Body, "Not before Monday!\n\n<!-- kalypso"), "%s: %s", which, first.Body)
				assert.True(t, strings.HasSuffix(first.Body, "\n\nThanks."), which)
			}
		},
	},
	"empties it": {
		func(r *githubtest.Repo, number int) { r.Edit(number, "Somebody's title", "") },
		func(t *testing.T, h *hub, _ githubtest.Pull, which string) { h.assertOnePullRequest(which) },
	},
	"takes its labels off": {
		func(r *githubtest.Repo, number int) { r.SetLabels(number) },
		func(t *testing.T, h *hub, first githubtest.Pull, which string) {
			assert.Empty(t, first.Labels, which)
			assert.Equal(t, first.Number, h.assertOnePullRequest(which).Number, which)
		},
	},
}

// TestR15PeopleAreFaster lets somebody do something to the pull request before a run, and before each request of
// it. What they did stays. The run after it ends in one right pull request, or in none if that is what they want,
// and the one after that has nothing to do.
func TestR15PeopleAreFaster(t *testing.T) {
	t.Parallel()
	matrix(t)
	p := anUpdate(t)
	const some = 4 // of the requests, each of which has two people before it
	for i, name := range slices.Sorted(maps.Keys(somebody)) {
		person := somebody[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, request := range spread(p.requests, i, some) {
				which := fmt.Sprintf("somebody %s before request %d, %s", name, request.Number, request.Method)
				var (
					h    *hub
					once sync.Once
				)
				h = newHub(t, p.fleet, hubOptions{server: githubtest.Options{Before: func(r githubtest.Request) {
					if r.Number == request.Number {
						once.Do(func() { person.does(h.repo, 1) })
					}
				}}})
				h.repo.SetBranch("elsewhere", h.repo.Branches()["dev"])
				h.repo.OpenPull(p.pulls[0])
				before := h.render()
				assert.Contains(t, []int{cli.ExitDone, cli.ExitRemote}, before.code, "%s: %s", which, before.stderr)
				h.Forget()
				h.mustRender()
				person.check(t, h, h.repo.Pull(1), which)
				h.Forget()
				h.mustRender()
				assert.Empty(t, h.Writes(), which)
				h.assertSilent(which)
			}
		})
	}
}

// TestR15OpenedByAPerson: somebody opens the pull request from our branch. There can be only one, so it is used:
// their title and text stay, ours goes below.
func TestR15OpenedByAPerson(t *testing.T) {
	t.Parallel()
	fleet := promotedFleet(t)
	h := newHub(t, fleet, hubOptions{})
	h.mustRender()
	h.repo.Close(1)
	addRepo(t, fleet, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "changed")})
	h.repo.OpenPull(githubtest.Pull{
		Issue: githubtest.Issue{Title: "Please look at this", Body: "I need it today.", Author: "octocat"}, Head: "deployment/dev", Base: "dev",
	})
	got := h.mustRender()
	assert.Contains(t, got.stdout, "pull request #2 updated: ")
	pull := h.assertOnePullRequest()
	assert.Equal(t, "Please look at this", pull.Title)
	assert.True(t, strings.HasPrefix(pull.Body, "I need it today.\n\n<!-- kalypso:v1 environment=dev "), pull.Body)
	assert.Contains(t, pull.Labels, "promoted")
	assert.False(t, h.repo.Pull(1).Open)

	h.Forget()
	h.mustRender()
	assert.Empty(t, h.Writes())
}

// TestR15ClosedByAPerson: what a person did not want is not proposed again, until something changes or
// somebody says so.
func TestR15ClosedByAPerson(t *testing.T) {
	t.Parallel()
	fleet := promotedFleet(t)
	h := newHub(t, fleet, hubOptions{})
	h.mustRender()
	h.repo.Close(1)
	for _, deleted := range []bool{false, true} {
		if deleted {
			h.repo.DeleteBranch("deployment/dev") // as GitHub offers to
		}
		h.Forget()
		got := h.mustRender()
		assert.Contains(t, got.stdout, "pull request #1 declined: ")
		assert.Contains(t, got.stdout, "--reopen")
		assert.Empty(t, h.Writes())
		assert.Empty(t, h.repo.OpenPulls())
	}
	got := h.mustRender("--reopen")
	assert.Contains(t, got.stdout, "pull request #2 created: ")
	h.assertOnePullRequest()

	h.repo.Close(2)
	addRepo(t, fleet, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "changed")})
	h.mustRender()
	assert.Equal(t, 3, h.assertOnePullRequest("something has changed").Number)
}

// TestR9OthersAreLeftAlone: pull requests of people, of other environments and into other branches stay as they
// are, whatever becomes of ours.
func TestR9OthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	fleet := promotedFleet(t)
	h := newHub(t, fleet, hubOptions{})
	theirs := gitopstest.Files{"docs/notes.md": "Somebody wrote this.\n", "docs/more.md": "And this.\n"}
	h.repo.Push(gitopstest.Commit{Branch: "feature", Files: theirs}, gitopstest.Commit{Branch: "quoted", Files: theirs},
		gitopstest.Commit{Branch: "deployment/other", Files: theirs}, gitopstest.Commit{Branch: "stage", Files: theirs})
	open := func(head, base, body string) {
		h.repo.OpenPull(githubtest.Pull{Issue: githubtest.Issue{Title: "Theirs", Body: body, Author: "octocat"}, Head: head, Base: base})
	}
	marker := func(environment string) string {
		return "<!-- kalypso:v1 environment=" + environment + " path=. tree=" + strings.Repeat("0", 40) + " -->"
	}
	open("feature", "dev", "")
	open("quoted", "dev", "What is this? `"+marker("dev")+"`")
	open("deployment/other", "dev", marker("other"))
	open("dev", "stage", marker("dev"))
	before := h.state().Pulls

	h.mustRender() // created
	assert.Equal(t, before, h.state().Pulls[:4])
	pull := h.repo.Pull(5)
	assert.True(t, pull.Open && marked(pull))
	addRepo(t, fleet, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "changed")})
	h.mustRender()                             // updated
	h.mustRender("--branch", "deployment/new") // closed in favour of another
	assert.False(t, h.repo.Pull(5).Open)
	assert.Equal(t, "Closed in favour of #6, which publishes the same environment.", h.repo.Comments(5)[0].Body)
	assert.Equal(t, before, h.state().Pulls[:4])
	h.repo.Close(4) // else a merge into dev would change it
	h.repo.MergePull(6, "squash")
	before = h.state().Pulls
	h.mustRender() // nothing to do
	assert.Equal(t, before, h.state().Pulls)
	h.assertNoSecret()
}

// TestR9TwoEnvironments: each has its own pull request, into its own branch.
func TestR9TwoEnvironments(t *testing.T) {
	t.Parallel()
	fleet := promotedFleet(t)
	files := acmeMain()
	files[".environments/stage.yaml"] = strings.NewReplacer("name: dev", "name: stage", "branch: dev", "branch: stage").Replace(files[".environments/dev.yaml"])
	stage := acmeDev()
	stage["gitops.yaml"] = strings.ReplaceAll(stage["gitops.yaml"], "branch: dev", "branch: stage")
	addRepo(t, fleet, "control-plane", gitopstest.Commit{Files: files}, gitopstest.Commit{Branch: "stage", Files: stage})
	for _, app := range appsOfAcme {
		both := acmeApp(app, "main")
		for name, content := range both {
			both[name] = strings.Replace(content, "deploymentTargets: [", "deploymentTargets: [{name: web-stage, environment: stage, manifests: {repo: "+acme(app)+", branch: main, path: .}}, ", 1)
		}
		addRepo(t, fleet, app, gitopstest.Commit{Files: both})
	}
	h := newHub(t, fleet, hubOptions{})
	h.repo.Push(gitopstest.Commit{Branch: "stage", Files: gitopstest.Files{"docs/notes.md": "Somebody wrote this.\n"}})

	h.mustRender("--env", "stage")
	heads := map[string]string{}
	for _, p := range h.repo.OpenPulls() {
		heads[p.Base] = p.Head
		assert.Equal(t, p.Base == "dev", strings.Contains(p.Body, "environment=dev "), p.Body)
	}
	assert.Equal(t, map[string]string{"dev": "deployment/dev", "stage": "deployment/stage"}, heads)
	h.Forget()
	h.mustRender("--env", "stage")
	assert.Empty(t, h.Writes())

	for _, p := range h.repo.OpenPulls() {
		if p.Base == "dev" {
			h.repo.MergePull(p.Number, "merge")
		}
	}
	h.mustRender("--env", "stage")
	require.Len(t, h.repo.OpenPulls(), 1)
	assert.Equal(t, "stage", h.repo.OpenPulls()[0].Base)
	h.assertNoSecret()
}

// TestR16NothingLeftToDo: a pull request that has no point any more is closed, with a word why, and nothing else
// is written; the next run writes nothing.
func TestR16NothingLeftToDo(t *testing.T) {
	t.Parallel()
	p := aWithdrawal(t)
	h := p.hub(t)
	h.repo.Edit(1, "dev: whatever", "Somebody's words.\n\n"+h.repo.Pull(1).Body)
	tip := h.repo.Branches()["deployment/dev"]
	got := h.mustRender()
	assert.Contains(t, got.stdout, "up to date")
	assert.Contains(t, got.stdout, "pull request #1 closed: ")
	pull := h.repo.Pull(1)
	assert.False(t, pull.Open)
	assert.True(t, strings.HasPrefix(pull.Body, "Somebody's words.\n\n"))
	require.Len(t, pull.Comments, 1)
	assert.Contains(t, pull.Comments[0].Body, "Nothing is left to publish")
	assert.Equal(t, tip, h.repo.Branches()["deployment/dev"])
	h.Forget()
	h.mustRender()
	assert.Empty(t, h.Writes())

	// That we closed it ourselves is no decision of a person against the same tree.
	addRepo(t, p.fleet, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "changed")})
	h.mustRender()
	assert.Equal(t, 2, h.assertOnePullRequest().Number)
}

// TestR15Labels: the label for promotions is on exactly if the promoted commit changes. It is made if it is
// missing, with a colour, and used as it is if somebody has made it.
func TestR15Labels(t *testing.T) {
	t.Parallel()
	fleet := promotedFleet(t)
	h := newHub(t, fleet, hubOptions{repo: githubtest.RepoOptions{Labels: []string{"Promoted"}}})
	h.mustRender("--label", "good first issue", "--label", "a/b%c?d,e")
	pull := h.assertOnePullRequest()
	assert.ElementsMatch(t, []string{"Promoted", "good first issue", "a/b%c?d", "e"}, pull.Labels)
	assert.Len(t, h.repo.Labels(), 4)
	h.repo.SetLabels(1, "theirs")
	h.mustRender("--label", "e")
	assert.ElementsMatch(t, []string{"Promoted", "e", "theirs"}, h.assertOnePullRequest().Labels)
	h.repo.MergePull(1, "merge")

	addRepo(t, fleet, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "changed")})
	h.mustRender()
	assert.Empty(t, h.assertOnePullRequest("no promotion").Labels)
}

// TestR15People: a person who cannot be asked is an error, after everything else was done. It is not in the
// way of the next run.
func TestR15People(t *testing.T) {
	t.Parallel()
	fleet := promotedFleet(t)
	repo := githubtest.RepoOptions{Teams: []string{"platform"}}
	for name, test := range map[string]struct {
		args []string
		say  []string
	}{
		"no collaborator":     {[]string{"--reviewer", "stranger"}, []string{"request reviews of #1 from stranger", "not a collaborator"}},
		"no such team":        {[]string{"--reviewer", "acme/nobody"}, []string{"acme/nobody", "members: read"}},
		"team of others":      {[]string{"--reviewer", "elsewhere/platform"}, []string{`"elsewhere/platform" is not of the organization acme`}},
		"not to be assigned":  {[]string{"--assignee", "stranger"}, []string{"GitHub does not assign stranger"}},
		"one after the other": {[]string{"--reviewer", "stranger", "--assignee", "stranger"}, []string{"request reviews of #1", "GitHub does not assign"}},
	} {
		h := newHub(t, fleet, hubOptions{repo: repo})
		got := h.render(test.args...)
		assert.Equal(t, cli.ExitRemote, got.code, "%s: %s", name, got.stderr)
		for _, say := range test.say {
			assert.Contains(t, got.stderr, say, name)
		}
		h.assertOnePullRequest(name)
		got = h.mustRender("--reviewer", "octocat,acme/platform", "--assignee", "octocat")
		pull := h.assertOnePullRequest(name)
		assert.Equal(t, []string{"octocat"}, pull.Reviewers, name)
		assert.Equal(t, []string{"platform"}, pull.Teams, name)
		assert.Equal(t, []string{"octocat"}, pull.Assignees, name)
		h.Forget()
		h.mustRender("--reviewer", "octocat,acme/platform", "--assignee", "octocat")
		assert.Empty(t, h.Writes(), "%s: they are asked once", name)
	}
}

// TestR15AutoMerge: what merges itself, and what does not.
func TestR15AutoMerge(t *testing.T) {
	t.Parallel()
	waits := githubtest.RepoOptions{AllowAutoMerge: true, RequiredChecks: []string{"ci"}}
	later := func(t *testing.T, fleet string) { // promotes, and changes nothing else
		t.Helper()
		files := acmeMain()
		files["docs.md"] = "Nothing that is compiled.\n"
		pinCommit(t, fleet, addRepo(t, fleet, "control-plane", gitopstest.Commit{Files: files})[0])
	}

	t.Run("waits for what is required", func(t *testing.T) {
		t.Parallel()
		h := newHub(t, promotedFleet(t), hubOptions{repo: waits})
		h.mustRender("--auto-merge")
		pull := h.assertOnePullRequest()
		assert.Equal(t, "merge", pull.AutoMerge)
		h.Forget()
		h.mustRender("--auto-merge")
		assert.Empty(t, h.Writes())
		h.repo.SetStatus(githubtest.Status{Commit: pull.HeadCommit, Context: "ci", State: "success"})
		assert.True(t, h.repo.Pull(1).Merged)
		assert.Contains(t, h.mustRender("--auto-merge").stdout, "up to date")
	})
	t.Run("is not wanted any more", func(t *testing.T) {
		t.Parallel()
		h := newHub(t, promotedFleet(t), hubOptions{repo: waits})
		h.mustRender("--auto-merge")
		h.mustRender()
		assert.Empty(t, h.assertOnePullRequest().AutoMerge)
	})
	t.Run("was turned off by a person", func(t *testing.T) {
		t.Parallel()
		h := newHub(t, promotedFleet(t), hubOptions{repo: waits})
		h.mustRender("--auto-merge")
		h.repo.Close(1) // which turns it off
		h.repo.Reopen(1)
		got := h.mustRender("--auto-merge")
		assert.Contains(t, got.stdout, "notice: auto-merge of pull request #1 was turned off, and stays off")
		assert.Empty(t, h.assertOnePullRequest().AutoMerge)
	})
	t.Run("nothing is required", func(t *testing.T) {
		t.Parallel()
		h := newHub(t, promotedFleet(t), hubOptions{repo: githubtest.RepoOptions{AllowAutoMerge: true}})
		h.mustRender("--auto-merge")
		pull := h.repo.Pull(1)
		assert.True(t, pull.Merged, "at once")
		var sent struct{ SHA string }
		merges := h.to(http.MethodPut, "/repos/acme/gitops/pulls/1/merge")
		require.Len(t, merges, 1)
		require.NoError(t, merges[0].Decode(&sent))
		assert.Equal(t, pull.HeadCommit, sent.SHA, "and only this commit")
		assert.Contains(t, h.mustRender("--auto-merge").stdout, "up to date")
		h.assertNoSecret()
	})
	t.Run("the repository does not allow it", func(t *testing.T) {
		t.Parallel()
		h := newHub(t, promotedFleet(t), hubOptions{repo: githubtest.RepoOptions{RequiredChecks: []string{"ci"}}})
		got := h.render("--auto-merge")
		assert.Equal(t, cli.ExitRemote, got.code)
		assert.Contains(t, got.stderr, "Allow auto-merge")
		assert.Empty(t, h.assertOnePullRequest().AutoMerge)
	})
	t.Run("a draft", func(t *testing.T) {
		t.Parallel()
		h := newHub(t, promotedFleet(t), hubOptions{repo: waits})
		h.mustRender("--draft")
		got := h.mustRender("--auto-merge")
		assert.Contains(t, got.stdout, "notice: pull request #1 is a draft, so it does not merge itself")
		assert.True(t, h.assertOnePullRequest().Draft)
	})
	t.Run("only if no cluster changes", func(t *testing.T) {
		t.Parallel()
		fleet := promotedFleet(t)
		h := newHub(t, fleet, hubOptions{repo: waits})
		h.mustRender("--auto-merge=no-change")
		assert.Empty(t, h.assertOnePullRequest("targets are added").AutoMerge)
		h.repo.MergePull(1, "squash")
		later(t, fleet)
		h.mustRender("--auto-merge=no-change")
		pull := h.repo.Pull(2)
		assert.Equal(t, "merge", pull.AutoMerge)
		assert.Contains(t, pull.Title, "no cluster changes")
		assert.Equal(t, []string{"promoted"}, pull.Labels)

		addRepo(t, fleet, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "changed")})
		h.mustRender("--auto-merge=no-change")
		pull = h.assertOnePullRequest("there is more to it now")
		assert.Empty(t, pull.AutoMerge)
	})
	t.Run("with the token of a workflow", func(t *testing.T) {
		t.Parallel()
		h := newHub(t, promotedFleet(t), hubOptions{repo: waits})
		h.env["GITHUB_ACTIONS"] = "true"
		got := h.mustRender("--auto-merge")
		assert.Contains(t, got.stdout, "the merge of #1 will start no workflow, because it uses GITHUB_TOKEN")
		h.assertOnePullRequest()
	})
}
