package promotion

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/fleetstatus"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// Report is the result of promote and check-promote in JSON.
type Report struct {
	FormatVersion string `json:"formatVersion"`
	// Check is what check-promote has found; missing for promote.
	Check      *CheckResult      `json:"check,omitempty"`
	Promotions []promotionResult `json:"promotions"`
	// Environments are those that were published, with --render.
	Environments []session.Environment `json:"environments,omitempty"`
	Diagnostics  []results.Diagnostic  `json:"diagnostics"`
}

// promotionResult is the result of a promotion.
type promotionResult struct {
	promote.Outcome
	PullRequest *results.PullRequest `json:"pullRequest,omitempty"`
	Status      *promote.Status      `json:"status,omitempty"`
	Notes       []string             `json:"notes,omitempty"`
}

// CheckResult is what a check has found.
type CheckResult struct {
	Environment string             `json:"environment"`
	State       promote.CheckState `json:"state"`
	// Commit is that of the base branch; Deployments are the checked ones.
	Commit      string               `json:"commit,omitempty"`
	Deployments []promote.Deployment `json:"deployments"`
	Fleet       *fleetstatus.Result  `json:"fleet,omitempty"`
	Reason      string               `json:"reason,omitempty"`
	Status      *promote.Status      `json:"status,omitempty"`
	Superseded  []string             `json:"superseded,omitempty"`
	Notes       []string             `json:"notes,omitempty"`
}

// Checked is what a check has found, and about what.
type Checked struct {
	promote.CheckResult
	environment, promoted string
	deployments           []promote.Deployment
}

func newPromotionResult(o promote.Outcome) promotionResult {
	r := promotionResult{Outcome: o, Status: o.Status, Notes: o.Notes}
	if o.Request != nil {
		r.PullRequest = results.NewPullRequest(o.Request.PullRequest, o.Request.Action)
		r.Notes = append(r.Notes, o.Request.Notes...)
	}
	return r
}

func newCheckResult(c *Checked) *CheckResult {
	if c == nil {
		return nil
	}
	r := &CheckResult{
		Environment: c.environment, State: c.State, Commit: c.promoted, Deployments: append([]promote.Deployment{}, c.deployments...), Reason: fleetstatus.Harmless(c.Reason),
		Status: c.Status, Superseded: c.Superseded, Notes: c.Notes,
	}
	if c.Snapshot != nil {
		fleet := fleetstatus.NewResult(*c.Snapshot)
		r.Fleet = &fleet
	}
	return r
}

func (r *promotionRun) structured(diags diag.List) any {
	report := Report{
		FormatVersion: results.Version, Check: newCheckResult(r.checked), Promotions: []promotionResult{},
		Environments: session.Environments(r.Results), Diagnostics: results.Diagnostics(diags),
	}
	for _, outcome := range r.outcomes {
		report.Promotions = append(report.Promotions, newPromotionResult(outcome))
	}
	return report
}

// text writes the results for people: the check first, then each environment that something was
// promoted to, and what was published.
func (r *promotionRun) text() error {
	p := promotionPrinter{session.NewPrinter(r.Stdout, r.OutPalette(r.Flags.Color))}
	p.Quiet = r.Quiet
	if r.checked != nil {
		p.check(r.checked)
	}
	for _, outcome := range r.outcomes {
		p.outcome(outcome)
	}
	if len(r.Results) == 0 || r.Failed() && !r.Listed {
		return nil
	}
	fmt.Fprintln(p)
	return r.PrintText()
}

type promotionPrinter struct{ session.Printer }

// check writes the result of a check.
func (p promotionPrinter) check(c *Checked) {
	if c.Snapshot != nil {
		fleetstatus.Print(p, *c.Snapshot, p.Palette)
		fmt.Fprintln(p)
	}
	fmt.Fprintln(p, p.Heading(c.headline()))
	p.status(c.Status)
	for _, commit := range c.Superseded {
		fmt.Fprintf(p, "%.12s was superseded before it was deployed\n", commit)
	}
	for _, note := range c.Notes {
		p.Notice("", note)
	}
}

