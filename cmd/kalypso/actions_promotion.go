package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/markdown"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// actions adds what became of promotions to what is said in GitHub Actions.
func (v promotionView) actions(r actionsReport) actionsReport {
	r.title = "kalypso promote"
	var heads []actionsResult
	if c := v.checked; c != nil {
		r.title = "kalypso check-promote"
		head := actionsResult{Environment: c.environment, uncompared: true}
		if c.Look != nil {
			head = newFleetActionsResult(c.environment, *c.Look)
		}
		head.details = markdown.Text(c.verdict()) + "\n\n" + head.details
		heads = append(heads, head)
	}
	for _, o := range v.outcomes {
		if o.Action != promote.ActionRefused {
			heads = append(heads, newPromotionActionsResult(o))
		}
	}
	r.results = append(heads, r.results...)
	r.outputs = promotionOutputs(v.checked, v.outcomes)
	return r
}

// newPromotionActionsResult is a promotion in the summary of a step.
func newPromotionActionsResult(o promote.Outcome) actionsResult {
	r := actionsResult{Environment: o.Environment, uncompared: true, details: markdown.Text(changeOf(o)) + "\n\n"}
	if o.Request != nil {
		r.PullRequest = &actionsPullRequest{o.Request.PullRequest.Number, o.Request.PullRequest.URL, string(o.Request.Action)}
	}
	return r
}

// promotionOutputs are the outputs of a step that promotes. What each environment has one of is a line for each.
func promotionOutputs(c *checked, outcomes []promote.Outcome) []stepOutput {
	promoted := false
	var environments, actions, pulls []string
	for _, o := range outcomes {
		environments = append(environments, o.Environment)
		promoted = promoted || o.Action == promote.ActionPromoted || o.Action == promote.ActionProposed
		if o.DryRun {
			actions = append(actions, "none")
			continue
		}
		actions = append(actions, string(o.Action))
		if o.Request != nil {
			pulls = append(pulls, o.Request.PullRequest.URL)
		}
	}
	outputs := []stepOutput{
		{"changed", strconv.FormatBool(promoted)},
		{"environments", strings.Join(environments, "\n")},
		{"actions", strings.Join(actions, "\n")},
		{"pull-request-url", strings.Join(pulls, "\n")},
	}
	if len(outcomes) > 0 {
		outputs = append(outputs, stepOutput{"promoted-commit", outcomes[0].Commit})
	}
	if c == nil {
		return outputs
	}
	if len(outcomes) == 0 {
		outputs = append(outputs, stepOutput{"promoted-commit", c.promoted})
	}
	outputs = append(outputs, stepOutput{"state", string(c.State)})
	if c.Look != nil {
		counts, err := json.Marshal(newFleetResult(*c.Look).Counts)
		if err == nil {
			outputs = append(outputs, stepOutput{"clusters", string(counts)})
		}
	}
	return outputs
}
