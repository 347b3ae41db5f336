// Package about says what this program is: its version, the schemas of its files, its manual.
package about

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// NewVersion returns kalypso version.
func NewVersion(e *cli.Host) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version and build information",
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
		commit += " and uncommitted changes"
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

// NewSchema returns kalypso schema.
func NewSchema(e *cli.Host) *cobra.Command {
	format := results.JSON
	cmd := &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of one kind or of all kinds",
		Long: `Print the JSON Schema of one kind, or one schema for all kinds, for editors with YAML support and
other tools. The kinds are ` + strings.Join(model.Kinds(), ", ") + `.`,
		Example: `  kalypso schema >.kalypso.schema.json
  kalypso schema ClusterType`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: model.Kinds(),
		RunE: func(_ *cobra.Command, args []string) error {
			schema := model.AnySchema()
			if len(args) > 0 {
				if schema = model.Schema(kindNamed(args[0])); schema == nil {
					return cli.Usage("there is no kind %q (%s)", args[0], diag.DidYouMean(args[0], model.Kinds()))
				}
			}
			if format == results.Text {
				return cli.Usage("--output %s: write json or yaml", format)
			}
			if err := results.Print(e.Stdout, format, schema); err != nil {
				return cli.Failure("write the schema: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", results.JSON, "`format`: json or yaml")
	cli.Group(cmd.Flags(), cli.Output, "output", "")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{results.JSON, results.YAML}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// kindNamed returns the kind that somebody means who does not care about upper and lower case, as kubectl does not.
func kindNamed(name string) string {
	i := slices.IndexFunc(model.Kinds(), func(kind string) bool { return strings.EqualFold(kind, name) })
	if i < 0 {
		return name
	}
	return model.Kinds()[i]
}

// NewMan makes a command that packagers need, and therefore hidden: it writes a manual page for every command.
func NewMan(e *cli.Host) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Generate manual pages",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true
			err := os.MkdirAll(args[0], 0o755)
			if err == nil {
				err = doc.GenManTree(root, manHeader(e), args[0])
			}
			if err != nil {
				return cli.Failure("write the manual pages: %w", err)
			}
			return nil
		},
	}
}

// manHeader dates the pages with the commit, so that a build of the same commit writes the same.
func manHeader(e *cli.Host) *doc.GenManHeader {
	date, err := time.Parse(time.RFC3339, e.Build.Date)
	if err != nil { // built without a repository
		date = e.Now()
	}
	return &doc.GenManHeader{Section: "1", Source: fmt.Sprint("kalypso ", e.Build.Version), Manual: "Kalypso", Date: &date}
}
