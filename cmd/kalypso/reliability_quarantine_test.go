package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/quarantine"
)

// publishArgs are the arguments that publish the fleet in a directory to the GitOps branch itself.
func publishArgs(root string, args ...string) []string {
	return acmeArgs(root, nil, append([]string{"render", "--direct"}, args...)...)
}

// holdArgs are those with broken registrations held back.
func holdArgs(root string, args ...string) []string {
	return publishArgs(root, append([]string{"--keep-last-good"}, args...)...)
}

// publishedAcme is what is on a GitOps branch: path → content.
func publishedAcme(t *testing.T, root, branch string) map[string]string {
	t.Helper()
	files, err := gitopstest.Read(filepath.Join(root, "gitops.git"), branch)
	require.NoError(t, err)
	return files
}

// lastMessage is the message of the last commit on a GitOps branch.
func lastMessage(t *testing.T, root string) string {
	t.Helper()
	tip, err := gitopstest.FindCommit(filepath.Join(root, "gitops.git"), "dev")
	require.NoError(t, err)
	return tip.Message()
}

// tipOf is the tip of a branch.
func tipOf(t *testing.T, root, repo, branch string) string {
	t.Helper()
	tip, err := gitopstest.FindCommit(filepath.Join(root, repo+".git"), branch)
	require.NoError(t, err)
	return tip.ID
}

// breakApp commits files to an application, on top of what it is.
func breakApp(app string, change gitopstest.Files) func(t *testing.T, root string) {
	return func(t *testing.T, root string) {
		files := acmeApp(app, "main")
		maps.Copy(files, change)
		addRepo(t, root, app, gitopstest.Commit{Files: files})
	}
}

const workloadFile = "workload/workload.yaml"

// faultsOfTenants are what one tenant, app-2, can do to the fleet, and what the run says of it.
var faultsOfTenants = map[string]struct {
	fault func(t *testing.T, root string)
	rule  string
	// lost says that the commit that went out last cannot be read any more.
	lost bool
}{
	"gone repository": {func(t *testing.T, root string) {
		require.NoError(t, os.Rename(filepath.Join(root, "app-2.git"), filepath.Join(root, "gone")))
	}, "invalid-repository", true},
	"gone branch": {func(t *testing.T, root string) {
		_, err := gitopstest.Git(filepath.Join(root, "app-2.git"), "branch", "-m", "main", "trunk")
		require.NoError(t, err)
	}, "branch-not-found", false},
	"no YAML":       {breakApp("app-2", gitopstest.Files{workloadFile: "kind: [\n"}), "invalid-yaml", false},
	"unknown field": {breakApp("app-2", gitopstest.Files{workloadFile: acmeObject("Workload", "app-2", "spec: {targets: []}")}), "unknown-field", false},
	"foreign kind":  {breakApp("app-2", gitopstest.Files{"type.yaml": acmeObject("ClusterType", "mine", "spec: {reconciler: flux, namespaceService: default}")}), "tenant-kind", false},
	"stolen workload name": {
		breakApp("app-2", gitopstest.Files{workloadFile: acmeApp("app-1", "main")[workloadFile]}),
		"duplicate-object", false,
	},
	"stolen target": {breakApp("app-2", gitopstest.Files{workloadFile: acmeObject("Workload", "app",
		"spec: {deploymentTargets: [{name: 1-web, environment: dev, manifests: {repo: r, branch: b, path: .}}]}")}), "target-collision", false},
	"schema violation": {
		breakApp("app-2", gitopstest.Files{workloadFile: acmeObject("Workload", "app-2",
			`spec: {configSchemas: ['{"required": ["REGION"]}'], deploymentTargets: [{name: web, environment: dev, manifests: {repo: r, branch: b, path: .}}]}`)}),
		"schema-violation", false,
	},
	"template in a value": {breakApp("app-2", acmeApp("app-2", "'{{ .Namespace }}'")), "tenant-template", false},
	"missing value": {breakApp("app-2", gitopstest.Files{workloadFile: acmeObject("Workload", "app-2",
		"spec: {deploymentTargets: [{name: web, environment: dev, manifests: {repo: r, path: .}}]}")}), "no-value", false},
	"taint": {breakApp("app-2", acmeApp("app-2", `"yes: no #"`)), "tenant-value", false},
	"too many targets": {breakApp("app-2", gitopstest.Files{workloadFile: acmeObject("Workload", "app-2",
		"spec: {deploymentTargets: ["+strings.Repeat("{name: web, environment: dev, manifests: {repo: r, branch: b, path: .}},", 1001)+"]}")}), "too-many-targets", false},
}

