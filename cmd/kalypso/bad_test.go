package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// badFleets holds an archive for each way in which a fleet can be wrong. The file "want" in it is
// what kalypso says, followed by its exit code.
const badFleets = "../../testdata/bad"

func TestBadFleets(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob(filepath.Join(badFleets, "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, archives)
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			require.NoError(t, err)
			got := tryBadFleet(t, archive)
			if *update {
				setFile(archive, "want", got)
				require.NoError(t, os.WriteFile(name, txtar.Format(archive), 0o644))
				return
			}
			want, ok := findFile(archive, "want")
			require.True(t, ok, "the archive has no file want: make golden writes it")
			assert.Equal(t, want, got)
		})
	}
}

// tryBadFleet compiles the fleet of an archive and returns what was said.
func tryBadFleet(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range archive.Files {
		path := filepath.Join(dir, filepath.FromSlash(file.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, file.Data, 0o644))
	}
	args := []string{"validate", "--control-plane", filepath.Join(dir, "control-plane"), "--replace", "https://github.com/acme/*=" + dir + "/*"}
	if more, ok := findFile(archive, "args"); ok {
		args = append(args, strings.Fields(more)...)
	} else {
		args = append(args, "--env", "dev")
	}
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &cli.Host{IO: term.IO{Stdout: &stdout, Stderr: &stderr, Env: func(string) string { return "" }, WorkingDir: os.Getwd}})
	var said strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(stderr.String(), dir, "$WORK")) {
		if !strings.Contains(line, "[unchecked-commit]") { // true of every plain directory
			said.WriteString(line)
		}
	}
	return fmt.Sprintf("%sexit code %d\n", said.String(), code)
}

func findFile(archive *txtar.Archive, name string) (string, bool) {
	for _, file := range archive.Files {
		if file.Name == name {
			return string(file.Data), true
		}
	}
	return "", false
}

func setFile(archive *txtar.Archive, name, content string) {
	for i, file := range archive.Files {
		if file.Name == name {
			archive.Files[i].Data = []byte(content)
			return
		}
	}
	archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(content)})
}
