package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// The tests in reliability_promote_*_test.go promote commits of a control plane on a press: the environment stage comes
// after dev, and has the first of three commits of main.

// The statuses that promotions look at and set.
const (
	devStatus   = "dev environment"
	stageStatus = "stage environment"
)

// The steps of promoting that tests act on.
const (
	stagePush     = "POST control-plane push"
	stageRefs     = "GET control-plane refs for push"
	stagePulls    = "GET /repos/acme/control-plane/pulls"
	stageCreate   = "POST /repos/acme/control-plane/pulls"
	statusesOf    = "GET /repos/acme/control-plane/commits/%s/statuses"
	setStatusOf   = "POST /repos/acme/control-plane/statuses/%s"
	stageBase     = "base-repo.yaml"
	proposedStage = "promotion/stage"
)

// stagedFleet are the repositories of such a control plane, and the commits of main, the oldest first.
func stagedFleet(t *testing.T) (root string, commits []string) {
	t.Helper()
	root = t.TempDir()
	var history []gitopstest.Commit
	for i := range 3 {
		history = append(history, gitopstest.Commit{Files: stagedMain(i), Time: 1_700_000_000 + int64(i)})
	}
	commits = addRepo(t, root, "control-plane", history...)
	addRepo(t, root, "control-plane",
		gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{stageBase: stageBaseAt(commits[2])}},
		gitopstest.Commit{Branch: "stage", Files: gitopstest.Files{stageBase: stageBaseAt(commits[0]), "docs/notes.md": "Somebody wrote this.\n"}})
	addRepo(t, root, "gitops", gitopstest.Commit{Branch: "stage", Files: gitopstest.Files{"docs/notes.md": "Somebody wrote this.\n"}})
	return root, commits
}

// stagedMain is a commit of its main.
func stagedMain(version int) gitopstest.Files {
	return gitopstest.Files{
		".environments/dev.yaml":   acmeObject("Environment", "dev", "spec: {controlPlane: {repo: "+acme("control-plane")+", branch: dev}, promotion: {next: [stage]}}"),
		".environments/stage.yaml": acmeObject("Environment", "stage", "spec: {controlPlane: {repo: "+acme("control-plane")+", branch: stage}}"),
		"docs/version.md":          fmt.Sprintf("Version %d.\n", version),
	}
}

// stageBaseAt is the BaseRepo of an environment, written as no program would.
func stageBaseAt(commit string) string {
	return "# What all environments share.\nkind: BaseRepo\napiVersion: scheduler.kalypso.io/v1alpha1\nmetadata: {name: main}\n" +
		"spec:\n    commit:   \"" + commit + "\"   # since Monday\n    branch: main\n    repo: " + acme("control-plane") + "\n"
}

// newStages starts a press whose runs promote to stage. dev has deployed all commits.
func newStages(t *testing.T) *press {
	t.Helper()
	root, commits := stagedFleet(t)
	p := newStagesOf(t, root, commits)
	for _, commit := range commits {
		p.say(commit, devStatus, "success", "Deployed: 2 of 2 clusters")
	}
	return p
}

// newStagesOf starts one for other repositories, in which nothing was deployed.
func newStagesOf(t *testing.T, root string, commits []string) *press {
	t.Helper()
	p := newPress(t, root, "control-plane")
	p.command, p.versions = []string{"promote", "--env", "stage"}, commits
	p.pushesTo("control-plane", "stage", "promotion/")
	return p
}

// pushesTo returns the branches to which runs push: those of a repository with a prefix of kalypso.
func (p *press) pushesTo(home string, ours ...string) {
	p.home, p.repo = home, p.api.Repo("acme/"+home)
	p.moves = func(ref string) bool {
		return slices.ContainsFunc(ours, func(branch string) bool { return strings.HasPrefix(ref, home+" refs/heads/"+branch) })
	}
	p.move(func() {})
}

// say sets a status, as a run before has.
func (p *press) say(commit, context, state, description string) {
	p.repo.SetStatus(githubtest.Status{Commit: commit, Context: context, State: state, Description: description})
}

// saidOf are all that statuses of a context have said of a commit, the oldest first.
func (p *press) saidOf(commit, context string) []string {
	all := []string{} // as compared with
	for _, status := range p.repo.Statuses(commit) {
		if status.Context == context {
			all = append(all, strings.TrimSpace(status.State+" "+status.Description))
		}
	}
	return all
}

// promotedEnd is all that promotions leave behind. Commits of the same are the same, whoever makes them and when.
type promotedEnd struct {
	Stage, Proposed string
	// Statuses are those of each commit, all that there ever were.
	Statuses map[string][]string
	Pulls    []string
}

