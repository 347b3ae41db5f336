package main

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// claimApp1 commits an application whose second workload has the name of app-1's.
func claimApp1(t *testing.T, root, app string) {
	t.Helper()
	files := acmeApp(app, "main")
	files["workload/claimed.yaml"] = strings.ReplaceAll(acmeApp("app-1", "claimed")[workloadFile], acme("app-1"), acme(app))
	addRepo(t, root, app, gitopstest.Commit{Files: files})
}

// register commits the registrations of applications, and no others; where names the repositories of those that are
// elsewhere than their names say.
func register(t *testing.T, root string, where map[string]string, apps ...string) {
	t.Helper()
	files := acmeMain()
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasPrefix(name, "app-") })
	for _, app := range apps {
		repo, name, _ := strings.Cut(where[app]+" "+app, " ")
		if repo == "" {
			repo = app
		}
		files[app+".yaml"] = acmeObject("WorkloadRegistration", strings.TrimSuffix(name, " "+app), "spec: {workload: {repo: "+acme(repo)+", branch: main}, workspace: "+app+"}")
	}
	addRepo(t, root, "control-plane", gitopstest.Commit{Files: files})
}

// TestS7OwnerChangeTakesTwoPublications: a name that one tenant gives up and another takes in the same run is refused
// or, with --keep-last-good, removed first and added by the next run.
func TestS7OwnerChangeTakesTwoPublications(t *testing.T) {
	t.Parallel()
	renamed := gitopstest.Files{workloadFile: acmeObject("Workload", "app-9", "spec: {deploymentTargets: [{name: web, environment: dev, manifests: {repo: r, branch: b, path: .}}]}")}
	for name, change := range map[string]struct {
		do    func(t *testing.T, root string)
		owner string
	}{
		"from a tenant to another": {func(t *testing.T, root string) {
			addRepo(t, root, "app-1", gitopstest.Commit{Files: renamed})
			claimApp1(t, root, "app-2")
		}, `belongs to WorkloadRegistration "app-1"`},
		"from one that is removed": {func(t *testing.T, root string) {
			register(t, root, nil, "app-2", "app-3")
			claimApp1(t, root, "app-2")
			files := publishedAcme(t, root, "dev")
			files["docs/notes.md"] = "Somebody wrote this, too.\n"
			addRepo(t, root, "gitops", gitopstest.Commit{Branch: "dev", Files: files})
		}, `belongs to WorkloadRegistration "app-1"`},
		"to a new one": {func(t *testing.T, root string) {
			addRepo(t, root, "app-1", gitopstest.Commit{Files: renamed})
			claimApp1(t, root, "app-4")
			register(t, root, nil, "app-1", "app-2", "app-3", "app-4")
		}, `belongs to WorkloadRegistration "app-1"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := acmeFleet(t)
			mustRun(t, publishArgs(root)...)
			change.do(t, root)
			before := publishedAcme(t, root, "dev")

			for _, args := range [][]string{publishArgs(root), acmeArgs(root, nil, "render", "--dry-run")} {
				got := kalypso(t, args...)
				require.Equal(t, cli.ExitModel, got.code, got.stdout+got.stderr)
				assert.Contains(t, got.stderr, `deployment target "app-1-web" would replace edge/app-1-web, `)
				assert.Contains(t, got.stderr, change.owner)
				assert.Contains(t, got.stderr, "[changed-owner]")
				assertSameFiles(t, before, publishedAcme(t, root, "dev"))
			}

			got := kalypso(t, holdArgs(root)...)
			require.Equal(t, cli.ExitModel, got.code, got.stderr)
			assert.Contains(t, got.stdout, "- edge/app-1-web")
			assert.NotContains(t, publishedAcme(t, root, "dev"), "edge/app-1-web/reconciler.yaml")

			got = kalypso(t, holdArgs(root)...)
			require.Equal(t, cli.ExitDone, got.code, got.stderr)
			assert.Contains(t, got.stdout, "+ edge/app-1-web")
			assert.Contains(t, publishedAcme(t, root, "dev")["edge/app-1-web/reconciler.yaml"], "claimed")
		})
	}
}

// TestS7SameOutputIsNotAnotherOwner: a copy that gives just the same output takes nothing over either, so that the
// next commit could.
func TestS7SameOutputIsNotAnotherOwner(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	files := acmeApp("app-2", "main")
	files["workload/copy.yaml"] = acmeApp("app-1", "main")[workloadFile]
	addRepo(t, root, "app-2", gitopstest.Commit{Files: files})
	addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-9", "main")})
	got := kalypso(t, publishArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[changed-owner]")
}

// forgetHistory runs commit on an empty branch of an application and removes all earlier commits.
func forgetHistory(t *testing.T, root, app string, commit func()) {
	t.Helper()
	dir := filepath.Join(root, app+".git")
	_, err := gitopstest.Git(dir, "update-ref", "-d", "refs/heads/main")
	require.NoError(t, err)
	commit()
	for _, args := range [][]string{{"reflog", "expire", "--expire=now", "--all"}, {"gc", "--quiet", "--prune=now"}} {
		_, err := gitopstest.Git(dir, args...)
		require.NoError(t, err)
	}
}

// TestS7UnreadableCommitOwnsNothing: a tenant that makes its last commit unreadable does not own what it claims.
func TestS7UnreadableCommitOwnsNothing(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	forgetHistory(t, root, "app-2", func() { claimApp1(t, root, "app-2") })
	addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-9", "main")})
	got := kalypso(t, publishArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[changed-owner]")
}

// TestS7KeptIsNotFree: the directory of a removed registration that is kept, because what is published of another one cannot
// be told, is not free for that one in the next run.
func TestS7KeptIsNotFree(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	register(t, root, nil, "app-2", "app-3")
	forgetHistory(t, root, "app-2", func() { claimApp1(t, root, "app-2") })
	for _, target := range []string{"api", "web2"} {
		files := gitopstest.Files{workloadFile: strings.ReplaceAll(acmeApp("app-3", "main")[workloadFile], "web", target)}
		addRepo(t, root, "app-3", gitopstest.Commit{Files: files})
		got := kalypso(t, holdArgs(root)...)
		require.Equal(t, cli.ExitModel, got.code, got.stderr)
		assert.Contains(t, got.stdout, "+ edge/app-3-"+target)
		assert.NotContains(t, publishedAcme(t, root, "dev")["edge/app-1-web/reconciler.yaml"], "claimed")

		for _, args := range [][]string{publishArgs(root), holdArgs(root), acmeArgs(root, nil, "render", "--dry-run")} {
			got = kalypso(t, args...)
			require.Equal(t, cli.ExitModel, got.code, got.stdout+got.stderr)
			assert.Contains(t, got.stderr, `"app-1-web" would replace edge/app-1-web`)
		}
	}
	register(t, root, nil, "app-3")
	mustRun(t, publishArgs(root, "--allow-deletions")...)
	require.NotContains(t, publishedAcme(t, root, "dev"), "edge/app-1-web/reconciler.yaml")
	register(t, root, nil, "app-2", "app-3")
	mustRun(t, publishArgs(root)...)
	assert.Contains(t, publishedAcme(t, root, "dev")["edge/app-1-web/reconciler.yaml"], "claimed")
}

// TestS7LostHistoryKeepsItsOwn: a tenant whose last commit cannot be read any more keeps its targets, as all the others
// are known not to have had them. With two of them, nobody can tell.
func TestS7LostHistoryKeepsItsOwn(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	forgetHistory(t, root, "app-2", func() { addRepo(t, root, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "new")}) })
	addRepo(t, root, "app-4", gitopstest.Commit{Files: acmeApp("app-4", "main")})
	register(t, root, nil, "app-2", "app-3", "app-4")
	got := mustRun(t, publishArgs(root)...)
	assert.Contains(t, got.stdout, "+ edge/app-4-web")
	assert.Contains(t, got.stdout, "~ edge/app-2-web")

	for _, app := range []string{"app-2", "app-3"} {
		forgetHistory(t, root, app, func() { addRepo(t, root, app, gitopstest.Commit{Files: acmeApp(app, "newer")}) })
	}
	got = kalypso(t, publishArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, `"app-2-web" would replace edge/app-2-web, whose registration is unknown`)
}

// TestS7LostHistoryTakesNoPlatformName: a tenant with an unreadable last commit gets no target of the control plane.
func TestS7LostHistoryTakesNoPlatformName(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	register(t, root, nil, "app-2", "app-3")
	files := acmeMain()
	delete(files, "app-1.yaml")
	files["own.yaml"] = acmeApp("app-1", "main")[workloadFile]
	addRepo(t, root, "control-plane", gitopstest.Commit{Files: files})
	mustRun(t, publishArgs(root)...)
	register(t, root, nil, "app-2", "app-3")
	forgetHistory(t, root, "app-2", func() { claimApp1(t, root, "app-2") })
	got := kalypso(t, publishArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stdout+got.stderr)
	assert.Contains(t, got.stderr, "would replace edge/app-1-web, which belongs to the control plane [changed-owner]")
}

// TestS7SameOwner: what the platform team moves or renames stays with its registration.
func TestS7SameOwner(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, root string){
		"another repository": func(t *testing.T, root string) {
			addRepo(t, root, "app-new", gitopstest.Commit{Files: acmeApp("app-1", "moved")})
			register(t, root, map[string]string{"app-1": "app-new"}, "app-1", "app-2", "app-3")
		},
		"another name": func(t *testing.T, root string) {
			addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-1", "moved")})
			register(t, root, map[string]string{"app-1": "app-1 other"}, "app-1", "app-2", "app-3")
		},
		"its own change beside others": func(t *testing.T, root string) {
			addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-1", "moved")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := acmeFleet(t)
			mustRun(t, publishArgs(root)...)
			addRepo(t, root, "app-3", gitopstest.Commit{Files: acmeApp("app-3", "new")})
			change(t, root)
			mustRun(t, publishArgs(root)...)
			assert.Contains(t, publishedAcme(t, root, "dev")["edge/app-1-web/reconciler.yaml"], "moved")
		})
	}
}

// TestS7UnknownOwner: after a squash merge that drops the trailers nobody can tell whose a directory was, so the output is
// published, and a person reviews it.
func TestS7UnknownOwner(t *testing.T) {
	t.Parallel()
	for _, older := range []bool{false, true} {
		root := acmeFleet(t)
		mustRun(t, publishArgs(root)...)
		files := publishedAcme(t, root, "dev")
		if older { // an older kalypso commit does not describe later ones
			files["edge/app-2-web/namespace.yaml"] += "# edited\n"
			addRepo(t, root, "gitops", gitopstest.Commit{Branch: "dev", Files: files})
		} else {
			addRepo(t, root, "gitops", gitopstest.Commit{Branch: "squashed", Files: files})
			_, err := gitopstest.Git(filepath.Join(root, "gitops.git"), "update-ref", "refs/heads/dev", "squashed")
			require.NoError(t, err)
		}
		addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-9", "main")})
		claimApp1(t, root, "app-2")
		mustRun(t, publishArgs(root)...)
		assert.Contains(t, publishedAcme(t, root, "dev")["edge/app-1-web/reconciler.yaml"], "claimed")
	}
}
