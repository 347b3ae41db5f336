package quarantine_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

const loadHeader = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: "

func environmentFile(name, branch string) string {
	return loadHeader + fmt.Sprintf("Environment\nmetadata: {name: %s}\nspec:\n  controlPlane:\n    repo: https://github.com/acme/control-plane\n    branch: %s\n", name, branch)
}

func baseFile(branch, commit string) string {
	return loadHeader + fmt.Sprintf("BaseRepo\nmetadata: {name: main}\nspec:\n  repo: https://github.com/acme/control-plane\n  branch: %s\n  commit: %q\n", branch, commit)
}

func registrationFile(name, repo, branch, path string) string {
	return loadHeader + fmt.Sprintf("WorkloadRegistration\nmetadata: {name: %s}\nspec:\n  workload:\n    repo: %s\n    branch: %s\n    path: %s\n  workspace: shop\n", name, repo, branch, path)
}

// loadFleet loads environment dev of a control plane.
func loadFleet(t *testing.T, controlPlane source.ControlPlane, replace ...string) (*model.Fleet, diag.List) {
	t.Helper()
	controlPlane.Options = model.DefaultOptions()
	reader, err := remote.NewReader(remote.Options{Replace: replace})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, reader.Close()) })
	loader := source.NewLoader(reader, controlPlane)
	environments, diags := loader.Environments(t.Context())
	require.Empty(t, diags)
	require.Len(t, environments, 1)
	fleet, diags := loader.Fleet(t.Context(), environments[0], []string{"dev"})
	return fleet, diags.Sorted()
}

func lines(list diag.List) string {
	var b strings.Builder
	for _, d := range list {
		b.WriteString(diag.Format(d, diag.Style{}))
	}
	return b.String()
}

// TestLoadCommit reads the base at the commit that the environment is pinned to, whatever came
// after, and says that something did.
func TestLoadCommit(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "control-plane.git")
	ids, err := gitopstest.Bare(dir,
		gitopstest.Commit{Files: gitopstest.Files{".environments/dev.yaml": environmentFile("dev", "dev"), "template.yaml": loadHeader + "Template\nmetadata: {name: old}\nspec: {type: config, manifests: []}\n"}},
		gitopstest.Commit{Files: gitopstest.Files{".environments/dev.yaml": environmentFile("dev", "dev"), "template.yaml": "broken: ["}},
	)
	require.NoError(t, err)
	_, err = gitopstest.Add(dir, gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"base-repo.yaml": baseFile("main", ids[0])}})
	require.NoError(t, err)

	fleet, diags := loadFleet(t, source.ControlPlane{Repo: dir})
	assert.Equal(t, "github.com/acme/control-plane@dev:base-repo.yaml:7:11: notice: main of the control plane is at "+ids[1][:12]+
		", this environment at "+ids[0][:12]+" [base-ahead]\n    hint: --base main compiles what it would get\n", lines(diags))
	assert.Equal(t, ids[0], fleet.PromotedCommit)
	assert.NotNil(t, fleet.Template("old"))

	fleet, diags = loadFleet(t, source.ControlPlane{Repo: dir, Base: "main"})
	assert.Contains(t, lines(diags), "github.com/acme/control-plane@main:template.yaml:1")
	assert.Equal(t, ids[1], fleet.PromotedCommit)

	fleet, diags = loadFleet(t, source.ControlPlane{Repo: dir, Base: ids[0]})
	assert.Empty(t, diags)
	assert.Equal(t, ids[0], fleet.PromotedCommit)
}