// headline returns the result of a check in one line.
func (c *Checked) headline() string {
	name := c.environment
	switch {
	case c.State == promote.CheckNothing:
		return name + ": nothing to do"
	case c.promoted == "":
		return name + " was not checked"
	case c.State == promote.CheckFailed && (c.Snapshot == nil || c.Rollout == promote.Unreachable):
		return fmt.Sprintf("cannot determine whether %s has deployed %.12s", name, c.promoted)
	}
	text := map[promote.CheckState]string{
		promote.CheckUnmerged:   "%s waits for a merge: not all of its GitOps repositories have %.12s",
		promote.CheckDeployed:   "%s has deployed %.12s",
		promote.CheckFailed:     "%s has not deployed %.12s",
		promote.CheckWaiting:    "%s has not deployed %.12s yet",
		promote.CheckSuperseded: "%s no longer deploys %.12s",
		promote.CheckByHand:     "%s waits for manual confirmation that %.12s is deployed",
	}[c.State]
	if text == "" { // it was not found out
		text = "cannot determine whether %s has deployed %.12s"
	}
	return fmt.Sprintf(text, name, c.promoted)
}

// outcome writes the result of a promotion.
func (p promotionPrinter) outcome(o promote.Outcome) {
	if o.Action == promote.ActionRefused {
		return // the diagnostics say why
	}
	fmt.Fprintln(p, p.Heading(o.Environment+": "+changeOf(o)))
	if o.Pushed != "" {
		fmt.Fprintf(p, "pushed %.12s to %s of %s: %s\n", o.Pushed, diag.Safe(o.PushedTo), o.Repo, diag.Safe(o.File))
	}
	if request := o.Request; request != nil {
		fmt.Fprintf(p, "pull request #%d %s: %s\n", request.PullRequest.Number, request.Action, diag.Safe(request.PullRequest.URL))
	}
	p.status(o.Status)
	for _, note := range newPromotionResult(o).Notes {
		p.Notice("", note)
	}
}

// changeOf returns the change of an environment in one line.
func changeOf(o promote.Outcome) string {
	from := "nothing"
	if o.From != "" {
		from = fmt.Sprintf("%.12s", o.From)
	}
	step := fmt.Sprintf("%s -> %.12s", from, o.Commit)
	switch {
	case o.Action == promote.ActionUnchanged && o.Newer:
		return fmt.Sprintf("already at %s, which is newer than %.12s", from, o.Commit)
	case o.Action == promote.ActionUnchanged:
		return fmt.Sprintf("already at %.12s", o.Commit)
	case o.Action == promote.ActionNotPromotable:
		return fmt.Sprintf("%.12s is not promoted", o.Commit)
	case o.Action == promote.ActionWaiting:
		return fmt.Sprintf("%.12s waits for other environments", o.Commit)
	case o.Action == promote.ActionDispatched:
		return fmt.Sprintf("a workflow was started to promote %.12s", o.Commit)
	case o.DryRun:
		return step + ", would be " + string(o.Action)
	default:
		return step + ", " + string(o.Action)
	}
}

func (p promotionPrinter) status(s *promote.Status) {
	if s != nil {
		fmt.Fprintf(p, "status %q: %s, %s\n", s.Context, s.State, diag.Safe(s.Description))
	}
}

// summarize adds the promotions to the report for GitHub Actions.
func (r *promotionRun) summarize(report *actions.Report) {
	report.Title = "kalypso promote"
	var heads []actions.Result
	if c := r.checked; c != nil {
		report.Title = "kalypso check-promote"
		head := actions.Result{Environment: c.environment, Uncompared: true}
		if c.Snapshot != nil {
			head = fleetstatus.Summary(c.environment, *c.Snapshot)
		}
		head.Details = markdown.Text(c.headline()) + "\n\n" + head.Details
		heads = append(heads, head)
	}
	for _, o := range r.outcomes {
		if o.Action == promote.ActionRefused {
			continue
		}
		head := actions.Result{Environment: o.Environment, Uncompared: true, Details: markdown.Text(changeOf(o)) + "\n\n"}
		if o.Request != nil {
			head.PullRequest = &actions.PullRequest{
				Number: o.Request.PullRequest.Number, URL: o.Request.PullRequest.URL, Operation: string(o.Request.Action),
			}
		}
		heads = append(heads, head)
	}
	report.Results = append(heads, report.Results...)
	report.Outputs = Outputs(r.checked, r.outcomes)
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
