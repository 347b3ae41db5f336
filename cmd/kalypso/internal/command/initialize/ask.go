package initialize

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// field is a value that init needs.
type field struct {
	// question is the prompt; empty for a value that ask does not prompt for.
	flag, question string
	// value, or list for several values, is the value of the flag; empty if not set.
	value *string
	list  *[]string
	// check returns an error if a value is invalid.
	check func(string) error
	// proposal is the default; nil or empty for none.
	proposal func() string
	// optional fields have their default if there is no terminal.
	optional bool
}

func always(text string) func() string { return func() string { return text } }

func (f field) given() bool {
	return f.value != nil && *f.value != "" || f.list != nil && len(*f.list) > 0
}

func (f field) proposed() string {
	if f.proposal == nil {
		return ""
	}
	return f.proposal()
}

// set sets an answer: for a list, words separated by blanks or commas.
func (f field) set(answer string) {
	if f.value != nil {
		*f.value = strings.TrimSpace(answer)
		return
	}
	*f.list = strings.FieldsFunc(answer, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// problem returns an error if the value is invalid.
func (f field) problem() error {
	if f.value != nil {
		return f.check(*f.value)
	}
	for i, value := range *f.list {
		if slices.Contains((*f.list)[:i], value) {
			return fmt.Errorf("%q is duplicated", value)
		}
		if err := f.check(value); err != nil {
			return err
		}
	}
	return nil
}

// ask prompts for the fields that are not set, if there is a terminal, and checks all of them.
func ask(ctx context.Context, e *cli.Host, answers *bufio.Reader, fields []field) error {
	if err := checkGiven(fields); err != nil {
		return err
	}
	person := e.Stdin != nil && e.StdinTerminal && e.StderrTerminal && e.Env("CI") == ""
	var missing []string
	for _, f := range fields {
		switch {
		case f.given(), f.question == "":
		case person:
			if err := f.ask(ctx, e.Stderr, answers); err != nil {
				return err
			}
		case f.optional:
			f.set(f.proposed())
		default:
			missing = append(missing, "--"+f.flag)
		}
	}
	if err := checkGiven(fields); err != nil { // a check can depend on a later answer
		return err
	}
	if len(missing) > 0 {
		return cli.Usage("required flags not set: %s; to try a sample fleet, use --sample FOLDER", strings.Join(missing, ", "))
	}
	return nil
}

// checkGiven returns the errors of the values that are set.
func checkGiven(fields []field) error {
	var problems []error
	for _, f := range fields {
		if !f.given() {
			continue
		}
		if err := f.problem(); err != nil {
			problems = append(problems, fmt.Errorf("--%s: %w", f.flag, err))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return cli.Usage("%w", errors.Join(problems...))
}

// ask prompts until the answer is valid.
func (f field) ask(ctx context.Context, to io.Writer, answers *bufio.Reader) error {
	for {
		proposal := f.proposed()
		hint := ""
		if proposal != "" {
			hint = " [" + proposal + "]"
		}
		fmt.Fprintf(to, "%s%s: ", f.question, hint)
		answer, err := readLine(ctx, answers)
		if err != nil {
			fmt.Fprintln(to)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return cli.Usage("no answer; set --%s", f.flag)
		}
		f.set(answer)
		if !f.given() {
			f.set(proposal)
		}
		if f.given() {
			if err = f.problem(); err == nil {
				return nil
			}
			fmt.Fprintf(to, "  %v\n", err)
			f.set("")
		}
	}
}

// readLine reads a line; it returns the error of ctx if that is done first.
func readLine(ctx context.Context, from *bufio.Reader) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := from.ReadString('\n')
		done <- read{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-done:
		if got.err != nil && got.line == "" {
			return "", got.err
		}
		return got.line, nil
	}
}

// fleetSources returns the fleets of each environment by its name: those of --fleet, else those in known, else the one that the
// user enters.
func (f *initFlags) fleetSources(ctx context.Context, e *cli.Host, answers *bufio.Reader, known map[string][]string) (map[string][]string, error) {
	if len(f.fleets) > 0 {
		return f.fleetsFromFlags(e)
	}
	asked, last := map[string][]string{}, model.NoFleet
	for _, environment := range f.environments {
		if asked[environment] = known[environment]; len(known[environment]) > 0 {
			continue
		}
		var fleet string
		err := ask(ctx, e, answers, []field{{
			flag: "fleet", question: "Fleet source of check-promote for " + environment + " (azure-resource-graph, flux:CONTEXT, argocd:URL, command:PROGRAM or none)",
			value: &fleet, check: checkFleet, proposal: always(last), optional: true,
		}})
		if err != nil {
			return nil, err
		}
		asked[environment] = []string{fleet}
		if !namesClusters(fleet) {
			last = fleet
		}
	}
	return asked, nil
}

// fleetsFromFlags returns the fleets of --fleet by environment. A fleet without an environment applies to all environments
// without one of their own. If it names clusters and there are several environments, it is ignored with a warning: a
// check waits for each named cluster, and a cluster of another environment never deploys the commit.
func (f *initFlags) fleetsFromFlags(e *cli.Host) (map[string][]string, error) {
	asked, ofAll := map[string][]string{}, []string{}
	for _, text := range f.fleets {
		environment, fleet := splitFleet(text)
		switch {
		case environment == "":
			ofAll = append(ofAll, fleet)
		case !slices.Contains(f.environments, environment):
			return nil, cli.UsageHint(diag.DidYouMean(environment, f.environments), "--fleet %s: environment %q not found", text, environment)
		default:
			asked[environment] = append(asked[environment], fleet)
		}
	}
	var others []string
	for _, environment := range f.environments {
		if len(asked[environment]) == 0 {
			others = append(others, environment)
		}
	}
	at := slices.IndexFunc(ofAll, namesClusters)
	if at >= 0 && len(f.environments) > 1 && f.workflows == "" {
		named := ofAll[at]
		ofAll = nil
		fmt.Fprintf(e.Stderr, "warning: --fleet %s names clusters but no environment; it is ignored, so rollouts to %s require manual confirmation\n    hint: use --fleet %s=flux:CONTEXT\n",
			diag.Safe(named), strings.Join(others, ", "), strings.Join(others, "=flux:CONTEXT --fleet "))
	}
	for _, environment := range others {
		asked[environment] = ofAll
	}
	for environment, fleets := range asked {
		if len(fleets) > 1 && slices.Contains(fleets, model.NoFleet) {
			return nil, cli.Usage("--fleet %s cannot be combined with another fleet source of environment %q", model.NoFleet, environment)
		}
	}
	return asked, nil
}

// splitFleet splits ENV=FLEET; environment is empty if text has none. A colon before the first = starts the argument of
// a fleet, so that the = belongs to it.
func splitFleet(text string) (environment, fleet string) {
	before, after, found := strings.Cut(text, "=")
	if !found || strings.Contains(before, ":") {
		return "", text
	}
	return before, after
}

// namesClusters reports whether a fleet names its clusters. All other kinds find the clusters that pull a branch.
func namesClusters(fleet string) bool { return strings.HasPrefix(fleet, "flux:") }

// checkFleetFlag returns an error if the value of --fleet is invalid.
func checkFleetFlag(text string) error {
	_, fleet := splitFleet(text)
	return checkFleet(fleet)
}

// withoutFleet returns the names of the environments that have no fleet in known.
func withoutFleet(plan scaffold.Fleet, known map[string][]string) []string {
	var missing []string
	for _, environment := range plan.Environments {
		if len(known[environment]) == 0 {
			missing = append(missing, environment)
		}
	}
	return missing
}

// fleetSourceStep is the next step for environments without a fleet, which the workflows do not set.
func fleetSourceStep(environments []string) nextStep {
	return nextStep{
		What: "set spec.promotion.checks.fleet, the fleet source of check-promote, in these Environments: " + strings.Join(environments, ", "),
		See:  scaffold.Doc("reference/promotion"),
	}
}
