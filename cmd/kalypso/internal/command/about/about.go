// Package about says what this program is: its version, the schemas of its files, its manual.
package about

import (
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
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
		Args:  cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if format == results.Text {
				return printBuild(e.Stdout, e.Build)
			}
			return results.Print(e.Stdout, format, e.Build)
		},
	}
	cli.AddOutputFlag(cmd, e, &format)
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

// NewSchema returns kalypso schema. outputs are the types of what commands print with -o json.
func NewSchema(e *cli.Host, outputs map[string]reflect.Type) *cobra.Command {
	format, kinds := results.JSON, ""
	for some := range slices.Chunk(model.Kinds(), 5) {
		kinds += "\n  " + strings.Join(some, ", ") + ","
	}
	cmd := &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of one kind or of all kinds",
		Long: `Print the JSON Schema of one kind, or one schema for all kinds, for editors with YAML support and
other tools. The kinds are:` + strings.TrimSuffix(kinds, ","),
		Example: `  kalypso schema >.kalypso.schema.json
  kalypso schema ClusterType`,
		Args:      cli.Args(1),
		ValidArgs: model.Kinds(),
		RunE: func(_ *cobra.Command, args []string) error {
			if outputs[format] != nil { // schema --output COMMAND
				return printOutputSchema(e, outputs, []string{format})
			}
			schema := model.AnySchema()
			if len(args) > 0 {
				if schema = model.Schema(kindNamed(args[0])); schema == nil {
					return cli.UsageHint(diag.DidYouMean(args[0], model.Kinds()), "kind %q not found", args[0])
				}
			}
			if format != results.JSON && format != results.YAML {
				return cli.InvalidValue("output", format, "json, yaml or a command with JSON output")
			}
			if err := results.Print(e.Stdout, format, schema); err != nil {
				return cli.Failure("write the schema: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", results.JSON, "`format`: json or yaml")
	cli.Group(cmd.Flags(), cli.Output, "output", "")
	e.CompleteFlag(cmd, "output", results.JSON, results.YAML)
	cmd.AddCommand(&cobra.Command{
		Use:       "output [COMMAND]",
		Short:     "Print the JSON Schema of the -o json output of one command or of all commands",
		Example:   "  kalypso schema output render\n  kalypso schema output explain target",
		ValidArgs: slices.Sorted(maps.Keys(outputs)),
		RunE: func(_ *cobra.Command, args []string) error {
			return printOutputSchema(e, outputs, args)
		},
	})
	return cmd
}

// printOutputSchema prints the schema of the output of a command, whose name may be several arguments; without one, a
// schema that has those of all commands in its definitions.
func printOutputSchema(e *cli.Host, outputs map[string]reflect.Type, args []string) error {
	names := slices.Sorted(maps.Keys(outputs))
	schema := map[string]any{}
	if name := strings.Join(args, " "); name != "" {
		if outputs[name] == nil {
			return cli.UsageHint(diag.DidYouMean(name, names), "command %q with JSON output not found", name)
		}
		schema = results.Schema(outputs[name])
		schema["title"] = "kalypso " + name
	} else {
		definitions := map[string]any{}
		for _, name := range names {
			definitions[name] = results.Schema(outputs[name])
		}
		schema["title"], schema["definitions"] = "kalypso", definitions
	}
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	if err := results.Print(e.Stdout, results.JSON, schema); err != nil {
		return cli.Failure("write the schema: %w", err)
	}
	return nil
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
		Args:   cli.Args(1, "DIR"),
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