// TestLoadFailures names the object that asked, at the value to change, and what to do.
func TestLoadFailures(t *testing.T) {
	t.Parallel()
	main := gitopstest.Files{".environments/dev.yaml": environmentFile("dev", "dev")}
	missing := strings.Repeat("a", 40)
	tests := map[string]struct {
		dev  gitopstest.Files
		want string
	}{
		"a commit that does not exist": {
			gitopstest.Files{"base.yaml": baseFile("main", missing)},
			"github.com/acme/control-plane@dev:base.yaml:7:11: error: BaseRepo \"main\": ",
		},
		"it says how to promote": {
			gitopstest.Files{"base.yaml": baseFile("main", missing)},
			`hint: kalypso promote --env dev promotes the latest commit of "main" to it`,
		},
		"never promoted": {
			gitopstest.Files{"notes.md": "x"},
			`github.com/acme/control-plane@main:.environments/dev.yaml:3:18: error: Environment "dev" has no BaseRepo "main"`,
		},
		"a branch that does not exist": {
			gitopstest.Files{"base.yaml": baseFile("mian", "")},
			"github.com/acme/control-plane@dev:base.yaml:6:11: error: BaseRepo \"main\": ",
		},
		"a path that does not exist": {
			gitopstest.Files{"base.yaml": baseFile("main", ""), "app.yaml": registrationFile("app", "https://github.com/acme/app", "main", "workloads")},
			"github.com/acme/control-plane@dev:app.yaml:8:11: error: WorkloadRegistration \"app\": ",
		},
		"the same place twice": {
			gitopstest.Files{
				"base.yaml": baseFile("main", ""),
				"a.yaml":    registrationFile("a", "https://github.com/acme/app", "main", "./"),
				"b.yaml":    registrationFile("b", "git@GitHub.com:acme/app.git", "main", "."),
			},
			`b.yaml:6:11: error: WorkloadRegistration "b" registers the same location as "a" [duplicate-registration]`,
		},
		"a GitOps repository that is refused": {
			gitopstest.Files{"base.yaml": baseFile("main", ""), "gitops.yaml": loadHeader + "GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: 'http://example.com/x', branch: dev}\n"},
			`gitops.yaml:4:14: error: GitOpsRepo "dev": the repository "http://example.com/x" is refused`,
		},
		"a URL that is refused": {
			gitopstest.Files{"base.yaml": baseFile("main", ""), "app.yaml": registrationFile("app", "file:///etc", "main", ".")},
			`app.yaml:6:11: error: WorkloadRegistration "app": the repository "file:///etc" is refused`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, err := gitopstest.Bare(filepath.Join(dir, "control-plane.git"), gitopstest.Commit{Files: main}, gitopstest.Commit{Branch: "dev", Files: test.dev})
			require.NoError(t, err)
			_, err = gitopstest.Bare(filepath.Join(dir, "app.git"), gitopstest.Commit{Files: gitopstest.Files{"workload/x.yaml": "a: b"}})
			require.NoError(t, err)
			fleet, diags := loadFleet(t, source.ControlPlane{Repo: filepath.Join(dir, "control-plane.git")}, "https://github.com/acme/*="+dir+"/*.git")
			assert.Contains(t, lines(diags), test.want)
			if !strings.HasPrefix(name, "a GitOps") {
				assert.True(t, fleet.Incomplete, "nothing may be concluded from what is missing")
			}
		})
	}
}

// TestR1NothingIsConcludedFromAFileThatIsLost: the BaseRepo may be in it, so it is not said that there
// is none.
func TestR1NothingIsConcludedFromAFileThatIsLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := gitopstest.Bare(filepath.Join(dir, "control-plane.git"),
		gitopstest.Commit{Files: gitopstest.Files{".environments/dev.yaml": environmentFile("dev", "dev")}},
		gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"base.yaml": "a: [\n"}})
	require.NoError(t, err)
	fleet, diags := loadFleet(t, source.ControlPlane{Repo: filepath.Join(dir, "control-plane.git")}, "https://github.com/acme/*="+dir+"/*.git")
	assert.Contains(t, lines(diags), "github.com/acme/control-plane@dev:base.yaml:1: error: invalid YAML")
	assert.NotContains(t, lines(diags), "not-promoted")
	assert.True(t, fleet.Incomplete)
}

// TestLoadSharedBranch lets an environment and its base be the same folder at the same commit: what
// is there counts once.
func TestLoadSharedBranch(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "control-plane.git")
	_, err := gitopstest.Bare(dir, gitopstest.Commit{Files: gitopstest.Files{
		".environments/dev.yaml": environmentFile("dev", "main"), "base.yaml": baseFile("main", ""),
		"cluster-type.yaml": loadHeader + "ClusterType\nmetadata: {name: edge}\nspec: {reconciler: a, namespaceService: b}\n",
	}})
	require.NoError(t, err)
	fleet, diags := loadFleet(t, source.ControlPlane{Repo: dir})
	assert.Empty(t, lines(diags))
	assert.Len(t, fleet.ClusterTypes, 1)
}

