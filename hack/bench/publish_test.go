package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/model/fleettest"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// collected returns all files by path.
func collected(t *testing.T, f files) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, f(func(path, content string) error {
		require.NotContains(t, all, path)
		all[path] = content
		return nil
	}))
	return all
}

func TestSyntheticFiles(t *testing.T) {
	t.Parallel()
	size := fleettest.Sizes()[0]
	f := synthetic(size)
	all := collected(t, f)
	assert.Len(t, all, size.ClusterTypes+3*size.Assignments())
	total, different := 0, map[string]bool{}
	for path, content := range all {
		if filepath.Base(path) != render.ReadmeFile {
			total += len(content)
			different[content] = true
		}
	}
	assert.Len(t, different, 3*size.Assignments())
	assert.InDelta(t, 590, total/len(different), 30)

	chosen, err := f.changing()
	require.NoError(t, err)
	assert.Len(t, chosen, changes)
	assert.Len(t, collected(t, f.only(chosen)), changes)
	old := collected(t, f.older(chosen))
	for path, content := range all {
		assert.Equal(t, chosen[path], content != old[path], path)
	}
	_, err = files(none).changing()
	require.ErrorContains(t, err, "too few")
}

func TestRenderedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "b", "c"), []byte("text"), 0o600))
	assert.Equal(t, map[string]string{"a/b/c": "text"}, collected(t, rendered(dir)))
	require.ErrorIs(t, rendered(filepath.Join(dir, "none"))(func(_, _ string) error { return nil }), os.ErrNotExist)
}

func TestParseChild(t *testing.T) {
	t.Parallel()
	c, err := parseChild([]string{"-way", childChange, "-size", "1k", "-control-plane", "cp", "-url", "u"})
	require.NoError(t, err)
	assert.Equal(t, child{way: childChange, size: fleettest.Sizes()[0], controlPlane: "cp", url: "u"}, c)
	_, err = parseChild([]string{"-way", childTree, "-size", "2k"})
	require.ErrorContains(t, err, `there is no size "2k"`)
	_, err = parse([]string{"-rounds", "0"}, io.Discard)
	require.EqualError(t, err, "-rounds 0: at least one is needed")
	_, err = parse([]string{"-only", "x"}, io.Discard)
	require.EqualError(t, err, `-only "x": there are synthetic and fleet`)
}

func TestServe(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, serve(t.TempDir(), strings.NewReader(""), &out))
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+\n$`, out.String())
}

// Each is compared with what is fastest of git.
func TestPublishRows(t *testing.T) {
	t.Parallel()
	costs := func(seconds time.Duration) []cost { return []cost{{wall: seconds * time.Second}} }
	s := &scene{name: "synthetic, 10 changes", tasks: []*task{
		{name: ofGit + "slow", costs: costs(4)}, {name: ofGit + "fast", costs: costs(2)}, {name: renderPublishTask, costs: costs(1)},
	}}
	var got []string
	for _, r := range publishRows(fleettest.Sizes()[0], s) {
		got = append(got, r.fleet+": "+r.task+": "+r.compared)
	}
	assert.Equal(t, []string{
		"1k synthetic, 10 changes: git: slow: 2.00 × git", "1k synthetic, 10 changes: git: fast: 1.00 × git",
		"1k synthetic, 10 changes: kalypso render: 0.50 × git",
	}, got)
}

func TestKnownChange(t *testing.T) {
	t.Parallel()
	p := &publisher{}
	all := synthetic(fleettest.Sizes()[0])
	chosen, err := all.changing()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, p.writeChanges(&scene{files: all.only(chosen)}, dir))
	tree, change, err := child{scene: dir}.known()
	require.NoError(t, err)
	assert.Greater(t, len(tree.Files), 2*changes)
	wanted := collected(t, all)
	require.Len(t, change.Files, changes)
	for _, file := range change.Files {
		assert.Equal(t, wanted[file.Path], file.New.String())
		assert.Equal(t, before(wanted[file.Path]), string(file.Old))
	}
	_, _, err = child{scene: t.TempDir()}.known()
	require.ErrorIs(t, err, os.ErrNotExist)
}
