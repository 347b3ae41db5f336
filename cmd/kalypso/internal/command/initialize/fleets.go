package initialize

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// asks returns the fleets of each environment by its name: those of --fleet, else those in known, else the one that the
// user enters.
func (f *initFlags) asks(ctx context.Context, e *cli.Host, answers *bufio.Reader, known map[string][]string) (map[string][]string, error) {
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
			flag: "fleet", question: "Fleet that check-promote asks for " + environment + ": azure-resource-graph, flux:CONTEXT, argocd:URL, command:PROGRAM or none",
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
			return nil, cli.Usage("--fleet %s: there is no environment %q (%s)", text, environment, diag.DidYouMean(environment, f.environments))
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
		fmt.Fprintf(e.Stderr, "warning: --fleet %s names clusters but no environment, so it is ignored and a person decides in %s: write --fleet %s=flux:CONTEXT\n",
			diag.Safe(named), strings.Join(others, ", "), strings.Join(others, "=flux:CONTEXT --fleet "))
	}
	for _, environment := range others {
		asked[environment] = ofAll
	}
	for environment, fleets := range asked {
		if len(fleets) > 1 && slices.Contains(fleets, model.NoFleet) {
			return nil, cli.Usage("--fleet %s cannot be combined with another fleet of environment %q", model.NoFleet, environment)
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

// stepForFleets is the next step for environments without a fleet, which the workflows do not set.
func stepForFleets(environments []string) nextStep {
	return nextStep{
		What: "set spec.promotion.checks.fleet, the fleet that check-promote asks, in the Environment of " + strings.Join(environments, ", "),
		See:  scaffold.Doc("reference/promotion"),
	}
}
