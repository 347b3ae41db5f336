package main

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

var flagInHelp = regexp.MustCompile(`(?m)^ +(?:-\w, +)?--[a-z-]+`)

// TestHelpShowsFewFlags keeps the help of each command short, and that of help all-flags complete.
func TestHelpShowsFewFlags(t *testing.T) {
	t.Parallel()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		var help, all bytes.Buffer
		cli.WriteUsage(&help, cmd, false)
		cli.WriteUsage(&all, cmd, true)
		assert.LessOrEqual(t, len(flagInHelp.FindAllString(help.String(), -1)), 15, "%s --help", cmd.CommandPath())
		_, global, _ := bytes.Cut(all.Bytes(), []byte("Global flags:"))
		for _, flag := range flagInHelp.FindAllString(string(global), -1) {
			assert.Regexp(t, `--(help|version|timeout|no-descriptions|directory|quiet|verbose)$`, flag, "%s: call cli.Group", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	root := newRoot(&cli.Host{IO: term.IO{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}})
	root.InitDefaultCompletionCmd()
	check(root)
	require.True(t, root.HasSubCommands())
}
