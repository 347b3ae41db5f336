//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// assertNoCrash makes sure that a run ended with words for people.
func assertNoCrash(t *testing.T, got outcome, which string) {
	t.Helper()
	assert.NotContains(t, got.stderr, "goroutine ", which)
	assert.Contains(t, got.stderr, "error: ", which)
	assert.Equal(t, cli.ExitModel, got.code, "%s: %s", which, got.stderr)
}

// smallDisk mounts a file system in memory for the rest of the test.
func smallDisk(t *testing.T, options string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("a file system that is full needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// harvestWithOtherValues is the sample fleet with a value that changes a file of nearly every target.
func harvestWithOtherValues(t *testing.T) string {
	t.Helper()
	return copyOfHarvest(t, asTheyAre, func(name string, content []byte) []byte {
		if name != "in/control-plane/dev/configs/dev.yaml" {
			return content
		}
		changed := bytes.ReplaceAll(content, []byte("LOG_LEVEL: debug"), []byte("LOG_LEVEL: info"))
		require.NotEqual(t, content, changed)
		return changed
	})
}

// renderHarvest runs the program on a copy of the sample fleet.
func renderHarvest(t *testing.T, dir, out string) *exec.Cmd {
	t.Helper()
	dir, err := filepath.Abs(dir)
	require.NoError(t, err)
	return ourProgram(t, append([]string{"render", "--env", "dev", "--output-dir", out}, fleetArgs(t, dir)...))
}

// TestR24DiskFull: the disk has no space for the output, or for so many files.
func TestR24DiskFull(t *testing.T) {
	t.Parallel()
	for _, options := range []string{"size=64k", "size=10m,nr_inodes=20"} {
		disk := smallDisk(t, options)
		got := finish(t, renderHarvest(t, harvest, filepath.Join(disk, "a", "out")))
		assertNoCrash(t, got, options)
		assert.Contains(t, got.stderr, "no space left on device")
		assert.Equal(t, map[string]string{".": "a directory"}, everything(t, disk), "a new directory, %s", options)
	}
	for _, options := range []string{"size=512k", "size=10m,nr_inodes=200"} {
		disk := smallDisk(t, options)
		out := filepath.Join(disk, "out")
		require.Equal(t, cli.ExitDone, finish(t, renderHarvest(t, harvest, out)).code)
		fillUp(t, filepath.Join(disk, "filler"))
		before := everything(t, disk)
		got := finish(t, renderHarvest(t, harvestWithOtherValues(t), out))
		assertNoCrash(t, got, options)
		assert.Contains(t, got.stderr, "no space left on device")
		assertUntouched(t, out, before, "a directory that is there, "+options)
	}
}

// TestR24SecondEnvironment: the disk has space for one environment, not for two.
func TestR24SecondEnvironment(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "size=10m,nr_inodes=130")
	out := filepath.Join(disk, "out")
	cmd := renderHarvest(t, harvest, out)
	cmd.Args = append(cmd.Args, "--env", "prod")
	got := finish(t, cmd)
	assertNoCrash(t, got, "two environments")
	assert.Contains(t, got.stderr, "prod cannot be written: ")
	assert.Contains(t, got.stderr, ": only dev was written")
	assertSameFiles(t, readTree(t, filepath.Join(harvest, "want", "dev")), readTree(t, out+"/dev"))
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing is left of the other")
}

// fillUp leaves space for a few files.
func fillUp(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.Mkdir(dir, 0o755))
	page := make([]byte, 4096)
	made := 0
	for ; ; made++ {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(made)), page, 0o644); err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			break
		}
	}
	for i := range min(made, 12) + 1 {
		_ = os.Remove(filepath.Join(dir, fmt.Sprint(made-i)))
	}
}