// TestR23OneBadTenant breaks one of three tenants, while another one has something new: without the flag
// nothing is published; with it everything else is, and nothing of the broken one is lost.
func TestR23OneBadTenant(t *testing.T) {
	t.Parallel()
	for name, test := range faultsOfTenants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := acmeFleet(t)
			main := acmeMain()
			main["templates.yaml"] = strings.ReplaceAll(main["templates.yaml"], `[{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Namespace }}"}, data: {branch: "{{ .Branch }}"}}]`,
				`["apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Namespace }}}\ndata: {branch: {{ .Manifests.branch }}}\n"]`)
			addRepo(t, root, "control-plane", gitopstest.Commit{Files: main})
			mustRun(t, publishArgs(root)...)
			good := tipOf(t, root, "app-2", "main")
			before := publishedAcme(t, root, "dev")
			require.Contains(t, before, "edge/app-2-web/reconciler.yaml")
			addRepo(t, root, "app-3", gitopstest.Commit{Files: acmeApp("app-3", "new")})
			test.fault(t, root)

			got := kalypso(t, publishArgs(root)...)
			assert.NotEqual(t, cli.ExitDone, got.code)
			assert.Contains(t, got.stderr, "["+test.rule+"]")
			assert.Contains(t, got.stderr, "nothing was published")
			assertSameFiles(t, before, publishedAcme(t, root, "dev"))

			got = kalypso(t, holdArgs(root)...)
			assert.Equal(t, cli.ExitModel, got.code, got.stderr)
			assert.Contains(t, got.stderr, "["+test.rule+"]")
			assert.Contains(t, got.stderr, ": everything else was published")
			assert.Contains(t, got.stderr, `WorkloadRegistration "app-2" is quarantined`)
			after := publishedAcme(t, root, "dev")
			assert.Equal(t, []string{"edge/app-3-web/reconciler.yaml"}, differing(before, after), got.stderr)
			message := lastMessage(t, root)
			assert.Contains(t, message, "\nQuarantined because of errors: 1 registration\n")
			held := "\nKalypso-Held: app-2 " + good + "\n"
			if test.lost {
				held = "\nKalypso-Held: app-2\n"
			}
			assert.Contains(t, message, held)
			assert.Contains(t, message, "app-2@main:. "+good, "what is published of it can be traced")

			got = kalypso(t, holdArgs(root)...)
			assert.Equal(t, cli.ExitModel, got.code, "it is broken still")
			assert.Contains(t, got.stdout, "up to date")
		})
	}
}

