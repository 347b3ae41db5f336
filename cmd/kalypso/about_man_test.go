package main_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/about"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

func TestManualIsDatedWithTheCommit(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	e := &cli.Host{IO: term.IO{Now: func() time.Time { return now }}, Build: cli.Build{Version: "v1.2.3", Date: "2026-11-20T08:00:00Z"}}
	manual := func() string {
		dir := t.TempDir()
		root := &cobra.Command{Use: "kalypso"}
		root.AddCommand(about.NewMan(e))
		root.SetArgs([]string{"man", dir})
		require.NoError(t, root.Execute())
		page, err := os.ReadFile(filepath.Join(dir, "kalypso.1"))
		require.NoError(t, err)
		return string(page)
	}
	assert.Contains(t, manual(), `.TH "KALYPSO" "1" "Nov 2026" "kalypso v1.2.3" "Kalypso"`)
	e.Build = cli.Build{}
	assert.Contains(t, manual(), `.TH "KALYPSO" "1" "Jan 2027" `, "without a commit it is of today")
}
