package main_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/model/fleettest"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// small is no size of the table: the smallest that has everything.
func small() fleettest.Size {
	return fleettest.Size{ClusterTypes: 12, Repositories: 4, Workloads: 10, Pairs: 3}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	want := map[string]int{"1k": 1_008, "10k": 10_032, "100k": 100_110, "112500": 112_500}
	got := map[string]int{}
	for _, size := range fleettest.Sizes() {
		got[size.Name] = size.Assignments()
		assert.Zero(t, size.ClusterTypes%4, size.Name)
	}
	assert.Equal(t, want, got)
}

func TestNamed(t *testing.T) {
	t.Parallel()
	size, err := fleettest.Named("112500")
	require.NoError(t, err)
	assert.Equal(t, 300, size.ClusterTypes)
	_, err = fleettest.Named("2k")
	require.EqualError(t, err, `there is no size "2k" (1k, 10k, 100k, 112500)`)
}

func TestLargest(t *testing.T) {
	t.Parallel()
	size, err := fleettest.Named("112500")
	require.NoError(t, err)
	fleet, files := load(t, size)
	assert.Len(t, fleet.ClusterTypes, 300)
	assert.Len(t, fleet.Targets, 1500)
	assert.Len(t, fleet.ConfigMaps, 1000)
	assert.Len(t, fleet.Registrations, 25)
	assert.InDelta(t, 3000, files, 100)
	assignments, diags := schedule.Assign(fleet)
	assert.Len(t, assignments, 112_500)
	assert.Empty(t, problems(diags))
	assertQuarters(t, assignments, size)
}

func TestGenerateIsRepeatable(t *testing.T) {
	t.Parallel()
	for _, size := range []fleettest.Size{small(), fleettest.Sizes()[1]} {
		once, again := fleettest.Generate(size), fleettest.Generate(size)
		assert.Equal(t, once, again, size.Name)
	}
}

func TestCompilesCleanly(t *testing.T) {
	t.Parallel()
	for _, size := range []fleettest.Size{small(), fleettest.Sizes()[0]} {
		fleet, _ := load(t, size)
		assignments, diags := schedule.Assign(fleet)
		assert.Len(t, assignments, size.Assignments())
		assertQuarters(t, assignments, size)
		tree, more := render.Render(fleet, assignments, render.Options{})
		diags.Add(more)
		assert.Empty(t, problems(diags))
		assert.InEpsilon(t, 7500, bytes(t, tree)/len(assignments), 0.05, "bytes of each assignment")
	}
}

// assertQuarters makes sure that each target is on exactly a quarter of the cluster types.
func assertQuarters(t *testing.T, assignments []schedule.Assignment, size fleettest.Size) {
	t.Helper()
	byTarget := map[string]int{}
	for _, a := range assignments {
		byTarget[a.Target.Name.Value]++
	}
	assert.Len(t, byTarget, 3*size.Workloads)
	for target, n := range byTarget {
		assert.Equal(t, size.ClusterTypes/4, n, target)
	}
}

func TestUnusedAddsNothing(t *testing.T) {
	t.Parallel()
	plain, more := small(), small()
	more.Unused = 20
	want, got := fleettest.Generate(plain), fleettest.Generate(more)
	assert.Len(t, got.Dev, len(want.Dev)+40)
	for name, file := range want.Dev {
		assert.Equal(t, string(file.Data), string(got.Dev[name].Data), name)
	}
	assert.Equal(t, want.Main, got.Main)
	assert.Equal(t, want.Apps, got.Apps)
	assert.Equal(t, compile(t, plain), compile(t, more))
}

func TestFolders(t *testing.T) {
	t.Parallel()
	fleet := fleettest.Generate(small())
	folders := fleet.Directories()
	for folder, files := range map[string]fs.FS{
		"control-plane/main": fleet.Main, "control-plane/dev": fleet.Dev, "cart-apps-00/main": fleet.Apps["cart-apps-00"],
	} {
		sub, err := fs.Sub(folders, folder)
		require.NoError(t, err)
		assert.Equal(t, read(t, files), read(t, sub), folder)
	}
}

// load returns the fleet and the number of its files.
func load(t *testing.T, size fleettest.Size) (*model.Fleet, int) {
	t.Helper()
	generated := fleettest.Generate(size)
	fleet, diags := generated.Load()
	require.Empty(t, problems(diags))
	return fleet, len(read(t, generated.Directories()))
}

// compile returns the output, and fails if there is an error.
func compile(t *testing.T, size fleettest.Size) map[string]string {
	t.Helper()
	fleet, _ := load(t, size)
	assignments, diags := schedule.Assign(fleet)
	tree, more := render.Render(fleet, assignments, render.Options{})
	diags.Add(more)
	require.False(t, diags.HasErrors())
	files := map[string]string{}
	for _, file := range tree.Files {
		content, _ := tree.ReadFile(file.Path)
		files[file.Path] = string(content)
	}
	return files
}

func bytes(t *testing.T, tree *render.Tree) int {
	t.Helper()
	total := 0
	for _, file := range tree.Files {
		content, found := tree.ReadFile(file.Path)
		require.True(t, found, file.Path)
		total += len(content)
	}
	return total
}

func read(t *testing.T, files fs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		all[name] = string(content)
		return err
	}))
	return all
}

// problems returns the warnings and errors as people read them.
func problems(diags diag.List) []string {
	var lines []string
	for _, d := range diags.Sorted() {
		if d.Severity > diag.Notice {
			lines = append(lines, diag.Format(d, diag.Style{}))
		}
	}
	return lines
}