// TestR23Recovery removes what is to be removed once nothing is broken any more.
func TestR23Recovery(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	gone := filepath.Join(root, "elsewhere")
	require.NoError(t, os.Rename(filepath.Join(root, "app-2.git"), gone))
	addRepo(t, root, "app-3", gitopstest.Commit{Files: gitopstest.Files{workloadFile: strings.ReplaceAll(acmeApp("app-3", "main")[workloadFile], "web", "api")}})

	got := kalypso(t, holdArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	files := publishedAcme(t, root, "dev")
	assert.Contains(t, files, "edge/app-2-web/reconciler.yaml")
	assert.Contains(t, files, "edge/app-3-web/reconciler.yaml", "nobody can tell whose it is")
	assert.Contains(t, files, "edge/app-3-api/reconciler.yaml")

	require.NoError(t, os.Rename(gone, filepath.Join(root, "app-2.git")))
	mustRun(t, holdArgs(root)...)
	files = publishedAcme(t, root, "dev")
	assert.Contains(t, files, "edge/app-2-web/reconciler.yaml")
	assert.NotContains(t, files, "edge/app-3-web/reconciler.yaml")
	assert.NotContains(t, lastMessage(t, root), "Held")
}

// TestR23NeverPublished registers a tenant that was broken from the beginning: it is simply not there.
func TestR23NeverPublished(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	breakApp("app-2", gitopstest.Files{workloadFile: "kind: [\n"})(t, root)
	got := kalypso(t, holdArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	files := publishedAcme(t, root, "dev")
	assert.Contains(t, files, "edge/app-1-web/reconciler.yaml")
	assert.NotContains(t, files, "edge/app-2-web/reconciler.yaml")
	assert.Contains(t, got.stderr, "last published commit unknown")
}

// TestR23ForcePushed forgets the commit that went out last, on the branch and then on the server too.
func TestR23ForcePushed(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	before, good := publishedAcme(t, root, "dev"), tipOf(t, root, "app-2", "main")
	dir := filepath.Join(root, "app-2.git")
	_, err := gitopstest.Git(dir, "update-ref", "-d", "refs/heads/main")
	require.NoError(t, err)
	addRepo(t, root, "app-2", gitopstest.Commit{Files: gitopstest.Files{workloadFile: "kind: [\n"}})

	got := kalypso(t, holdArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "compiled at "+good[:12])
	assertSameFiles(t, before, publishedAcme(t, root, "dev"))

	_, err = gitopstest.Git(dir, "reflog", "expire", "--expire=now", "--all")
	require.NoError(t, err)
	_, err = gitopstest.Git(dir, "gc", "--quiet", "--prune=now")
	require.NoError(t, err)
	got = kalypso(t, holdArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "commit "+good+" not found")
	assert.Contains(t, got.stderr, "published output unchanged")
	assertSameFiles(t, before, publishedAcme(t, root, "dev"))
}

// TestR23UnknownProvenance removes the trailers, as squashing may: then no file of kalypso is removed.
func TestR23UnknownProvenance(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	before := publishedAcme(t, root, "dev")
	addRepo(t, root, "gitops", gitopstest.Commit{Branch: "squashed", Files: before})
	_, err := gitopstest.Git(filepath.Join(root, "gitops.git"), "update-ref", "refs/heads/dev", "squashed")
	require.NoError(t, err)
	breakApp("app-2", gitopstest.Files{workloadFile: "kind: [\n"})(t, root)
	addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-1", "new")})

	got := kalypso(t, holdArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Equal(t, []string{"edge/app-1-web/reconciler.yaml"}, differing(before, publishedAcme(t, root, "dev")))
}

// TestR23PlatformErrors fails as ever if the platform's own repositories are broken: there is nobody to
// hold back.
func TestR23PlatformErrors(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(files gitopstest.Files){
		"a template for all": func(files gitopstest.Files) {
			files["templates.yaml"] = strings.ReplaceAll(files["templates.yaml"], ".Branch", ".Manifests.nothing")
		},
		"a registration twice": func(files gitopstest.Files) {
			files["again.yaml"] = acmeObject("WorkloadRegistration", "again", "spec: {workload: {repo: "+acme("app-2")+", branch: main}, workspace: app-2}")
		},
		"an object that is none": func(files gitopstest.Files) { files["a.yaml"] = "kind: [\n" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := acmeFleet(t)
			mustRun(t, publishArgs(root)...)
			before := publishedAcme(t, root, "dev")
			breakApp("app-2", gitopstest.Files{workloadFile: "kind: [\n"})(t, root)
			files := acmeMain()
			breakIt(files)
			addRepo(t, root, "control-plane", gitopstest.Commit{Files: files})

			got := kalypso(t, holdArgs(root)...)
			assert.Equal(t, cli.ExitModel, got.code)
			assert.Contains(t, got.stderr, "nothing was published")
			assert.NotContains(t, got.stderr, "is quarantined")
			assertSameFiles(t, before, publishedAcme(t, root, "dev"))
		})
	}
}

// TestR23KeptFolder lets another tenant name a target like one of a tenant that cannot be read: it must
// not take its place.
func TestR23KeptFolder(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	before := publishedAcme(t, root, "dev")
	require.NoError(t, os.Rename(filepath.Join(root, "app-2.git"), filepath.Join(root, "gone")))
	addRepo(t, root, "app-1", gitopstest.Commit{Files: gitopstest.Files{
		workloadFile: acmeApp("app-1", "new")[workloadFile], "workload/other.yaml": strings.ReplaceAll(acmeApp("app-2", "stolen")[workloadFile], acme("app-2"), acme("app-1")),
	}})
	addRepo(t, root, "app-3", gitopstest.Commit{Files: acmeApp("app-3", "new")})

	got := kalypso(t, holdArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[kept-folder]")
	assert.Equal(t, []string{"edge/app-3-web/reconciler.yaml"}, differing(before, publishedAcme(t, root, "dev")), got.stderr)
	assert.Contains(t, lastMessage(t, root), "Quarantined because of errors: 2 registrations")
}

// TestR23KeptName lets another tenant take the name of a workload whose registration cannot be read, with a new target:
// when the registration is back, it must have its name and move on.
func TestR23KeptName(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	before := publishedAcme(t, root, "dev")
	require.NoError(t, os.Rename(filepath.Join(root, "app-2.git"), filepath.Join(root, "gone")))
	stolen := strings.ReplaceAll(acmeApp("app-2", "stolen")[workloadFile], acme("app-2"), acme("app-1"))
	addRepo(t, root, "app-1", gitopstest.Commit{Files: gitopstest.Files{
		workloadFile: acmeApp("app-1", "new")[workloadFile], "workload/other.yaml": strings.ReplaceAll(stolen, "name: web", "name: other"),
	}})

	got := kalypso(t, holdArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, `workload "app-2" may belong to a registration that is quarantined, as edge/app-2-web is published [kept-folder]`)
	assert.Empty(t, differing(before, publishedAcme(t, root, "dev")), got.stderr)

	require.NoError(t, os.Rename(filepath.Join(root, "gone"), filepath.Join(root, "app-2.git")))
	addRepo(t, root, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "new")})
	got = kalypso(t, holdArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Equal(t, []string{"edge/app-2-web/reconciler.yaml"}, differing(before, publishedAcme(t, root, "dev")), got.stderr)
}

// TestR23DryRun shows what would be published, and what is held back, and changes nothing.
func TestR23DryRun(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	before, good := publishedAcme(t, root, "dev"), tipOf(t, root, "app-2", "main")
	breakApp("app-2", gitopstest.Files{workloadFile: "kind: [\n"})(t, root)
	addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-1", "new")})

	got := kalypso(t, acmeArgs(root, nil, "render", "--dry-run", "--keep-last-good", "-o", "json")...)
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	var report struct {
		Environments []struct {
			Held    []message.QuarantinedRegistration
			Changes []struct{ Plan results.Plan }
		}
		Diagnostics []struct{ Severity, Rule string }
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	require.Len(t, report.Environments, 1)
	require.Len(t, report.Environments[0].Held, 1)
	held := report.Environments[0].Held[0]
	assert.Equal(t, "app-2", held.Name)
	assert.Equal(t, good, held.Commit)
	assert.Contains(t, held.Why, workloadFile)
	require.Len(t, report.Environments[0].Changes, 1)
	assert.Equal(t, "3 targets on 1 cluster type, 3 assignments: +0 ~1 -0", report.Environments[0].Changes[0].Plan.Summary)
	assert.Contains(t, report.Diagnostics, struct{ Severity, Rule string }{"error", "invalid-yaml"})
	assert.Contains(t, report.Diagnostics, struct{ Severity, Rule string }{"warning", quarantine.RuleQuarantined})

	got = kalypso(t, acmeArgs(root, nil, "render", "--dry-run", "--keep-last-good")...)
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, ": everything else would be published")
	assertSameFiles(t, before, publishedAcme(t, root, "dev"))
}

// TestR23OutputFolder writes the rest to a directory, and keeps there what is left out.
func TestR23OutputFolder(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	out, before := outputBefore(t, root)
	require.NoError(t, os.Rename(filepath.Join(root, "app-2.git"), filepath.Join(root, "gone")))
	addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-1", "new")})
	got := kalypso(t, acmeArgs(root, nil, "render", "--output-dir", out, "--keep-last-good")...)
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, ": everything else was written")
	assert.Equal(t, []string{"out/edge/app-1-web/reconciler.yaml"}, differing(before, everything(t, filepath.Dir(out))))
}

// TestR23Collision lets two tenants take the same new name: nobody can tell who is right, so both are held
// back.
func TestR23Collision(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	before := publishedAcme(t, root, "dev")
	for _, app := range []string{"app-1", "app-2"} {
		files := acmeApp(app, "new")
		files["workload/new.yaml"] = acmeApp("new", "main")[workloadFile]
		addRepo(t, root, app, gitopstest.Commit{Files: files})
	}
	addRepo(t, root, "app-3", gitopstest.Commit{Files: acmeApp("app-3", "new")})

	got := kalypso(t, holdArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Equal(t, []string{"edge/app-3-web/reconciler.yaml"}, differing(before, publishedAcme(t, root, "dev")), got.stderr)
	assert.Contains(t, lastMessage(t, root), "Quarantined because of errors: 2 registrations")
}

// TestR23ControlPlaneGone fails as ever if the platform's own data is gone.
func TestR23ControlPlaneGone(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	before := publishedAcme(t, root, "dev")
	_, err := gitopstest.Git(filepath.Join(root, "control-plane.git"), "branch", "-m", "dev", "gone")
	require.NoError(t, err)
	got := kalypso(t, holdArgs(root)...)
	assert.Equal(t, cli.ExitModel, got.code)
	assert.Contains(t, got.stderr, "[branch-not-found]")
	assert.Contains(t, got.stderr, "nothing was published")
	assertSameFiles(t, before, publishedAcme(t, root, "dev"))
}

// TestR23TwoEnvironments holds a tenant back in each environment at the commit that went out there.
func TestR23TwoEnvironments(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	files := acmeMain()
	files[".environments/stage.yaml"] = acmeObject("Environment", "stage", "spec: {controlPlane: {repo: "+acme("control-plane")+", branch: stage}}")
	stage := gitopstest.Files{
		"base.yaml":   acmeObject("BaseRepo", "main", "spec: {repo: "+acme("control-plane")+", branch: main}"),
		"gitops.yaml": acmeObject("GitOpsRepo", "stage", "spec: {repo: "+acme("gitops")+", branch: stage}"),
		"types.yaml":  acmeObject("ClusterType", "store", "spec: {reconciler: flux, namespaceService: default}"),
		"policy.yaml": acmeObject("SchedulingPolicy", "all", "spec: {}"),
	}
	addRepo(t, root, "control-plane", gitopstest.Commit{Files: files}, gitopstest.Commit{Branch: "stage", Files: stage})
	inBoth := func(branch string) gitopstest.Files {
		target := "{name: %, environment: %, manifests: {repo: r, branch: " + branch + ", path: .}}"
		return gitopstest.Files{workloadFile: acmeObject("Workload", "app-2", "spec: {deploymentTargets: ["+
			strings.ReplaceAll(target, "%", "dev")+", "+strings.ReplaceAll(target, "%", "stage")+"]}")}
	}
	older := addRepo(t, root, "app-2", gitopstest.Commit{Files: inBoth("older")})[0]
	both := []string{"--env", "stage", "--create-branch"}
	mustRun(t, publishArgs(root, both...)...)
	newer := addRepo(t, root, "app-2", gitopstest.Commit{Files: inBoth("newer")})[0]
	mustRun(t, publishArgs(root)...)
	breakApp("app-2", gitopstest.Files{workloadFile: "kind: [\n"})(t, root)

	got := kalypso(t, holdArgs(root, both...)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "compiled at "+newer[:12])
	assert.Contains(t, got.stderr, "compiled at "+older[:12])
	assert.Contains(t, publishedAcme(t, root, "dev")["edge/app-2-dev/reconciler.yaml"], "branch: newer")
	assert.Contains(t, publishedAcme(t, root, "stage")["store/app-2-stage/reconciler.yaml"], "branch: older")
}

// TestR23StolenFromTheBusy steals a name from a tenant that has something new itself: that one is published.
func TestR23StolenFromTheBusy(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	before := publishedAcme(t, root, "dev")
	breakApp("app-2", gitopstest.Files{workloadFile: acmeApp("app-1", "main")[workloadFile]})(t, root)
	addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-1", "new")})

	got := kalypso(t, holdArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, `WorkloadRegistration "app-2" is quarantined`)
	assert.NotContains(t, got.stderr, `WorkloadRegistration "app-1" is quarantined`)
	assert.Equal(t, []string{"edge/app-1-web/reconciler.yaml"}, differing(before, publishedAcme(t, root, "dev")), got.stderr)
}

// TestR23HostDown loses the server of two tenants: what is published of them stays, and the exit code is
// that of a broken tenant.
func TestR23HostDown(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	before := publishedAcme(t, root, "dev")
	addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-1", "new")})
	down := map[string]string{"app-2": "http://127.0.0.1:1/app-2", "app-3": "http://127.0.0.1:1/app-3"}
	got := kalypso(t, acmeArgs(root, down, "render", "--direct", "--keep-last-good")...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[host-unreachable]")
	assert.Equal(t, []string{"edge/app-1-web/reconciler.yaml"}, differing(before, publishedAcme(t, root, "dev")), got.stderr)
}

// targetsOfApp are the files of an application with as many targets as given.
func targetsOfApp(app string, n int) gitopstest.Files {
	targets := make([]string, n)
	for i := range targets {
		targets[i] = fmt.Sprintf("{name: t%d, environment: dev, manifests: {repo: r, branch: b, path: .}}", i)
	}
	return gitopstest.Files{workloadFile: acmeObject("Workload", app, "spec: {deploymentTargets: ["+strings.Join(targets, ", ")+"]}")}
}

// TestR23OneRemovesMost: a tenant that removes most published targets is held back; no other one is.
func TestR23OneRemovesMost(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	addRepo(t, root, "app-2", gitopstest.Commit{Files: targetsOfApp("app-2", 8)})
	mustRun(t, publishArgs(root)...)
	good := tipOf(t, root, "app-2", "main")
	addRepo(t, root, "app-2", gitopstest.Commit{Files: targetsOfApp("app-2", 1)})
	addRepo(t, root, "app-1", gitopstest.Commit{Files: targetsOfApp("app-1", 1)}) // one goes, one comes
	addRepo(t, root, "app-3", gitopstest.Commit{Files: acmeApp("app-3", "new")})

	got := kalypso(t, publishArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "8 of the 10 assignments published")
	assert.Contains(t, got.stderr, "nothing was published")

	got = kalypso(t, acmeArgs(root, nil, "render", "--dry-run", "--keep-last-good")...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stdout, "10 targets on 1 cluster type, 10 assignments: +1 ~1 -1", "what is shown is what is published")

	got = kalypso(t, holdArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, `WorkloadRegistration "app-2": 7 of the 10 published assignments would be removed [many-deletions]`)
	assert.Contains(t, got.stderr, "--allow-deletions")
	assert.NotContains(t, got.stderr, `WorkloadRegistration "app-1" is quarantined`)
	files := publishedAcme(t, root, "dev")
	assert.Contains(t, files, "edge/app-2-t7/reconciler.yaml")
	assert.Contains(t, files, "edge/app-1-t0/reconciler.yaml")
	assert.NotContains(t, files, "edge/app-1-web/reconciler.yaml")
	assert.Contains(t, files["edge/app-3-web/reconciler.yaml"], "branch: new")
	assert.Contains(t, lastMessage(t, root), "Kalypso-Held: app-2 "+good)

	got = kalypso(t, holdArgs(root, "--allow-deletions")...)
	require.Equal(t, cli.ExitDone, got.code, got.stderr)
	assert.NotContains(t, publishedAcme(t, root, "dev"), "edge/app-2-t7/reconciler.yaml")
}

// TestR23PlatformRemovesMost: removals by the platform team are refused, and no registration is held back.
func TestR23PlatformRemovesMost(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	addRepo(t, root, "app-2", gitopstest.Commit{Files: targetsOfApp("app-2", 8)})
	mustRun(t, publishArgs(root)...)
	before := publishedAcme(t, root, "dev")
	register(t, root, nil, "app-1", "app-3")
	addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-9", "new")})

	got := kalypso(t, holdArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "9 of the 10 assignments published")
	assert.NotContains(t, got.stderr, "is quarantined")
	assertSameFiles(t, before, publishedAcme(t, root, "dev"))
}

// TestR23NewBlocksNoRemoval registers a tenant that is broken from the beginning: as nothing is published of it, others
// may remove what is theirs.
func TestR23NewBlocksNoRemoval(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	addRepo(t, root, "app-4", gitopstest.Commit{Files: gitopstest.Files{workloadFile: "kind: [\n"}})
	register(t, root, nil, "app-1", "app-2", "app-3", "app-4")
	for _, name := range []string{"app-8", "app-9"} {
		addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp(name, "main")})
		got := kalypso(t, holdArgs(root)...)
		require.Equal(t, cli.ExitModel, got.code, got.stderr)
		assert.Contains(t, got.stderr, `WorkloadRegistration "app-4" is quarantined: never published, so it is left out`)
		files := publishedAcme(t, root, "dev")
		assert.Contains(t, files, "edge/"+name+"-web/reconciler.yaml")
		assert.Len(t, files, 2+3*2, "and nothing else")
	}
}

// TestR23NewAlone registers a tenant that is alone on a cluster type and lacks a value that its template needs: it is
// left out, although nothing else shows that the template works.
func TestR23NewAlone(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	main := acmeMain()
	main["templates.yaml"] += "---\n" + acmeObject("Template", "argo", `spec: {type: reconciler, manifests: ["apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Namespace }}}\ndata: {branch: {{ .Manifests.region }}}\n"]}`)
	dev := acmeDev()
	dev["types.yaml"] += "---\n" + acmeObject("ClusterType", "store", "spec: {reconciler: argo, namespaceService: default}")
	dev["policy.yaml"] = acmeObject("SchedulingPolicy", "all", "spec: {clusterTypeSelector: {labelSelector: {matchLabels: {a: b}}}}")
	for _, app := range append([]string{"app-4"}, appsOfAcme...) {
		clusterType := map[bool]string{true: "store", false: "edge"}[app == "app-4"]
		dev[app+".yaml"] = acmeObject("SchedulingPolicy", app, "spec: {deploymentTargetSelector: {workspace: "+app+"}, clusterTypeSelector: {labelSelector: {matchLabels: {cluster-type: "+clusterType+"}}}}")
	}
	dev["types.yaml"] = strings.NewReplacer("{name: edge}", "{name: edge, labels: {cluster-type: edge}}", "{name: store}", "{name: store, labels: {cluster-type: store}}").Replace(dev["types.yaml"])
	addRepo(t, root, "control-plane", gitopstest.Commit{Files: main}, gitopstest.Commit{Branch: "dev", Files: dev})
	mustRun(t, publishArgs(root)...)
	addRepo(t, root, "app-4", gitopstest.Commit{Files: acmeApp("app-4", "main")})
	main["app-4.yaml"] = acmeObject("WorkloadRegistration", "app-4", "spec: {workload: {repo: "+acme("app-4")+", branch: main}, workspace: app-4}")
	addRepo(t, root, "control-plane", gitopstest.Commit{Files: main})
	addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-1", "new")})

	got := kalypso(t, holdArgs(root)...)
	require.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, `WorkloadRegistration "app-4" is quarantined: never published, so it is left out`)
	files := publishedAcme(t, root, "dev")
	assert.Contains(t, files["edge/app-1-web/reconciler.yaml"], "branch: new", got.stderr)
	assert.NotContains(t, files, "store/app-4-web/reconciler.yaml")
}

