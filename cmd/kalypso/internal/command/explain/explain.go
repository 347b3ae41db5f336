// Package explain is kalypso explain: why a target is or is not scheduled on a cluster type, and the source of config values.
package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// explainFlags are the flags of the commands below explain.
type explainFlags struct {
	session.Flags
	clusterType string
}

// New returns kalypso explain.
func New(e *cli.Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [RULE]",
		Short: "Explain a rule, a scheduling decision or a config value",
		Long: `Explain the rule of an error, warning or notice: what it means, an example and the fix. Messages end
with their rule in brackets.

The commands below explain why a deployment target is or is not scheduled on a cluster type, what
is scheduled on a cluster type, and where a config value comes from, with file and line. They read the
same model as kalypso render and change nothing.

By default, they search all environments; --env restricts them to some.`,
		Example: `  kalypso explain unknown-field
  kalypso explain target self-checkout-integration --env dev`,
		Args:      ruleArgs,
		ValidArgs: ruleNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return e.Page(describe(args[0]))
		},
	}
	cmd.AddCommand(newExplainTarget(e), newExplainClusterType(e), newExplainConfig(e))
	return cmd
}

// addReading adds the flags that select what is read.
func (f *explainFlags) addReading(cmd *cobra.Command, e *cli.Host) {
	f.Add(cmd, e)
	cmd.Flags().Lookup("env").Usage = "`environment` to search (repeatable; default: all)"
}

// addClusterType adds --cluster-type.
func (f *explainFlags) addClusterType(cmd *cobra.Command, e *cli.Host, usage string) {
	cmd.Flags().StringVar(&f.clusterType, "cluster-type", "", usage)
	cli.Group(cmd.Flags(), cli.Source, "cluster-type", "")
	e.CompleteFlagFunc(cmd, "cluster-type", func(cmd *cobra.Command) []string { return f.complete(cmd, e, clusterTypeNames) })
}

// inquiry is an environment to search.
type inquiry struct {
	name  string
	fleet *model.Fleet
	// explainer evaluates its policies.
	explainer *schedule.Explainer
}

func targetNames(fleet *model.Fleet) []string {
	names := make([]string, len(fleet.Targets))
	for i, t := range fleet.Targets {
		names[i] = t.Name.Value
	}
	return names
}

func clusterTypeNames(fleet *model.Fleet) []string {
	names := make([]string, len(fleet.ClusterTypes))
	for i, c := range fleet.ClusterTypes {
		names[i] = c.Name.Value
	}
	return names
}

// Answer is the answer for one environment, also in JSON.
type Answer interface {
	text(p term.Printer)
}

// notFoundError means that an environment has no object of a name.
type notFoundError struct {
	// kind and name are the object to explain, and others the existing names.
	kind, name string
	others     []string
	// environment is where it was searched.
	environment string
}

func (e *notFoundError) Error() string { return fmt.Sprintf("%s %q not found", e.kind, e.name) }

// explanation is a run of explain.
type explanation struct {
	*session.Session
	answers []Answer
}

// explain searches the environments and prints the answers.
func (f *explainFlags) explain(ctx context.Context, e *cli.Host, ask func(*inquiry) (Answer, error)) error {
	return session.Run(ctx, &f.Flags, e, true, func(ctx context.Context, s *session.Session) error {
		r := &explanation{Session: s}
		s.View = session.View{Text: r.text, Paged: true, Structured: func(diags diag.List) any { return results.NewReport(r.answers, diags) }}
		missing, err := r.ask(ctx, ask)
		switch {
		case ctx.Err() != nil:
			return s.Stopped(ctx)
		case err != nil:
			return err
		case len(r.answers) == 0 && len(missing) > 0:
			return r.notFound(missing)
		default:
			return s.Finish("")
		}
	})
}

