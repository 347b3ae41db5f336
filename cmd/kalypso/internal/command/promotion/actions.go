package promotion

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/fleetstatus"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// Actions adds what became of promotions to what is said in GitHub Actions.
func (v promotionView) Actions(r actions.Report) actions.Report {
	r.Title = "kalypso promote"
	var heads []actions.Result
	if c := v.checked; c != nil {
		r.Title = "kalypso check-promote"
		head := actions.Result{Environment: c.environment, Uncompared: true}
		if c.Snapshot != nil {
			head = fleetstatus.Summary(c.environment, *c.Snapshot)
		}
		head.Details = markdown.Text(c.verdict()) + "\n\n" + head.Details
		heads = append(heads, head)
	}
	for _, o := range v.outcomes {
		if o.Action != promote.ActionRefused {
			heads = append(heads, newPromotionActionsResult(o))
		}
	}
	r.Results = append(heads, r.Results...)
	r.Outputs = Outputs(v.checked, v.outcomes)
	return r
}

// newPromotionActionsResult is a promotion in the summary of a step.
func newPromotionActionsResult(o promote.Outcome) actions.Result {
	r := actions.Result{Environment: o.Environment, Uncompared: true, Details: markdown.Text(changeOf(o)) + "\n\n"}
	if o.Request != nil {
		r.PullRequest = actions.NewPullRequest(o.Request.PullRequest.Number, o.Request.PullRequest.URL, string(o.Request.Action))
	}
	return r
}

// Outputs are the outputs of a step that promotes. What each environment has one of is a line for each.
func Outputs(c *Checked, outcomes []promote.Outcome) []actions.Output {
	promoted := false
	var environments, verbs, pulls []string
	for _, o := range outcomes {
		environments = append(environments, o.Environment)
		promoted = promoted || o.Action == promote.ActionPromoted || o.Action == promote.ActionProposed
		if o.DryRun {
			verbs = append(verbs, "none")
			continue
		}
		verbs = append(verbs, string(o.Action))
		if o.Request != nil {
			pulls = append(pulls, o.Request.PullRequest.URL)
		}
	}
	outputs := []actions.Output{
		{Name: "changed", Value: strconv.FormatBool(promoted)},
		{Name: "environments", Value: strings.Join(environments, "\n")},
		{Name: "actions", Value: strings.Join(verbs, "\n")},
		{Name: "pull-request-url", Value: strings.Join(pulls, "\n")},
	}
	switch {
	case len(outcomes) > 0:
		outputs = append(outputs, actions.Output{Name: "promoted-commit", Value: outcomes[0].Commit})
	case c != nil:
		outputs = append(outputs, actions.Output{Name: "promoted-commit", Value: c.promoted})
	}
	if c == nil {
		return outputs
	}
	outputs = append(outputs, actions.Output{Name: "state", Value: string(c.State)})
	if c.Snapshot != nil {
		if counts, err := json.Marshal(fleetstatus.NewResult(*c.Snapshot).Counts); err == nil {
			outputs = append(outputs, actions.Output{Name: "clusters", Value: string(counts)})
		}
	}
	return outputs
}
