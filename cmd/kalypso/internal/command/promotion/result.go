package promotion

import (
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/fleetstatus"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
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
	Diagnostics  diag.List             `json:"diagnostics"`
}

// promotionResult is what became of a promotion.
type promotionResult struct {
	Environment string         `json:"environment"`
	Action      promote.Action `json:"action"`
	// Commit is what was to be promoted; From is what the environment had.
	Commit string `json:"commit,omitempty"`
	From   string `json:"from,omitempty"`
	// DryRun says that nothing was done: the action is what would be.
	DryRun bool `json:"dryRun,omitempty"`
	// Repo, Branch and File are where it is written, Pushed is the commit that does so.
	Repo        string               `json:"repo,omitempty"`
	Branch      string               `json:"branch,omitempty"`
	File        string               `json:"file,omitempty"`
	Pushed      string               `json:"pushed,omitempty"`
	PullRequest *results.PullRequest `json:"pullRequest,omitempty"`
	Status      *statusResult        `json:"status,omitempty"`
	Notes       []string             `json:"notes,omitempty"`
}

// statusResult is a status that was set on the promoted commit.
type statusResult struct {
	Context     string              `json:"context"`
	State       promote.StatusState `json:"state"`
	Description string              `json:"description"`
	TargetURL   string              `json:"targetUrl,omitempty"`
}

// CheckResult is what a check has found.
type CheckResult struct {
	Environment string             `json:"environment"`
	State       promote.CheckState `json:"state"`
	// Commit is that of the base branch; Deployments are what clusters were asked about.
	Commit      string              `json:"commit,omitempty"`
	Deployments []deploymentResult  `json:"deployments"`
	Fleet       *fleetstatus.Result `json:"fleet,omitempty"`
	Reason      string              `json:"reason,omitempty"`
	Status      *statusResult       `json:"status,omitempty"`
	Superseded  []string            `json:"superseded,omitempty"`
	Notes       []string            `json:"notes,omitempty"`
}

// deploymentResult is a commit of a GitOps branch.
type deploymentResult struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Path   string `json:"path"`
	Commit string `json:"commit"`
}

// Checked is what a check has found, and about what.
type Checked struct {
	promote.CheckResult
	environment, promoted string
	deployments           []promote.Deployment
}

func newStatusResult(s *promote.Status) *statusResult {
	if s == nil {
		return nil
	}
	return &statusResult{s.Context, s.State, s.Description, s.TargetURL}
}

func newPromotionResult(o promote.Outcome) promotionResult {
	r := promotionResult{
		Environment: o.Environment, Action: o.Action, Commit: o.Commit, From: o.From, DryRun: o.DryRun, Repo: o.Repo, Branch: o.Branch,
		File: o.File, Pushed: o.Pushed, Status: newStatusResult(o.Status), Notes: o.Notes,
	}
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
		Environment: c.environment, State: c.State, Commit: c.promoted, Deployments: []deploymentResult{}, Reason: fleetstatus.Harmless(c.Reason),
		Status: newStatusResult(c.Status), Superseded: c.Superseded, Notes: c.Notes,
	}
	for _, d := range c.deployments {
		r.Deployments = append(r.Deployments, deploymentResult{d.Repo, d.Branch, d.Path, d.Commit})
	}
	if c.Snapshot != nil {
		fleet := fleetstatus.NewResult(*c.Snapshot)
		r.Fleet = &fleet
	}
	return r
}

// promotionView shows what became of promotions.
type promotionView struct{ *promotionRun }

func (v promotionView) Structured(diags diag.List) any {
	r := Report{
		FormatVersion: results.Version, Check: newCheckResult(v.checked), Promotions: []promotionResult{},
		Environments: session.Environments(v.Results), Diagnostics: append(diag.List{}, diags...),
	}
	for _, outcome := range v.outcomes {
		r.Promotions = append(r.Promotions, newPromotionResult(outcome))
	}
	return r
}
