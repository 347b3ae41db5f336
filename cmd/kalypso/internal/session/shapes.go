package session

import (
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
)

// Environment is the result of an environment, in JSON.
type Environment struct {
	Name string `json:"name"`
	// PromotedCommit is the commit of the base; empty if it has none.
	PromotedCommit string             `json:"promotedCommit,omitempty"`
	Directory      string             `json:"folder,omitempty"`
	Sources        []SourceResult     `json:"sources"`
	Assignments    []assignmentResult `json:"assignments"`
	Changes        []*Change          `json:"changes,omitempty"`
	// Notes are additional messages, for example that the GitOps branch could not be read.
	Notes []string `json:"notes,omitempty"`
	// Held are the registrations in quarantine.
	Held []message.QuarantinedRegistration `json:"held,omitempty"`
}

// SourceResult is a source that was read.
type SourceResult struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
	Path   string `json:"path"`
}

type assignmentResult struct {
	ClusterType string `json:"clusterType"`
	Target      string `json:"deploymentTarget"`
	Workspace   string `json:"workspace,omitempty"`
	// Registration admitted the workload; empty for objects of the control plane.
	Registration string   `json:"workloadRegistration,omitempty"`
	Policies     []string `json:"policies"`
}

// Change is the difference to one GitOps branch or directory.
type Change struct {
	GitOpsRepo string                `json:"gitOpsRepo,omitempty"`
	Commit     string                `json:"commit,omitempty"`
	Plan       results.Plan          `json:"plan"`
	Targets    []change.TargetChange `json:"targets"`
	Files      []change.FileChange   `json:"files"`
	// Published is the result of publishing; missing if it was not requested.
	Published *Published `json:"published,omitempty"`

	Change *change.Change `json:"-"`
	// Waiting reports whether an output of an earlier run is not merged yet.
	Waiting bool `json:"-"`
	// Report is the text of its pull request.
	Report *message.Report `json:"-"`
}

// Published is the result of publishing a change to its GitOps repository.
type Published struct {
	// Repo is the repository of the push, after replacements.
	Repo   string `json:"repo"`
	Branch string `json:"branch,omitempty"`
	// Commit is the commit with the output; Pushed reports whether this run pushed it.
	Commit string `json:"commit,omitempty"`
	Pushed bool   `json:"pushed"`
	// PullRequest is nil if there is none.
	PullRequest *results.PullRequest `json:"pullRequest,omitempty"`
	// Closed are pull requests that this run closed.
	Closed []results.PullRequest `json:"closed,omitempty"`
	Notes  []string              `json:"notes,omitempty"`
}

// NewPublishedResult returns the result of publishing a change to a destination.
func NewPublishedResult(destination *gitops.Destination, published gitops.Published) *Published {
	r := &Published{
		Repo: destination.At, Branch: published.Branch, Commit: published.Commit, Pushed: published.Pushed, Notes: published.Notes,
	}
	closed := published.Withdrawn
	if request := published.Request; request != nil {
		r.PullRequest = results.NewPullRequest(request.PullRequest, request.Action)
		r.Notes = append(r.Notes, request.Notes...)
		closed = append(closed, request.Closed...)
	}
	for _, request := range closed {
		r.Closed = append(r.Closed, *results.NewPullRequest(request, ""))
	}
	return r
}

// NewChangeResult returns the difference to one GitOps branch or directory.
func NewChangeResult(diff *change.Change, output gitops.Output) *Change {
	r := &Change{
		Change: diff, Commit: output.Commit, Targets: results.ChangedTargets(diff), Files: append([]change.FileChange{}, diff.Files...), Plan: results.NewPlan(diff.Plan()),
	}
	if output.Repo != nil {
		r.GitOpsRepo = output.Repo.Name.Value
	}
	return r
}

// Environments returns results for JSON.
func Environments(of []*Result) []Environment {
	var all []Environment
	for _, result := range of {
		all = append(all, result.shape())
	}
	return all
}

func (result *Result) shape() Environment {
	e := Environment{
		Name: result.Environment.Name.Value, Directory: result.Directory, Changes: result.Changes, Notes: result.Notes,
		Held:    result.Held.Registrations,
		Sources: []SourceResult{}, Assignments: []assignmentResult{},
	}
	if result.Fleet == nil {
		return e
	}
	e.PromotedCommit = result.Fleet.PromotedCommit
	for _, source := range result.Fleet.Sources {
		e.Sources = append(e.Sources, SourceResult{source.Repo, source.Ref.Branch, source.Commit, source.Ref.Path})
	}
	for _, a := range result.Assignments {
		assigned := assignmentResult{ClusterType: a.ClusterType.Name.Value, Target: a.Target.Name.Value, Workspace: a.Target.Workspace}
		if a.Target.Registration != nil {
			assigned.Registration = a.Target.Registration.Name.Value
		}
		for _, policy := range a.Reasons {
			assigned.Policies = append(assigned.Policies, policy.Name.Value)
		}
		e.Assignments = append(e.Assignments, assigned)
	}
	return e
}

// MaxDetails is the maximum size in bytes of the details of one result in the summary of a step.
const MaxDetails = 200_000

// actionsReport returns the report of the session for GitHub Actions. title is the heading of the summary.
func (s *Session) actionsReport(title, outcome string, diags diag.List) actions.Report {
	r := actions.Report{Title: title, Outcome: outcome, Diags: diags, Commits: actions.Commits{}}
	for _, result := range s.Results {
		if result.Fleet != nil {
			r.Commits.Add(result.Fleet.Sources)
		}
		if len(result.Changes) == 0 {
			r.Results = append(r.Results, actions.Result{Environment: result.Environment.Name.Value, Uncompared: true})
		}
		for _, diff := range result.Changes {
			r.Results = append(r.Results, diff.actionsResult(result.Environment.Name.Value))
		}
	}
	return r
}

func (c *Change) actionsResult(environment string) actions.Result {
	r := actions.Result{
		Environment: environment, GitOpsRepo: c.GitOpsRepo, Changed: c.Waiting || !c.Change.Empty(), Plan: c.Plan,
	}
	if c.Report != nil && !c.Change.Empty() {
		r.Details = message.PullRequestBody(*c.Report, MaxDetails)
	}
	if c.Published == nil {
		return r
	}
	r.Branch, r.Commit = c.Published.Branch, c.Published.Commit
	switch request := c.Published.PullRequest; {
	case request != nil:
		r.PullRequest = &actions.PullRequest{Number: request.Number, URL: request.URL, Operation: string(request.Action)}
	case len(c.Published.Closed) > 0:
		closed := c.Published.Closed[0]
		r.PullRequest = &actions.PullRequest{Number: closed.Number, URL: closed.URL, Operation: "closed"}
	}
	return r
}
