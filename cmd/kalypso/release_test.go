package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
)

// released is what .goreleaser.yaml says that others depend on.
type released struct {
	Signs []struct {
		Signature string `json:"signature"`
	} `json:"signs"`
	Images []struct {
		Dockerfile string   `json:"dockerfile"`
		Images     []string `json:"images"`
	} `json:"dockers_v2"`
	Casks []struct {
		Repository struct {
			Owner string `json:"owner"`
			Name  string `json:"name"`
		} `json:"repository"`
		Pages []string `json:"manpages"`
	} `json:"homebrew_casks"`
}

func readReleased(t *testing.T) released {
	t.Helper()
	text, err := os.ReadFile("../../.goreleaser.yaml")
	require.NoError(t, err)
	var r released
	require.NoError(t, yaml.Unmarshal(text, &r))
	require.Len(t, r.Casks, 1)
	require.Len(t, r.Images, 1)
	require.Len(t, r.Signs, 1)
	return r
}

// TestInstallDoc keeps the names in docs/how-to/install.md and CONTRIBUTING.md those that are published.
func TestInstallDoc(t *testing.T) {
	t.Parallel()
	text := readDoc(t, "how-to/install.md")
	r := readReleased(t)
	for _, name := range []string{
		strings.Replace(r.Signs[0].Signature, "${artifact}", "checksums.txt", 1) + " \\\n",
		"docker run --rm --volume \"$PWD:/fleet\" --workdir /fleet " + r.Images[0].Images[0] + ":v",
		"oci://" + r.Images[0].Images[0] + ":v",
		"brew install --cask " + r.Casks[0].Repository.Owner + "/" + strings.TrimPrefix(r.Casks[0].Repository.Name, "homebrew-") + "/kalypso",
	} {
		assert.Contains(t, text, name)
	}
	contributing, err := os.ReadFile("../../CONTRIBUTING.md")
	require.NoError(t, err)
	assert.Contains(t, string(contributing), r.Casks[0].Repository.Owner+"/"+r.Casks[0].Repository.Name)
	for _, file := range []string{r.Images[0].Dockerfile, ".github/workflows/release.yaml", "tools/release/go.mod"} {
		assert.FileExists(t, filepath.Join("../..", file))
	}
}

// TestCaskHasEveryPage keeps the manual pages that Homebrew installs, which .goreleaser.yaml has to list, those that there
// are.
func TestCaskHasEveryPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.Zero(t, run(t.Context(), []string{"man", dir}, cli.System()))
	written, err := os.ReadDir(dir)
	require.NoError(t, err)
	var pages []string
	for _, page := range written {
		pages = append(pages, "man/man1/"+filepath.Base(page.Name()))
	}
	assert.ElementsMatch(t, pages, readReleased(t).Casks[0].Pages)
}
