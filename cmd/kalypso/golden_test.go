package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// goldenFleets are fleets that compile, with the tree that comes out in want/<environment>.
var goldenFleets = []struct {
	dir          string
	environments []string
}{
	{"../../testdata/fleets/harvest", []string{"dev", "stage", "prod"}},
	{"../../testdata/seeds", []string{"dev"}},
}

func TestGoldenFleets(t *testing.T) {
	t.Parallel()
	for _, fleet := range goldenFleets {
		for _, environment := range fleet.environments {
			t.Run(filepath.Base(fleet.dir)+"/"+environment, func(t *testing.T) {
				t.Parallel()
				want := filepath.Join(fleet.dir, "want", environment)
				out := filepath.Join(t.TempDir(), "out")
				renderFleet(t, fleet.dir, environment, out)
				if *update {
					require.NoError(t, os.RemoveAll(want))
					require.NoError(t, os.CopyFS(want, os.DirFS(out)))
				}
				assertSameTree(t, want, out)
				assertObjects(t, out)
			})
		}
	}
}

// renderFleet renders an environment of a fleet to a directory.
func renderFleet(t *testing.T, dir, environment, out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args := append([]string{"render", "--env", environment, "--output-dir", out}, fleetArgs(t, dir)...)
	code := run(t.Context(), args, &cli.Host{IO: term.IO{Stdout: &stdout, Stderr: &stderr, Env: func(string) string { return "" }, WorkingDir: os.Getwd}})
	require.Equal(t, cli.ExitDone, code, stderr.String())
}

// fleetArgs are the arguments that read a sample fleet from its directories.
func fleetArgs(t *testing.T, dir string) []string {
	t.Helper()
	args := []string{"--control-plane", filepath.Join(dir, "in", "control-plane")}
	replace, err := os.ReadFile(filepath.Join(dir, "in", "replace.txt"))
	require.NoError(t, err)
	for line := range strings.Lines(string(replace)) {
		repo, directory, found := strings.Cut(strings.TrimSpace(line), "=")
		require.True(t, found, line)
		args = append(args, "--replace", repo+"="+filepath.Join(dir, "in", directory))
	}
	return args
}

// readTree returns the files of a directory by path.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(content)
		return err
	}))
	return files
}

func assertSameTree(t *testing.T, want, got string) {
	t.Helper()
	wanted, found := readTree(t, want), readTree(t, got)
	require.NotEmpty(t, wanted)
	for path, content := range wanted {
		assert.Equal(t, content, found[path], path)
	}
	for path := range found {
		assert.Contains(t, wanted, path)
	}
}

// assertObjects reads every document as Kubernetes' own library does, strictly.
func assertObjects(t *testing.T, dir string) {
	t.Helper()
	for path, content := range readTree(t, dir) {
		if filepath.Ext(path) != ".yaml" {
			continue
		}
		for document := range strings.SplitSeq("\n"+content, "\n---\n") {
			var object any
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), &object), path)
			if object, ok := object.(map[string]any); ok && object["apiVersion"] != nil {
				assert.NotEmpty(t, object["kind"], path)
				metadata, _ := object["metadata"].(map[string]any)
				assert.NotEmpty(t, metadata["name"], path)
			}
		}
	}
}
