package main

import (
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// formatVersion is that of the JSON shape. Fields are added without a change of it.
const formatVersion = "1"

// report is the result of render and validate in JSON.
type report struct {
	FormatVersion string              `json:"formatVersion"`
	Environments  []environmentResult `json:"environments"`
	Diagnostics   []diagnosticResult  `json:"diagnostics"`
}

type environmentResult struct {
	Name string `json:"name"`
	// PromotedCommit is the commit of the base; empty if it has none.
	PromotedCommit string             `json:"promotedCommit,omitempty"`
	Folder         string             `json:"folder,omitempty"`
	Sources        []sourceResult     `json:"sources"`
	Assignments    []assignmentResult `json:"assignments"`
	Changes        []*changeResult    `json:"changes,omitempty"`
	// Notes say what the changes do not, for example that the GitOps branch could not be read.
	Notes []string `json:"notes,omitempty"`
	// Held are the registrations that --keep-last-good holds back.
	Held []heldResult `json:"held,omitempty"`
}

type sourceResult struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
	Path   string `json:"path"`
}

type assignmentResult struct {
	ClusterType string `json:"clusterType"`
	Target      string `json:"deploymentTarget"`
	Workspace   string `json:"workspace,omitempty"`
	// Registration admitted the workload; empty for what the control plane itself holds.
	Registration string   `json:"workloadRegistration,omitempty"`
	Policies     []string `json:"policies"`
}

// changeResult is the difference to one GitOps branch or folder.
type changeResult struct {
	GitOpsRepo string         `json:"gitOpsRepo,omitempty"`
	Commit     string         `json:"commit,omitempty"`
	Plan       planResult     `json:"plan"`
	Targets    []targetResult `json:"targets"`
	Files      []fileResult   `json:"files"`
	// Published is what became of it; missing if it was not to be published.
	Published *publishedResult `json:"published,omitempty"`

	change *gitops.Change
	// waiting says that an output of an earlier run waits to be merged.
	waiting bool
	// report is what its pull request says, or would say.
	report *gitops.Report
}

// publishedResult is what became of a change at its GitOps repository.
type publishedResult struct {
	// Repo is where it was pushed, after replacements.
	Repo   string `json:"repo"`
	Branch string `json:"branch,omitempty"`
	// Commit is what holds the output; Pushed says that it was pushed in this run.
	Commit string `json:"commit,omitempty"`
	Pushed bool   `json:"pushed"`
	// PullRequest is missing where there is none.
	PullRequest *pullRequestResult `json:"pullRequest,omitempty"`
	// Closed are pull requests that this one replaces, or that have no point any more.
	Closed []pullRequestResult `json:"closed,omitempty"`
	Notes  []string            `json:"notes,omitempty"`
}

type pullRequestResult struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	// Action is created, updated, unchanged or declined; empty for one that was closed.
	Action gitops.SubmissionAction `json:"action,omitempty"`
	// State is open, merged or closed.
	State gitops.PullRequestState `json:"state"`
}

func newPublishedResult(destination *gitops.Destination, published gitops.Published) *publishedResult {
	r := &publishedResult{
		Repo: destination.At, Branch: published.Branch, Commit: published.Commit, Pushed: published.Pushed, Notes: published.Notes,
	}
	closed := published.Withdrawn
	if request := published.Request; request != nil {
		r.PullRequest = &pullRequestResult{request.PullRequest.Number, request.PullRequest.URL, request.Action, request.PullRequest.State}
		r.Notes = append(r.Notes, request.Notes...)
		closed = append(closed, request.Closed...)
	}
	for _, request := range closed {
		r.Closed = append(r.Closed, pullRequestResult{Number: request.Number, URL: request.URL, State: request.State})
	}
	return r
}

// planResult counts deployment targets.
type planResult struct {
	Summary      string `json:"summary"`
	Targets      int    `json:"targets"`
	ClusterTypes int    `json:"clusterTypes"`
	Added        int    `json:"added"`
	Changed      int    `json:"changed"`
	Removed      int    `json:"removed"`
	Unchanged    int    `json:"unchanged"`
}

type targetResult struct {
	ClusterType string        `json:"clusterType"`
	Target      string        `json:"deploymentTarget"`
	Action      gitops.Action `json:"action"`
	Files       []string      `json:"files,omitempty"`
}

type fileResult struct {
	Path   string        `json:"path"`
	Action gitops.Action `json:"action"`
}

func newPlanResult(p gitops.Plan) planResult {
	return planResult{p.String(), p.Targets, p.ClusterTypes, p.Added, p.Changed, p.Removed, p.Unchanged}
}

func newChangeResult(change *gitops.Change, output gitops.Output) *changeResult {
	r := &changeResult{
		change: change, Commit: output.Commit, Targets: []targetResult{}, Files: []fileResult{},
		Plan: newPlanResult(change.Plan()),
	}
	if output.Repo != nil {
		r.GitOpsRepo = output.Repo.Name.Value
	}
	for _, t := range change.Targets {
		if t.Action != gitops.Unchanged {
			r.Targets = append(r.Targets, targetResult{t.ClusterType, t.Target, t.Action, t.Files})
		}
	}
	for _, f := range change.Files {
		r.Files = append(r.Files, fileResult{f.Path, f.Action})
	}
	return r
}

func newReport(s *session, diags diag.List) report {
	r := report{FormatVersion: formatVersion, Environments: []environmentResult{}, Diagnostics: diagnosticResults(diags)}
	for _, result := range s.results {
		r.Environments = append(r.Environments, newEnvironmentResult(result))
	}
	return r
}

func newEnvironmentResult(result *result) environmentResult {
	e := environmentResult{
		Name: result.environment.Name.Value, Folder: result.folder, Changes: result.changes, Notes: result.notes,
		Held:    heldResults(result.held.registrations),
		Sources: []sourceResult{}, Assignments: []assignmentResult{},
	}
	if result.fleet == nil {
		return e
	}
	e.PromotedCommit = result.fleet.PromotedCommit
	for _, source := range result.fleet.Sources {
		e.Sources = append(e.Sources, sourceResult{source.Repo, source.Ref.Branch, source.Commit, source.Ref.Path})
	}
	for _, a := range result.assignments {
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
