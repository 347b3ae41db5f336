// Package about says what this program is: its version, the schemas of its files, its manual.
package about

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
)

// NewVersion returns kalypso version.
func NewVersion(e *cli.Host) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and what it was built from",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if format == results.Text {
				return printBuild(e.Stdout, e.Build)
			}
			return results.Print(e.Stdout, format, e.Build)
		},
	}
	cli.AddOutputFlag(cmd, &format)
	return cmd
}

// printBuild writes the build for people, one thing in a line; what is not known has none.
func printBuild(w io.Writer, b cli.Build) error {
	commit := b.Commit
	if b.Modified {
		commit += " and changes that are not committed"
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "kalypso %s\n", b.Version)
	for _, line := range [][2]string{{"commit", commit}, {"date", b.Date}, {"go", b.GoVersion}, {"platform", b.Platform}} {
		if line[1] != "" {
			fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
		}
	}
	return table.Flush()
}