// TestR24FilesTooLarge: as for a full disk, with a limit that needs no rights.
func TestR24FilesTooLarge(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	out := filepath.Join(parent, "out")
	require.Equal(t, cli.ExitDone, finish(t, renderHarvest(t, harvest, out)).code)
	before := everything(t, parent)
	for _, dir := range []string{out, filepath.Join(parent, "new", "out")} {
		cmd := renderHarvest(t, harvestWithOtherValues(t), dir)
		inShell("ulimit -f 1")(cmd)
		got := finish(t, cmd)
		assertNoCrash(t, got, dir)
		assert.Contains(t, got.stderr, "file too large")
		assertUntouched(t, out, before, dir)
	}
}

// TestR24StdoutFull: a result that could not be printed is no success.
func TestR24StdoutFull(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	for _, args := range [][]string{
		{"render", "--dry-run"},
		{"render", "--dry-run", "-o", results.JSON},
		{"render", "--dry-run", "-o", results.YAML},
		{"doctor"},
		{"explain", "target", "app-1-web"},
		{"explain", "no-value"},
		{"version"},
		{"completion", "bash"},
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		all := args
		if compiles := !slices.Contains([]string{"no-value", "version", "bash"}, args[len(args)-1]); compiles {
			all = acmeArgs(root, nil, args...)
		}
		cmd := ourProgram(t, all)
		cmd.Stdout = full
		got := finish(t, cmd)
		require.NoError(t, full.Close())
		assert.Equal(t, cli.ExitModel, got.code)
		assert.Contains(t, got.stderr, "write /dev/stdout: no space left on device")
	}
}

// asNobody runs a command as a user without rights, and gives that user what the test made. The
// program itself is copied, as its directory is closed to others.
func asNobody(t *testing.T) func(*exec.Cmd) {
	t.Helper()
	const nobody = 65534
	if os.Geteuid() != 0 {
		return asItIs
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // of all directories of this test
	self, err := os.Executable()
	require.NoError(t, err)
	copied := filepath.Join(dir, "kalypso")
	// By another process: one that starts here meanwhile would hold the file open for writing, which cannot be run.
	require.NoError(t, exec.Command("cp", self, copied).Run())
	require.NoError(t, os.Chmod(copied, 0o755))
	return func(cmd *exec.Cmd) {
		cmd.Path = copied
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}

// TestR24NoPermission: a place that may not be written.
func TestR24NoPermission(t *testing.T) {
	t.Parallel()
	unprivileged := asNobody(t)
	for name, tc := range map[string]struct {
		closed []string
		out    string
	}{
		"a new directory in a closed one":        {[]string{"."}, "new"},
		"new directories in a closed one":        {[]string{"."}, "new/out"},
		"a closed directory in a closed one":     {[]string{".", "out"}, "out"},
		"an open directory in a closed one":      {[]string{"."}, "out"},
		"a closed deployment target":             {[]string{"out/warehouse/pick-by-light-bench"}, "out"},
		"a closed directory of the last of them": {[]string{"out/warehouse/replenishment-integration"}, "out"},
	} {
		parent := t.TempDir()
		require.NoError(t, os.CopyFS(filepath.Join(parent, "out"), os.DirFS(filepath.Join(harvest, "want", "dev"))))
		giveAway(t, parent)
		for _, dir := range tc.closed {
			require.NoError(t, os.Chmod(filepath.Join(parent, dir), 0o555))
		}
		t.Cleanup(func() { // or it could not be removed
			for _, dir := range tc.closed {
				assert.NoError(t, os.Chmod(filepath.Join(parent, dir), 0o755))
			}
		})
		before := everything(t, parent)
		cmd := renderHarvest(t, harvestWithOtherValues(t), filepath.Join(parent, tc.out))
		unprivileged(cmd)
		got := finish(t, cmd)
		if name == "an open directory in a closed one" { // is written from within
			assert.Equal(t, cli.ExitDone, got.code, got.stderr)
			assert.Len(t, everything(t, parent), len(before), "nothing is left beside it")
			config := filepath.Join(parent, "out", "warehouse", "observability-beacon", "platform-config.yaml")
			content, err := os.ReadFile(config)
			require.NoError(t, err)
			assert.Contains(t, string(content), "LOG_LEVEL: info")
			continue
		}
		assertNoCrash(t, got, name)
		assert.Contains(t, got.stderr, "permission denied", name)
		assertUntouched(t, filepath.Join(parent, "out"), before, name)
	}
}

// giveAway makes the user without rights the owner of all that is in a directory.
func giveAway(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Lchown(path, 65534, 65534)
	}))
}

