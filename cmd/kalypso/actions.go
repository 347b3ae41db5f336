package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// workflow is the step of GitHub Actions that a run is.
type workflow struct {
	checkout
	// outputFile and summaryFile are where the step's outputs and summary are appended; empty if the
	// runner takes none.
	outputFile, summaryFile string
	// commands is stderr: the runner reads its commands from both streams, and stdout is the result.
	commands *commandGuard
}

// checkout is what a workflow runs for: the only files that an annotation can point to.
type checkout struct {
	// repo is in normal form.
	repo string
	// branch is empty if the workflow was not started for one, as on a pull request.
	branch, commit string
	// workspace is the folder that actions/checkout writes to, in normal form: a control plane that was
	// given as a path may be there.
	workspace string
}

// newWorkflow returns the step that the environment describes.
func newWorkflow(env func(string) string, stderr *commandGuard) *workflow {
	w := &workflow{
		outputFile: env("GITHUB_OUTPUT"), summaryFile: env("GITHUB_STEP_SUMMARY"), commands: stderr,
		checkout: checkout{commit: env("GITHUB_SHA")},
	}
	w.repo, _ = gitops.NormalURL(env("GITHUB_SERVER_URL") + "/" + env("GITHUB_REPOSITORY")) // else it is no repository's
	w.workspace, _ = gitops.NormalURL(env("GITHUB_WORKSPACE"))
	switch {
	case env("GITHUB_EVENT_NAME") == "pull_request": // what is read is the branch that it goes to, as it would be
		w.branch = env("GITHUB_BASE_REF")
	case env("GITHUB_REF_TYPE") != "tag":
		w.branch = env("GITHUB_REF_NAME")
	}
	return w
}

// inWorkflow returns edges whose streams give the runner no orders, and the step that the run is; outside
// of GitHub Actions the edges themselves, and nil.
func inWorkflow(e *edges) (*edges, *workflow) {
	if e.env("GITHUB_ACTIONS") != "true" {
		return e, nil
	}
	stderr := guardCommands(e.stderr)
	guarded := *e
	guarded.stdout, guarded.stderr = guardCommands(e.stdout), stderr
	return &guarded, newWorkflow(e.env, stderr)
}

// actionsReport is what a run has to say in GitHub Actions.
type actionsReport struct {
	// title heads the summary, for example "kalypso render".
	title string
	// verdict says how it went, in a line of text: "2 errors: nothing was published".
	verdict string
	diags   diag.List
	results []actionsResult
	// commits are those that were read; places link to them. The zero value knows none.
	commits readCommits
	// outputs are the outputs of the step; nil for those of results.
	outputs []stepOutput
}

// actionsResult is what became of an environment in one GitOps repository. It is also an element of the
// output "results".
type actionsResult struct {
	Environment string `json:"environment"`
	// GitOpsRepo is empty if the environment has none.
	GitOpsRepo string     `json:"gitOpsRepo,omitempty"`
	Changed    bool       `json:"changed"`
	Plan       planResult `json:"plan"`
	// Branch and Commit are what was pushed, or stands on the branch already; empty if nothing was to be.
	Branch      string              `json:"branch,omitempty"`
	Commit      string              `json:"commit,omitempty"`
	PullRequest *actionsPullRequest `json:"pullRequest,omitempty"`

	// details are Markdown for the summary.
	details string
	// uncompared says that it was not found out whether there is a difference, so that nothing is said of it.
	uncompared bool
}

// actionsPullRequest is the pull request of a result.
type actionsPullRequest struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	// Operation is what was done to it: created, updated, unchanged, closed or declined.
	Operation string `json:"operation"`
}

// say tells the workflow: annotations, the outputs and the summary of the step. All are tried.
func (w *workflow) say(r actionsReport) error {
	r.diags = r.diags.Sorted()
	for _, line := range annotations(r.diags, w.checkout, r.commits) {
		w.commands.command(line)
	}
	var errs []error
	if w.outputFile != "" {
		if err := writeOutputs(w.outputFile, r); err != nil {
			errs = append(errs, fmt.Errorf("write the outputs of the step: %w", err))
		}
	}
	if w.summaryFile != "" {
		if err := writeSummary(w.summaryFile, r, w.repo); err != nil {
			errs = append(errs, fmt.Errorf("write the summary of the step: %w", err))
		}
	}
	return errors.Join(errs...)
}

// appendTo adds text to a file of the runner. What earlier commands of the step wrote stays.
func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, text)
	return cmp.Or(err, file.Close())
}

// readCommits are the commits that branches were read at.
type readCommits map[branchOfRepo]string

type branchOfRepo struct{ repo, branch string }

// add notes the sources of a fleet. A branch that was read at two commits, as the base may be, is known
// at none: a file does not tell which of them it is of.
func (c readCommits) add(sources []*model.Source) {
	for _, source := range sources {
		key := branchOfRepo{source.Repo, source.Ref.Branch}
		if known, seen := c[key]; seen && known != source.Commit {
			c[key] = ""
			continue
		}
		c[key] = source.Commit
	}
}

// of returns the commit that a file was read at; empty if it is not known.
func (c readCommits) of(file *diag.File) string {
	return c[branchOfRepo{file.Repo, file.Branch}]
}

// holds tells whether a file is of the checkout, as it was when the workflow started: otherwise its
// lines may be others there.
func (c checkout) holds(file *diag.File, commit string) bool {
	switch {
	case file.Path == "" || commit != "" && c.commit != "" && commit != c.commit:
		return false
	case c.workspace != "" && file.Repo == c.workspace:
		return file.Branch == "" || file.Branch == c.branch
	default:
		return c.branch != "" && file.Branch == c.branch && strings.EqualFold(file.Repo, c.repo)
	}
}
