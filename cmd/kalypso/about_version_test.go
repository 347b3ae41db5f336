package main_test

import (
	"bytes"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/about"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

func TestBuildOf(t *testing.T) {
	t.Parallel()
	const commit = "4c1f9e2b7a0d3c5e8f6a1b2c3d4e5f6071829304"
	platform := []debug.BuildSetting{{Key: "GOARCH", Value: "arm64"}, {Key: "GOOS", Value: "linux"}}
	stamped := append([]debug.BuildSetting{
		{Key: "vcs", Value: "git"},
		{Key: "vcs.revision", Value: commit},
		{Key: "vcs.time", Value: "2026-11-20T08:00:00Z"},
		{Key: "vcs.modified", Value: "false"},
	}, platform...)
	modified := append([]debug.BuildSetting{
		{Key: "vcs.revision", Value: commit}, {Key: "vcs.time", Value: "2026-11-20T08:00:00Z"}, {Key: "vcs.modified", Value: "true"},
	}, platform...)
	const rest = "date      2026-11-20T08:00:00Z\ngo        go1.26.8\nplatform  linux/arm64\n"
	for name, test := range map[string]struct {
		version  string
		settings []debug.BuildSetting
		want     cli.Build
		text     string
	}{
		"a release": {
			"v1.2.3", stamped,
			cli.Build{Version: "v1.2.3", Commit: commit, Date: "2026-11-20T08:00:00Z", GoVersion: "go1.26.8", Platform: "linux/arm64"},
			"kalypso v1.2.3\ncommit    " + commit + "\n" + rest,
		},
		"changes": {
			"v1.2.4-0.20261120080000-4c1f9e2b7a0d+dirty", modified,
			cli.Build{
				Version: "v1.2.4-0.20261120080000-4c1f9e2b7a0d+dirty", Commit: commit, Date: "2026-11-20T08:00:00Z", Modified: true,
				GoVersion: "go1.26.8", Platform: "linux/arm64",
			},
			"kalypso v1.2.4-0.20261120080000-4c1f9e2b7a0d+dirty\ncommit    " + commit + " and uncommitted changes\n" + rest,
		},
		"go install": { // from the module proxy, which has no commits
			"v1.2.3", platform,
			cli.Build{Version: "v1.2.3", GoVersion: "go1.26.8", Platform: "linux/arm64"},
			"kalypso v1.2.3\ngo        go1.26.8\nplatform  linux/arm64\n",
		},
		"no version": {
			"(devel)", stamped,
			cli.Build{
				Version: "devel-" + commit, Commit: commit, Date: "2026-11-20T08:00:00Z", GoVersion: "go1.26.8", Platform: "linux/arm64",
			},
			"kalypso devel-" + commit + "\ncommit    " + commit + "\n" + rest,
		},
		"nothing but Go": {
			"", platform,
			cli.Build{Version: "devel", GoVersion: "go1.26.8", Platform: "linux/arm64"},
			"kalypso devel\ngo        go1.26.8\nplatform  linux/arm64\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := cli.BuildOf(&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: test.version}, Settings: test.settings})
			assert.Equal(t, test.want, got)
			var text bytes.Buffer
			version := about.NewVersion(&cli.Host{IO: term.IO{Stdout: &text}, Build: got})
			version.SetArgs([]string{})
			require.NoError(t, version.Execute())
			assert.Equal(t, test.text, text.String())
		})
	}
	assert.Equal(t, cli.Build{Version: "unknown"}, cli.BuildOf(nil))
}