// TestR23UnknownStaysUnknown: what is left out while nobody knows what is published of it stays also when the next
// commit knows all others.
func TestR23UnknownStaysUnknown(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	mustRun(t, publishArgs(root)...)
	addRepo(t, root, "gitops", gitopstest.Commit{Branch: "squashed", Files: publishedAcme(t, root, "dev")})
	_, err := gitopstest.Git(filepath.Join(root, "gitops.git"), "update-ref", "refs/heads/dev", "squashed")
	require.NoError(t, err)
	breakApp("app-2", gitopstest.Files{workloadFile: "kind: [\n"})(t, root)
	for _, branch := range []string{"new", "newer", "newest"} {
		addRepo(t, root, "app-1", gitopstest.Commit{Files: acmeApp("app-1", branch)})
		got := kalypso(t, holdArgs(root)...)
		require.Equal(t, cli.ExitModel, got.code, got.stderr)
		files := publishedAcme(t, root, "dev")
		assert.Contains(t, files["edge/app-1-web/reconciler.yaml"], "branch: "+branch)
		assert.Contains(t, files, "edge/app-2-web/reconciler.yaml")
	}
}

// TestR23Validate: the gate of the control plane is not closed by a broken tenant, with whatever is wrong with it, and is
// closed by the platform's own errors.
func TestR23Validate(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gone repository", "unknown field", "stolen workload name", "schema violation"} {
		test := faultsOfTenants[name]
		root := acmeFleet(t)
		mustRun(t, publishArgs(root)...)
		test.fault(t, root)
		got := kalypso(t, acmeArgs(root, nil, "validate")...)
		assert.NotEqual(t, cli.ExitDone, got.code)

		got = kalypso(t, acmeArgs(root, nil, "validate", "--keep-last-good")...)
		assert.Equal(t, cli.ExitDone, got.code, got.stderr)
		assert.Contains(t, got.stderr, "["+test.rule+"]")
		assert.Contains(t, got.stderr, "[held-back]")
		assert.NotContains(t, got.stderr, "error: ")

		got = kalypso(t, acmeArgs(root, nil, "validate", "--keep-last-good", "-o", "json")...)
		assert.Equal(t, cli.ExitDone, got.code, got.stderr)
		assert.Contains(t, got.stdout, `"held": [`)

		files := acmeMain()
		files["templates.yaml"] = strings.ReplaceAll(files["templates.yaml"], ".Branch", ".Manifests.nothing")
		addRepo(t, root, "control-plane", gitopstest.Commit{Files: files})
		got = kalypso(t, acmeArgs(root, nil, "validate", "--keep-last-good")...)
		assert.Equal(t, cli.ExitModel, got.code, got.stderr)
		assert.Contains(t, got.stderr, "error: .Manifests.nothing has no value")
	}
}

// TestR23ValidateWithoutLastPublication: where it is not known what was published last, an error in the platform's files is the
// platform's, and one in a tenant's file the tenant's.
func TestR23ValidateWithoutLastPublication(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	breakApp("app-2", gitopstest.Files{workloadFile: "kind: [\n"})(t, root)
	got := kalypso(t, acmeArgs(root, nil, "validate", "--keep-last-good")...)
	assert.Equal(t, cli.ExitDone, got.code, got.stderr)

	addRepo(t, root, "app-2", gitopstest.Commit{Files: acmeApp("app-2", "main")})
	files := acmeMain()
	files["templates.yaml"] = strings.ReplaceAll(files["templates.yaml"], "{{ .Branch }}", `{{ if eq .Workload \"app-2\" }}{{ .Manifests.nothing }}{{ end }}`)
	addRepo(t, root, "control-plane", gitopstest.Commit{Files: files})
	got = kalypso(t, acmeArgs(root, nil, "validate", "--keep-last-good")...)
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "error: .Manifests.nothing has no value")

	got = kalypso(t, acmeArgs(root, nil, "validate", "--keep-last-good", "--workload", ".")...)
	assert.Equal(t, cli.ExitUsage, got.code)
}