// ask searches the environments one by one. missing are the errors of environments without the object.
func (r *explanation) ask(ctx context.Context, ask func(*inquiry) (Answer, error)) (missing []*notFoundError, err error) {
	for _, environment := range r.Environments {
		name := environment.Name.Value
		read := r.Line(ctx, environment, session.Stages{FleetOnly: true, Begin: r.Begin})
		r.addErrors(name, read.Diags)
		if read.Fleet == nil || ctx.Err() != nil {
			continue
		}
		answer, err := ask(&inquiry{name, read.Fleet, schedule.NewExplainer(read.Fleet)})
		var notFound *notFoundError
		switch {
		case errors.As(err, &notFound):
			notFound.environment = name
			missing = append(missing, notFound)
		case err != nil:
			return nil, err
		default:
			r.answers = append(r.answers, answer)
		}
	}
	return missing, nil
}

// addErrors adds errors, which may make an answer wrong. Warnings are for validate.
func (r *explanation) addErrors(environment string, diags diag.List) {
	for _, d := range diags.Only(diag.Error) {
		if len(r.Environments) > 1 && d.At.IsZero() {
			d.Message = environment + ": " + d.Message
		}
		r.Diags = append(r.Diags, d)
	}
}

// notFound ends a run that found no object of the name in any environment.
func (r *explanation) notFound(missing []*notFoundError) error {
	const target = "deployment target" // is looked up first: in an environment with the target, something else is missing
	if slices.ContainsFunc(missing, func(m *notFoundError) bool { return m.kind != target }) {
		missing = slices.DeleteFunc(missing, func(m *notFoundError) bool { return m.kind == target })
	}
	var others, environments []string
	for _, m := range missing {
		others, environments = append(others, m.others...), append(environments, m.environment)
	}
	slices.Sort(others)
	others = slices.Compact(others)
	message := fmt.Sprintf("%s in %s", missing[0].Error(), strings.Join(environments, ", "))
	hint := nearestOf(missing[0].name, others)
	if !r.Failed() {
		return cli.UsageHint(hint, "%s", message)
	}
	if hint != "" {
		hint += " "
	}
	r.Diags.Error("not-found", diag.Place{}, message, diag.Hint(hint+"it may be in a file that cannot be read; see the other errors"))
	return r.Finish("")
}

// nearestOf suggests other names: those with the name as prefix, such as the targets of a workload, or similar ones.
func nearestOf(name string, others []string) string {
	const few = 5
	var longer []string
	for _, other := range others {
		if strings.HasPrefix(other, name+"-") {
			longer = append(longer, other)
		}
	}
	if len(longer) == 0 || len(longer) > few || slices.Contains(others, name) {
		return diag.DidYouMean(name, others)
	}
	return "did you mean " + strings.Join(longer, " or ") + "?"
}

func (r *explanation) text() error {
	p := term.Printer{Writer: r.Stdout, Palette: r.OutPalette(r.Flags.Color)}
	for i, answer := range r.answers {
		if i > 0 {
			fmt.Fprintln(p)
		}
		answer.text(p)
	}
	return nil
}

// completionTime is the maximum duration of completion, because application repositories may be slow.
const completionTime = 3 * time.Second

// complete returns names from the environments of a control plane on this machine.
func (f *explainFlags) complete(cmd *cobra.Command, e *cli.Host, names func(*model.Fleet) []string) []string {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	loader, known, _, done := f.ReadLocal(cmd, e)
	defer done()
	chosen, err := f.Choose(e, known, true)
	if err != nil {
		return nil
	}
	var all []string
	for _, environment := range chosen {
		if fleet, _ := loader.Fleet(ctx, environment, session.EnvironmentNames(known)); fleet != nil {
			all = append(all, names(fleet)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// completing completes arguments, each with the names of its own.
func (f *explainFlags) completing(e *cli.Host, names ...func(*model.Fleet) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f.complete(cmd, e, names[len(args)]), cobra.ShellCompDirectiveNoFileComp
	}
}