// promotedEnd returns what there is now.
func (p *press) promotedEnd() promotedEnd {
	refs := refsOf(p.dir("control-plane"))
	end := promotedEnd{Stage: refs["refs/heads/stage"], Proposed: refs["refs/heads/"+proposedStage], Statuses: map[string][]string{}}
	for _, commit := range p.versions {
		for _, status := range p.repo.Statuses(commit) {
			end.Statuses[commit] = append(end.Statuses[commit], status.String())
		}
	}
	for _, pull := range p.repo.Pulls() {
		end.Pulls = append(end.Pulls, fmt.Sprintf("#%d %v %s: %s -> %s at %s %v\n%s", pull.Number, pull.Open, pull.Title, pull.Head, pull.Base, pull.HeadCommit,
			slices.Sorted(slices.Values(pull.Labels)), strings.ReplaceAll(pull.Body, p.url, "URL")))
	}
	return end
}

// rehearse returns what a run leaves that nothing disturbs.
func (p *press) rehearse() promotedEnd {
	p.t.Helper()
	other := p.another()
	other.must()
	return other.promotedEnd()
}

// assertPromotes checks that a branch is one commit on top of the previous stage, which changes nothing but the commit of
// the BaseRepo.
func (p *press) assertPromotes(branch, before, from, to, which string) {
	p.t.Helper()
	tip := p.look("control-plane", branch)
	assert.Equal(p.t, []string{before}, tip.Parents, which)
	was, is := p.files("control-plane", before), p.files("control-plane", branch)
	assert.Equal(p.t, []string{stageBase}, differing(was, is), which)
	assert.Equal(p.t, strings.Replace(was[stageBase], from, to, 1), is[stageBase], which)
	message := tip.Text
	assert.Contains(p.t, message, "Kalypso-Promoted: "+to, which)
	p.assertUnsaid(which, message)
}

// assertPromoted is how most of these tests end: all is as if nothing had happened, and no token was leaked.
func (p *press) assertPromoted(want promotedEnd, which string) {
	p.t.Helper()
	p.assertNothingLost(which)
	assert.Equal(p.t, want, p.promotedEnd(), which)
}

// assertUnpromoted makes sure that nothing was written.
func (p *press) assertUnpromoted(which string) {
	p.t.Helper()
	p.assertNothingLost(which)
	assert.Empty(p.t, p.writes(), which)
}

// setStatus and readStatus are the steps of the status of the newest commit.
func (p *press) setStatus() string { return fmt.Sprintf(setStatusOf, p.versions[len(p.versions)-1]) }

func (p *press) readStatus() string { return fmt.Sprintf(statusesOf, p.versions[len(p.versions)-1]) }

func (p *press) tip(branch string) string {
	return refsOf(p.dir("control-plane"))["refs/heads/"+branch]
}

// ways are presses whose runs promote in each of the possible ways.
func ways(t *testing.T) map[string]*press {
	t.Helper()
	direct := newStages(t)
	request := direct.another()
	request.flags = []string{"--pull-request", "--label", "fleet"}
	return map[string]*press{"pushed": direct, "proposed": request}
}

// The last request that reads the control plane, as every command does, and the last one that all ways to promote make.
const (
	lastRead  = 5
	lastAlike = 11
)

// isOwn reports whether the nth request of a run in one way has no like in another one, or in another command.
func isOwn(way string, n int) bool {
	if way == "pushed" {
		return n == 1 || n > lastRead
	}
	return n > lastAlike
}

// ownSteps are the requests of a run that are its own.
func (p *press) ownSteps(way string) []step {
	p.t.Helper()
	return slices.DeleteFunc(p.theSteps(), func(s step) bool { return !isOwn(way, s.n) })
}

// TestC6Promotes: what the other tests compare with is right. stage gets the commit and nothing else of its branch changes;
// the commit says so.
func TestC6Promotes(t *testing.T) {
	t.Parallel()
	for name, p := range ways(t) {
		before, newest := p.tip("stage"), p.versions[2]
		p.must()
		end := p.promotedEnd()
		branch, said := "stage", "pending Promoted"
		if name == "proposed" {
			branch, said = proposedStage, "pending Promotion proposed in #1"
			assert.Equal(t, before, end.Stage)
			require.Len(t, end.Pulls, 1)
			assert.Regexp(t, `(?s)^#1 true Promote `+newest[:12]+` to stage: promotion/stage -> stage at `+end.Proposed+` \[fleet promoted\]`, end.Pulls[0])
		}
		p.assertPromotes(branch, before, p.versions[0], newest, name)
		assert.Equal(t, []string{said}, p.saidOf(newest, stageStatus), name)
		p.assertNothingLost(name)
		assert.Equal(t, end, p.rehearse(), "the same again changes nothing")
	}
}

// TestC6PromoteTwice: once more changes nothing, however often.
func TestC6PromoteTwice(t *testing.T) {
	t.Parallel()
	for name, p := range ways(t) {
		p.must()
		want := p.promotedEnd()
		for range 3 {
			p.set(nil)
			got := p.must()
			assert.Empty(t, p.writes(), name)
			if name == "pushed" {
				assert.Equal(t, "stage: already at "+p.versions[2][:12]+"\n", got.stdout)
			}
		}
		p.assertPromoted(want, name)
	}
}
