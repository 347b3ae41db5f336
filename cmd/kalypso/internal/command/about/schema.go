package about

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// NewSchema returns kalypso schema.
func NewSchema(e *cli.Host) *cobra.Command {
	format := results.JSON
	cmd := &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of a kind, or of all of them, for editors",
		Long: `Print the JSON Schema of a kind, or one that knows all kinds, for the YAML support of editors and
for other tools. The kinds are ` + strings.Join(model.Kinds(), ", ") + `.`,
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
