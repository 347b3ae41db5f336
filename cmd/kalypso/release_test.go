package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestCaskHasEveryPage keeps the manual pages that Homebrew installs, which .goreleaser.yaml has to list, those that there
// are.
func TestCaskHasEveryPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../.goreleaser.yaml")
	require.NoError(t, err)
	var config struct {
		Casks []struct {
			Pages []string `json:"manpages"`
		} `json:"homebrew_casks"`
	}
	require.NoError(t, yaml.Unmarshal(text, &config))
	require.Len(t, config.Casks, 1)

	dir := t.TempDir()
	require.Zero(t, run(t.Context(), []string{"man", dir}, system()))
	written, err := os.ReadDir(dir)
	require.NoError(t, err)
	var pages []string
	for _, page := range written {
		pages = append(pages, "man/man1/"+filepath.Base(page.Name()))
	}
	assert.ElementsMatch(t, pages, config.Casks[0].Pages)
}
