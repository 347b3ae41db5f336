package promotion

import (
	"context"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// fleets returns who is asked: what the command line says, else the Environment.
func (c *deploymentCheck) fleets() (fleets []promote.Fleet, byHand bool, err error) {
	texts, from := c.fleetTexts()
	if len(texts) == 1 && texts[0] == model.NoFleet {
		return nil, true, nil
	}
	for _, text := range texts {
		name, _, _ := strings.Cut(text, ":") // what follows may be a secret
		if name == model.NoFleet {
			return nil, false, cli.Usage("%s %s: a person decides alone, so name no other fleet", from, name)
		}
		asked, err := fleet.New(text, fleetOptions(c.Host))
		if err != nil {
			return nil, false, cli.Usage("%s %s: %w", from, name, err)
		}
		fleets = append(fleets, asked)
	}
	if len(fleets) == 0 {
		return nil, false, cli.Usage("say who knows what the clusters run with --fleet, or spec.promotion.checks.fleet of the Environment: %s",
			strings.Join(append(fleet.Names(), model.NoFleet), ", "))
	}
	return fleets, false, nil
}

// fleetTexts returns the fleets as --fleet or the Environment names them, and the flag or field that names them.
func (c *deploymentCheck) fleetTexts() (texts []string, from string) {
	if len(c.flags.fleets) > 0 {
		return c.flags.fleets, "--fleet"
	}
	for _, text := range c.checks().Fleets {
		texts = append(texts, text.Value)
	}
	return texts, "spec.promotion.checks.fleet"
}

// checks are what the Environment says.
func (c *deploymentCheck) checks() model.Checks {
	if c.environment.Promotion == nil {
		return model.Checks{}
	}
	return c.environment.Promotion.Checks
}

// newRules puts together what the command line and the Environment say.
func (c *deploymentCheck) newRules(ctx context.Context) promote.Rules {
	said := c.checks()
	rules := promote.Rules{
		AllowNone: c.flags.allowNone, Timeout: c.flags.wait, Interval: c.flags.interval, Grace: c.flags.grace, Once: c.flags.once,
		Expect: said.Expect.Value, Need: said.Healthy.Of,
	}
	if !c.flags.given.Changed("timeout") && said.Timeout.Value > 0 {
		rules.Timeout = said.Timeout.Value
	}
	if c.flags.expect > 0 {
		rules.Expect = c.flags.expect
	}
	if c.flags.healthy != "" {
		rules.Need = c.flags.atLeast.Of
	}
	if selector := said.ClusterTypes; len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 {
		rules.Counts = c.newCounts(ctx, selector)
	}
	return rules
}

// newCounts reports whether the clusters of a type count. Unless all cluster types can be read nobody knows: those that
// cannot be might be the ones that fail.
func (c *deploymentCheck) newCounts(ctx context.Context, selector model.Selector) func(clusterType string) bool {
	all, known, reasons := c.Loader.ClusterTypes(ctx, c.environment)
	if !known {
		c.Diags.Add(reasons)
	}
	selected, diags := schedule.SelectClusterTypes(selector, all)
	c.Diags.Add(diags)
	names := map[string]bool{}
	for _, clusterType := range selected {
		names[clusterType.Name.Value] = true
	}
	return func(clusterType string) bool { return names[clusterType] }
}
