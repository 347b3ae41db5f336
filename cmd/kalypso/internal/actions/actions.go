// Package actions is the step of GitHub Actions that a run is: its annotations, outputs and summary.
package actions

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Workflow is the step of GitHub Actions that a run is.
type Workflow struct {
	checkout
	// outputFile and summaryFile are where the step's outputs and summary are appended; empty if the
	// runner takes none.
	outputFile, summaryFile string
	// commands is stderr: the runner reads its commands from both streams, and stdout is the result.
	commands *term.Guard
}

// checkout is what a workflow runs for: the only files that an annotation can point to.
type checkout struct {
	// Repo is in normal form.
	Repo string
	// branch is empty if the workflow was not started for one, as on a pull request.
	branch, commit string
	// workspace is the folder that actions/checkout writes to, in normal form: a control plane that was
	// given as a path may be there.
	workspace string
}

// NewWorkflow returns the step that the environment describes.
func NewWorkflow(env func(string) string, stderr *term.Guard) *Workflow {
	w := &Workflow{
		outputFile: env("GITHUB_OUTPUT"), summaryFile: env("GITHUB_STEP_SUMMARY"), commands: stderr,
		checkout: checkout{commit: env("GITHUB_SHA")},
	}
	w.Repo, _ = giturl.NormalURL(env("GITHUB_SERVER_URL") + "/" + env("GITHUB_REPOSITORY")) // else it is no repository's
	w.workspace, _ = giturl.NormalURL(env("GITHUB_WORKSPACE"))
	switch {
	case env("GITHUB_EVENT_NAME") == "pull_request": // what is read is the branch that it goes to, as it would be
		w.branch = env("GITHUB_BASE_REF")
	case env("GITHUB_REF_TYPE") != "tag":
		w.branch = env("GITHUB_REF_NAME")
	}
	return w
}

// InWorkflow returns streams that give the runner no commands, and the step that the run is; outside of GitHub Actions
// the streams themselves, and nil.
func InWorkflow(o term.IO) (term.IO, *Workflow) {
	if o.Env("GITHUB_ACTIONS") != "true" {
		return o, nil
	}
	stderr := term.NewGuard(o.Stderr)
	o.Stdout, o.Stderr = term.NewGuard(o.Stdout), stderr
	return o, NewWorkflow(o.Env, stderr)
}

// Report is what a run has to say in GitHub Actions.
type Report struct {
	// Title heads the summary, for example "kalypso render".
	Title string
	// Verdict says how it went, in a line of text: "2 errors: nothing was published".
	Verdict string
	Diags   diag.List
	Results []Result
	// Commits are those that were read; places link to them. The zero value knows none.
	Commits Commits
	// Outputs are the outputs of the step; nil for those of results.
	Outputs []Output
}

// Result is what became of an environment in one GitOps repository. It is also an element of the
// output "results".
type Result struct {
	Environment string `json:"environment"`
	// GitOpsRepo is empty if the environment has none.
	GitOpsRepo string       `json:"gitOpsRepo,omitempty"`
	Changed    bool         `json:"changed"`
	Plan       results.Plan `json:"plan"`
	// Branch and Commit are what was pushed, or stands on the branch already; empty if nothing was to be.
	Branch      string       `json:"branch,omitempty"`
	Commit      string       `json:"commit,omitempty"`
	PullRequest *PullRequest `json:"pullRequest,omitempty"`

	// Details are Markdown for the summary.
	Details string `json:"-"`
	// Uncompared says that it was not found out whether there is a difference, so that nothing is said of it.
	Uncompared bool `json:"-"`
}

// PullRequest is the pull request of a result.
type PullRequest struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	// Operation is what was done to it: created, updated, unchanged, closed or declined.
	Operation string `json:"operation"`
}

// Say tells the workflow: annotations, the outputs and the summary of the step. All are tried.
func (w *Workflow) Say(r Report) error {
	r.Diags = r.Diags.Sorted()
	for _, line := range annotations(r.Diags, w.checkout, r.Commits) {
		w.commands.Command(line)
	}
	var errs []error
	if w.outputFile != "" {
		if err := writeOutputs(w.outputFile, r); err != nil {
			errs = append(errs, fmt.Errorf("write the outputs of the step: %w", err))
		}
	}
	if w.summaryFile != "" {
		if err := writeSummary(w.summaryFile, r, w.Repo); err != nil {
			errs = append(errs, fmt.Errorf("write the summary of the step: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Mask has the runner keep a secret out of its log. A nil workflow has none.
func (w *Workflow) Mask(secret string) {
	if w != nil {
		w.commands.Command("::add-mask::" + escapeData(secret))
	}
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

// Commits are the commits that branches were read at.
type Commits map[branchOfRepo]string

type branchOfRepo struct{ repo, branch string }

// Add notes the sources of a fleet. A branch that was read at two commits, as the base may be, is known
// at none: a file does not tell which of them it is of.
func (c Commits) Add(sources []*model.Source) {
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
func (c Commits) of(file *diag.File) string {
	return c[branchOfRepo{file.Repo, file.Branch}]
}

// holds reports whether a file is of the checkout, as it was when the workflow started: otherwise its
// lines may be others there.
func (c checkout) holds(file *diag.File, commit string) bool {
	switch {
	case file.Path == "" || commit != "" && c.commit != "" && commit != c.commit:
		return false
	case c.workspace != "" && file.Repo == c.workspace:
		return file.Branch == "" || file.Branch == c.branch
	default:
		return c.branch != "" && file.Branch == c.branch && strings.EqualFold(file.Repo, c.Repo)
	}
}