// TestR24UnreadableSource: a file or directory of the fleet that may not be read is not left out.
func TestR24UnreadableSource(t *testing.T) {
	t.Parallel()
	unprivileged := asNobody(t)
	for _, closed := range []string{
		"control-plane/dev/configs/dev.yaml", "control-plane/dev/configs", "control-plane/dev", "control-plane/main/.sourceignore",
		"supply-chain/workload", "supply-chain", "storefront/platform.yaml",
	} {
		dir := copyOfHarvest(t, asTheyAre, unchanged)
		path := filepath.Join(dir, "in", closed)
		require.NoError(t, os.Chmod(path, 0))
		t.Cleanup(func() { assert.NoError(t, os.Chmod(path, 0o755)) })
		out := filepath.Join(t.TempDir(), "out")
		giveAway(t, filepath.Dir(out))
		cmd := renderHarvest(t, dir, out)
		unprivileged(cmd)
		got := finish(t, cmd)
		assert.NotEqual(t, cli.ExitDone, got.code, closed)
		assert.Contains(t, got.stderr, "permission denied", closed)
		assert.NoDirExists(t, out)
	}
}

// TestR24TemporaryFolder: there is none, and none is needed.
func TestR24TemporaryFolder(t *testing.T) {
	t.Parallel()
	want := readTree(t, filepath.Join(harvest, "want", "dev"))
	empty := t.TempDir()
	require.NoError(t, os.Chmod(empty, 0o555))
	for _, dir := range []string{"/nowhere", "/dev/null", "/proc", empty} {
		assertSameFiles(t, want, rendered(t, harvest, withEnv("TMPDIR="+dir)), dir)
	}
	assert.Equal(t, map[string]string{".": "a directory"}, everything(t, empty))
}

// TestR24FileDescriptors: with however few, a run does everything or nothing.
func TestR24FileDescriptors(t *testing.T) {
	t.Parallel()
	want := readTree(t, filepath.Join(harvest, "want", "dev"))
	complete, failed := 0, 0
	for _, descriptors := range []int{8, 9, 10, 11, 12, 14, 16, 20, 24, 32, 256} {
		out := filepath.Join(t.TempDir(), "out")
		cmd := renderHarvest(t, harvest, out)
		inShell(fmt.Sprintf("ulimit -n %d", descriptors))(cmd)
		got := finish(t, cmd)
		if got.code == cli.ExitDone {
			complete++
			assertSameFiles(t, want, readTree(t, out), descriptors)
			continue
		}
		failed++
		assert.NotContains(t, got.stderr, "goroutine ", descriptors)
		assert.Contains(t, got.stderr, "too many open files", descriptors)
		assert.NoDirExists(t, out, descriptors)
		assert.Len(t, everything(t, filepath.Dir(out)), 1, descriptors)
	}
	assert.Positive(t, complete)
	assert.Positive(t, failed)
}

// TestR24LooseObjects: a clone whose objects are files of their own needs no descriptor for each of
// them.
func TestR24LooseObjects(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	clone := filepath.Join(t.TempDir(), "app-1")
	require.NoError(t, gitopstest.Clone(filepath.Join(root, "app-1.git"), clone))
	for i := range 200 {
		name := filepath.Join(clone, fmt.Sprintf("extra-%d.yaml", i))
		require.NoError(t, os.WriteFile(name, fmt.Appendf(nil, "number: %d\n", i), 0o644))
	}
	for _, args := range [][]string{{"add", "."}, {"commit", "--quiet", "-m", "more"}} {
		_, err := gitopstest.Git(clone, args...)
		require.NoError(t, err)
	}
	cmd := ourProgram(t, acmeArgs(root, map[string]string{"app-1": clone}, "validate"))
	inShell("ulimit -n 64")(cmd)
	got := finish(t, cmd)
	assert.Equal(t, cli.ExitDone, got.code, got.stderr)
}
