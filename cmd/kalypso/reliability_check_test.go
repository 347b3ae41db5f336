package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// The tests in reliability_check_*_test.go find out with kalypso check-promote whether a fleet has deployed a commit,
// while repositories, GitHub and the fleet do whatever they like.

// A chain is a press whose control plane is on GitHub as well. In it commits of main go from one environment to the
// next, each of which has a branch of its name in the control plane and in the GitOps repository.
type chain struct {
	*press
	control *githubtest.Repo
	// looks are the answers of the fleet, query by query; the last one is repeated.
	looks []look
	// commits are those of main, the oldest first.
	commits []string
}

// chainOf is a fleet whose environments are those of the map, with what each says of its promotion, and whose main
// has so many commits. The oldest is the one that all environments have.
func chainOf(t *testing.T, environments map[string]string, commits int) (root string, ids []string) {
	t.Helper()
	root = acmeFleet(t)
	main := acmeMain()
	for name, promotion := range environments {
		main[".environments/"+name+".yaml"] = acmeObject("Environment", name,
			"spec: {controlPlane: {repo: "+acme("control-plane")+", branch: "+name+"}, promotion: "+promotion+"}")
	}
	var all []gitopstest.Commit
	for i := range commits {
		files := maps.Clone(main)
		files["version.txt"] = fmt.Sprintln(i)
		all = append(all, gitopstest.Commit{Files: files, Message: fmt.Sprintf("Version %d", i), Time: 1_700_002_000 + int64(i)})
	}
	ids = addRepo(t, root, "control-plane", all...)
	for _, name := range slices.Sorted(maps.Keys(environments)) {
		addRepo(t, root, "control-plane", gitopstest.Commit{Branch: name, Files: environmentFiles(name, ids[0])})
		addRepo(t, root, "gitops", gitopstest.Commit{Branch: name, Files: trackingOf(ids[0])})
	}
	return root, ids
}

// environmentFiles are the branch of an environment that has a commit.
func environmentFiles(name, commit string) gitopstest.Files {
	files := maps.Clone(acmeDev())
	files["gitops.yaml"] = acmeObject("GitOpsRepo", name, "spec: {repo: "+acme("gitops")+", branch: "+name+"}")
	delete(files, "base.yaml")
	files["base-repo.yaml"] = acmeObject("BaseRepo", "main", "spec: {repo: "+acme("control-plane")+", branch: main, commit: "+commit+"}")
	return files
}

// trackingFile is the file that says what was promoted.
const trackingFile = ".github/tracking/Promoted_Commit_Id"

// trackingOf are the files of a GitOps branch that were made from a commit.
func trackingOf(commit string) gitopstest.Files {
	return gitopstest.Files{trackingFile: commit + "\n", "docs/notes.md": "Somebody wrote this.\n"}
}

// devToProd is dev, stage and prod, one after the other.
func devToProd() map[string]string {
	return map[string]string{"dev": "{next: [stage]}", "stage": "{next: [prod]}", "prod": "{}"}
}

// newChain starts a chain in which each run checks dev, whose only cluster has deployed what it is asked about.
func newChain(t *testing.T, environments map[string]string, commits int) *chain {
	t.Helper()
	root, ids := chainOf(t, environments, commits)
	p := newPress(t, root, "control-plane")
	p.clock = newClock()
	p.moves = func(ref string) bool {
		repo, branch, _ := strings.Cut(ref, " refs/heads/")
		_, environment := environments[strings.TrimPrefix(branch, "promotion/")]
		return repo == "control-plane" && environment || repo == "gitops" && strings.HasPrefix(branch, "deployment/")
	}
	p.move(func() {})
	c := &chain{press: p, control: p.api.Repo("acme/control-plane"), commits: ids}
	c.asks(sees("edge-1"))
	c.check("dev")
	return c
}

// aDueChain is a chain of three commits, of which the newest was merged into the GitOps branch of dev and is to be
// checked. The second was superseded, and has no status.
func aDueChain(t *testing.T) *chain {
	t.Helper()
	c := newChain(t, devToProd(), 3)
	c.say(c.commits[0], "dev", "success", "Deployed: 1 of 1 cluster")
	c.say(c.commits[0], "stage", "success", "Deployed: 1 of 1 cluster")
	c.say(c.commits[1], "dev", "pending", "Promoted")
	c.say(c.commits[2], "dev", "pending", "Promoted")
	c.has("dev", c.commits[2])
	c.merged("dev", c.commits[2])
	return c
}

// check makes runs check an environment.
func (c *chain) check(environment string, flags ...string) {
	c.command = slices.Concat([]string{"check-promote", "--env", environment, "--interval", "7s"}, flags)
}

// say sets a status of an environment, as a run before has.
func (c *chain) say(commit, environment, state, description string) {
	c.control.SetStatus(githubtest.Status{Commit: commit, Context: environment + " environment", State: state, Description: description})
}

// has lets an environment have a commit of main, as a run before has promoted it.
func (c *chain) has(environment, commit string) {
	c.commit("control-plane", environment, gitopstest.Files{"base-repo.yaml": environmentFiles(environment, commit)["base-repo.yaml"]})
}

// merged merges what was made from a commit of main into a GitOps branch. It returns the commit there.
func (c *chain) merged(environment, commit string) string {
	c.commit("gitops", environment, trackingOf(commit))
	return c.gitops(environment)
}

