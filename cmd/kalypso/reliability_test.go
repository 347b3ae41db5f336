package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// The tests named TestR… show the promises of docs/explanation/reliability.md: each injects a fault and runs the
// program: in this process, or the real one where it must be stopped, measured or kept from something.

// acme is the name of a repository of the fleet that these tests compile.
func acme(repo string) string { return "https://github.com/acme/" + repo }

// appsOfAcme are its application repositories.
var appsOfAcme = []string{"app-1", "app-2", "app-3"}

// acmeFleet is a small fleet of bare repositories in one directory: a control plane with the environment
// dev, three applications, and a GitOps repository without kalypso output. It is made once, and copied for each test.
func acmeFleet(t *testing.T) string {
	t.Helper()
	acmeTemplate.Do(func() {
		dir, err := os.MkdirTemp("", "acme") //nolint:usetesting // it outlives this test
		require.NoError(t, err)
		acmeTemplate.dir = dir
		newAcmeFleet(t, dir)
	})
	root := t.TempDir()
	copyRepos(t, acmeTemplate.dir, root)
	return root
}

// acmeTemplate is the directory that acmeFleet copies.
var acmeTemplate struct {
	sync.Once
	dir string
}

func newAcmeFleet(t *testing.T, root string) {
	t.Helper()
	for _, app := range appsOfAcme {
		addRepo(t, root, app, gitopstest.Commit{Files: acmeApp(app, "main")})
	}
	addRepo(t, root, "control-plane", gitopstest.Commit{Files: acmeMain()}, gitopstest.Commit{Branch: "dev", Files: acmeDev()})
	addRepo(t, root, "gitops", gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"docs/notes.md": "Somebody wrote this.\n"}})
}

// acmeDev is the branch dev of its control plane.
func acmeDev() gitopstest.Files {
	return gitopstest.Files{
		"base.yaml":   acmeObject("BaseRepo", "main", "spec: {repo: "+acme("control-plane")+", branch: main}"),
		"gitops.yaml": acmeObject("GitOpsRepo", "dev", "spec: {repo: "+acme("gitops")+", branch: dev}"),
		"types.yaml":  acmeObject("ClusterType", "edge", "spec: {reconciler: flux, namespaceService: default}"),
		"policy.yaml": acmeObject("SchedulingPolicy", "all", "spec: {}"),
	}
}

// acmeMain is the branch main of its control plane.
func acmeMain() gitopstest.Files {
	files := gitopstest.Files{
		".environments/dev.yaml": acmeObject("Environment", "dev", "spec: {controlPlane: {repo: "+acme("control-plane")+", branch: dev}}"),
		"templates.yaml": acmeObject("Template", "flux", `spec: {type: reconciler, manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Namespace }}"}, data: {branch: "{{ .Branch }}"}}]}`) +
			"---\n" + acmeObject("Template", "default", `spec: {type: namespace, manifests: [{apiVersion: v1, kind: Namespace, metadata: {name: "{{ .Namespace }}"}}]}`),
	}
	for _, app := range appsOfAcme {
		files[app+".yaml"] = acmeObject("WorkloadRegistration", app, "spec: {workload: {repo: "+acme(app)+", branch: main}, workspace: "+app+"}")
	}
	return files
}

func acmeObject(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: %s\nmetadata: {name: %s}\n%s\n", kind, name, spec)
}

// acmeApp are the files of an application with one target, whose manifests are on the branch given.
func acmeApp(name, branch string) gitopstest.Files {
	return gitopstest.Files{"workload/workload.yaml": acmeObject("Workload", name,
		"spec: {deploymentTargets: [{name: web, environment: dev, manifests: {repo: "+acme(name)+", branch: "+branch+", path: .}}]}")}
}

func addRepo(t *testing.T, root, name string, commits ...gitopstest.Commit) []string {
	t.Helper()
	dir := filepath.Join(root, name+".git")
	write := gitopstest.Bare
	if _, err := os.Stat(dir); err == nil {
		write = gitopstest.Add
	}
	ids, err := write(dir, commits...)
	require.NoError(t, err)
	return ids
}

// acmeArgs are the arguments that read the fleet in a directory; repositories in elsewhere are read from
// there.
func acmeArgs(root string, elsewhere map[string]string, args ...string) []string {
	args = append(args, "--env", "dev", "--control-plane", acme("control-plane"), "--replace", acme("*")+"="+root+"/*.git")
	for repo, url := range elsewhere {
		args = append(args, "--replace", acme(repo)+"="+url)
	}
	return args
}