// TestLoadDefaultBranch reads the base branch that the repository has, if it is not called main.
func TestLoadDefaultBranch(t *testing.T) {
	t.Parallel()
	files := gitopstest.Files{".environments/dev.yaml": environmentFile("dev", "dev")}
	dev := gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"base.yaml": baseFile("trunk", "")}}
	dir := filepath.Join(t.TempDir(), "control-plane.git")
	_, err := gitopstest.Bare(dir, gitopstest.Commit{Branch: "trunk", Files: files}, dev)
	require.NoError(t, err)
	_, diags := loadFleet(t, source.ControlPlane{Repo: dir})
	assert.Empty(t, diags)

	server := gitopstest.NewServer(t)
	url, _ := server.Add("control-plane", gitopstest.Commit{Branch: "trunk", Files: files}, dev)
	_, diags = loadFleet(t, source.ControlPlane{Repo: url}, "https://github.com/acme/control-plane="+url)
	assert.Empty(t, diags)
}

// TestLoadReadsEachRepositoryOnce registers two folders of one repository: it is fetched once.
func TestLoadReadsEachRepositoryOnce(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _ := server.Add("control-plane", gitopstest.Commit{Files: gitopstest.Files{
		".environments/dev.yaml": environmentFile("dev", "dev"),
		"a.yaml":                 registrationFile("a", "https://github.com/acme/app", "main", "a"),
		"b.yaml":                 registrationFile("b", "https://github.com/acme/app", "main", "b"),
	}}, gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"base.yaml": baseFile("main", "")}})
	app, _ := server.Add("app", gitopstest.Commit{Files: gitopstest.Files{"a/x.yaml": "", "b/x.yaml": ""}})
	_, diags := loadFleet(t, source.ControlPlane{Repo: url}, "https://github.com/acme/control-plane="+url, "https://github.com/acme/app="+app)
	assert.Equal(t, 2, diags.Count(diag.Warning), lines(diags)) // there is no workload
	refs := map[string]int{}
	for _, request := range server.Requests() {
		if strings.HasSuffix(request.Path, "/info/refs") {
			refs[request.Path]++
		}
	}
	assert.Equal(t, map[string]int{"/control-plane.git/info/refs": 1, "/app.git/info/refs": 1}, refs)
}

// TestLoadReplacesTheControlPlane reads all branches of a control plane that is given by its URL from
// where a wildcard says.
func TestLoadReplacesTheControlPlane(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := gitopstest.Bare(filepath.Join(dir, "control-plane.git"),
		gitopstest.Commit{Files: gitopstest.Files{".environments/dev.yaml": environmentFile("dev", "dev")}},
		gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"base.yaml": baseFile("main", "")}})
	require.NoError(t, err)
	_, diags := loadFleet(t, source.ControlPlane{Repo: "https://github.com/acme/control-plane"}, "https://github.com/acme/*="+dir+"/*.git")
	assert.Empty(t, lines(diags))
}

// TestLoadPlatform reads the branch of an environment, and nothing that it points to.
func TestLoadPlatform(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "control-plane.git")
	_, err := gitopstest.Bare(dir,
		gitopstest.Commit{Files: gitopstest.Files{".environments/dev.yaml": environmentFile("dev", "dev"), ".environments/gone.yaml": environmentFile("gone", "gone")}},
		gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{
			"base-repo.yaml": baseFile("main", strings.Repeat("1", 40)), "app.yaml": registrationFile("app", "https://example.com/nowhere", "main", "."),
		}})
	require.NoError(t, err)
	reader, err := remote.NewReader(remote.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, reader.Close()) })
	loader := source.NewLoader(reader, source.ControlPlane{Repo: dir, Options: model.DefaultOptions()})
	environments, diags := loader.Environments(t.Context())
	require.Empty(t, diags)
	require.Len(t, environments, 2)
	objects, diags := loader.Platform(t.Context(), environments[0])
	require.Empty(t, diags)
	require.Len(t, objects.BaseRepos, 1)
	assert.Equal(t, strings.Repeat("1", 40), objects.BaseRepos[0].Commit.Value)
	objects, diags = loader.Platform(t.Context(), environments[1])
	assert.Nil(t, objects)
	assert.Contains(t, lines(diags), `Environment "gone": `)
	assert.Contains(t, lines(diags), "[branch-not-found]")
}