// gitops is the tip of a GitOps branch.
func (c *chain) gitops(branch string) string { return refsOf(c.dir("gitops"))["refs/heads/"+branch] }

// another is the same chain once more, where nothing has happened yet.
func (c *chain) another() *chain {
	p := c.press.another()
	other := &chain{press: p, control: p.api.Repo("acme/control-plane"), commits: c.commits}
	other.asks(c.looks...)
	return other
}

// look is a shell script that says what the clusters of a fleet run.
type look string

// sees is a look at clusters, each "NAME", "NAME=STATE", "NAME=STATE:MESSAGE" or "NAME=STATE@COMMIT". They have deployed
// what they are asked about if nothing else is said, as with the program clusters.
func sees(clusters ...string) look {
	all := make([]cluster, len(clusters))
	for i, text := range clusters {
		all[i] = newCluster(text, "$KALYPSO_FLEET_COMMIT")
	}
	text, err := json.Marshal(map[string]any{"clusters": all})
	if err != nil {
		panic(err) // strings can be marshalled
	}
	return saying(string(text))
}

// saying is a look at a fleet that says just this, with $KALYPSO_FLEET_COMMIT in it.
func saying(text string) look {
	quoted := strings.NewReplacer("'", `'\''`, "$KALYPSO_FLEET_COMMIT", `'"$KALYPSO_FLEET_COMMIT"'`).Replace(text)
	return look("printf '%s\\n' '" + quoted + "'\n")
}

// asks lets runs ask a fleet that says these, look by look, the last again and again.
func (c *chain) asks(looks ...look) {
	c.t.Helper()
	c.looks = looks
	dir := c.t.TempDir()
	for i, l := range looks {
		require.NoError(c.t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("look-%d", i+1)), []byte(l), 0o644))
	}
	script := filepath.Join(dir, "fleet.sh")
	require.NoError(c.t, os.WriteFile(script, []byte(fmt.Sprintf(`cd %s || exit 1
read -r n 2>/dev/null <asked || n=0
test $n -ge %d || n=$((n+1))
echo $n >asked
. ./look-$n
`, dir, len(looks))), 0o644))
	c.flags = []string{"--fleet", "command:sh " + script}
}

// promotionState is the state of all commits and branches.
type promotionState struct {
	// Statuses are the newest of all commits of the control plane, by commit and context.
	Statuses map[string]string
	// Branches are those of the control plane.
	Branches map[string]string
	// Promoted are what the environments have.
	Promoted map[string]string
}

// state returns the current state.
func (c *chain) state() promotionState {
	s := promotionState{Statuses: map[string]string{}, Branches: refsOf(c.dir("control-plane")), Promoted: map[string]string{}}
	for _, status := range c.control.AllStatuses() {
		s.Statuses[fmt.Sprintf("%s %s", c.version(status.Commit), status.Context)] = strings.TrimSpace(status.State + " " + status.Description)
	}
	for ref := range s.Branches {
		if environment, found := strings.CutPrefix(ref, "refs/heads/"); found && environment != "main" && !strings.Contains(environment, "/") {
			s.Promoted[environment] = c.version(c.promotedIn(environment))
		}
	}
	return s
}

// version is the place of a commit on main: "version 2".
func (c *chain) version(commit string) string {
	if i := slices.Index(c.commits, commit); i >= 0 {
		return fmt.Sprintf("version %d", i)
	}
	return commit
}

// promotedIn is the commit that an environment has.
func (c *chain) promotedIn(environment string) string {
	text := c.files("control-plane", environment)["base-repo.yaml"]
	_, commit, _ := strings.Cut(text, "commit: ")
	return strings.Trim(commit, "}\n ")
}

// promotions are how many commits a branch of the control plane has got since the fleet was made.
func (c *chain) promotions(environment string) int {
	n := 0
	for _, commit := range c.firstParents("control-plane", environment) {
		n += strings.Count(commit.Text, "\nKalypso-Promoted: ")
	}
	return n
}

// assertChecked makes sure that the chain stands as it does after a run that nothing has disturbed.
func (c *chain) assertChecked(want promotionState, which ...any) {
	c.t.Helper()
	assert.Equal(c.t, want, c.state(), which...)
	c.assertNothingLost(fmt.Sprint(which...))
}

// TestCheckPromoteDeployed: a deployed commit is promoted, and the superseded commits get a status. The second
// run finds the same, and writes nothing.
func TestCheckPromoteDeployed(t *testing.T) {
	t.Parallel()
	c := aDueChain(t)
	got := c.must()
	assert.Contains(t, got.stdout, "dev has deployed "+c.commits[2][:12]+"\n")
	assert.Equal(t, promotionState{
		Statuses: map[string]string{
			"version 0 dev environment": "success Deployed: 1 of 1 cluster", "version 0 stage environment": "success Deployed: 1 of 1 cluster",
			"version 1 dev environment": "error Superseded by " + c.commits[2][:7],
			"version 2 dev environment": "success Deployed: 1 of 1 cluster", "version 2 stage environment": "pending Promoted",
		},
		Branches: refsOf(c.dir("control-plane")),
		Promoted: map[string]string{"dev": "version 2", "stage": "version 2", "prod": "version 0"},
	}, c.state())
	assert.Equal(t, 1, c.promotions("stage"))
	c.set(nil)
	got = c.must()
	assert.Contains(t, got.stdout, "dev has deployed ")
	assert.Empty(t, c.writes())
	c.assertNothingLost("twice")
}