// outcome is how a run of the program ended.
type outcome struct {
	code           int
	stdout, stderr string
}

// safetyNet is how long a run may take that is meant to end by itself, on however slow a machine.
const safetyNet = 2 * time.Minute

// ourProgram is the real program with an environment that has nothing of this machine in it but what is
// given. It is killed if it does not end.
func ourProgram(t *testing.T, args []string, env ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), safetyNet)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "kalypso", args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}, env...)
	cmd.WaitDelay = time.Second
	return cmd
}

// matrix begins a test that tries many faults or inputs, one after the other, on runs that are otherwise alike. Under the
// race detector it would find in an hour what the tests of runs at once, and the sessions in scripts, find in seconds.
func matrix(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("it runs without the race detector")
	}
}

// wholeMatrix is for the largest tables of faults, which make ci-full runs.
func wholeMatrix(t *testing.T) {
	t.Helper()
	matrix(t)
	if !wantsWholeMatrix() {
		t.Skip("make ci-full runs it, with KALYPSO_WHOLE_MATRIX=1")
	}
}

// wantsWholeMatrix reports whether all faults are to be tried at all steps, as make ci-full does.
func wantsWholeMatrix() bool { return os.Getenv("KALYPSO_WHOLE_MATRIX") != "" }

// finish runs a program to its end.
func finish(t testing.TB, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	cmd.Stderr = &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Errorf("the program did not start: %v", err)
		return outcome{}
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// kalypso runs the program in this process, where waiting takes no time, with nothing of this machine.
func kalypso(t *testing.T, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), safetyNet)
	defer cancel()
	environ := map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "GIT_CONFIG_NOSYSTEM": "1"}
	var stdout, stderr bytes.Buffer
	host := cli.System()
	host.Stdout, host.Stderr, host.Stdin = &stdout, &stderr, nil
	host.StdoutTerminal, host.StderrTerminal, host.StdinTerminal = false, false, false
	host.Env = func(name string) string { return environ[name] }
	host.Environ = func() []string { return listOf(environ) }
	host.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	code := run(ctx, args, host)
	return outcome{code, stdout.String(), stderr.String()}
}

// mustRun runs the program, which must succeed.
func mustRun(t *testing.T, args ...string) outcome {
	t.Helper()
	got := kalypso(t, args...)
	require.Equal(t, cli.ExitDone, got.code, got.stderr)
	return got
}

// everything lists a directory: the content of each file, and each directory.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || entry.IsDir() {
			found[name] = "a directory"
			return err
		}
		content, err := os.ReadFile(path)
		found[name] = string(content)
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		assert.NoError(t, err)
	}
	return found
}

// outputBefore makes a directory that holds an output directory "out" as an earlier run left it, with a
// file of somebody else's in it. It returns the output directory and all that is there.
func outputBefore(t *testing.T, root string) (out string, before map[string]string) {
	t.Helper()
	parent := t.TempDir()
	out = filepath.Join(parent, "out")
	mustRun(t, acmeArgs(root, nil, "render", "--output-dir", out)...)
	require.NoError(t, os.WriteFile(filepath.Join(out, "notes.md"), []byte("Somebody wrote this.\n"), 0o644))
	before = everything(t, parent)
	require.Contains(t, before, "out/edge/app-3-web/reconciler.yaml")
	return out, before
}

// assertUntouched makes sure that nothing beside or in an output directory is other than before: no file
// written, none removed, nothing temporary left.
func assertUntouched(t *testing.T, out string, before map[string]string, which string) {
	t.Helper()
	assertSameFiles(t, before, everything(t, filepath.Dir(out)), which)
}

// assertSameFiles compares the contents of directories, and names the files that are not the same.
func assertSameFiles(t *testing.T, want, got map[string]string, which ...any) {
	t.Helper()
	require.NotEmpty(t, want)
	assert.Empty(t, differing(want, got), which...)
}

// differing returns the names of the files that are not the same in both, sorted.
func differing(a, b map[string]string) []string {
	var names []string
	for name, content := range a {
		if other, ok := b[name]; !ok || other != content {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// assertDocumented makes sure that the documentation has an exit code.
func assertDocumented(t *testing.T, code int) {
	t.Helper()
	assert.Regexp(t, fmt.Sprintf(`(?m)^ +%d  `, code), cli.ExitCodes)
}
