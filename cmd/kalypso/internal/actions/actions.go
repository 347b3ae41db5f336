// Package actions writes annotations, outputs and the summary of a GitHub Actions step.
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

// Workflow is the GitHub Actions step of a run.
type Workflow struct {
	checkout
	// outputFile and summaryFile are the files for the outputs and summary; empty if the runner has none.
	outputFile, summaryFile string
	// commands is stderr. The runner reads commands from both streams, but stdout is for results.
	commands *term.Guard
}

// checkout is the commit for which a workflow runs: the only files to which an annotation can refer.
type checkout struct {
	// Repo is in normal form.
	Repo string
	// branch is empty if the workflow was not started for a branch.
	branch, commit string
	// workspace is the directory of actions/checkout, in normal form: the path of a control plane may be there.
	workspace string
}

// NewWorkflow returns the step of the environment variables.
func NewWorkflow(env func(string) string, stderr *term.Guard) *Workflow {
	w := &Workflow{
		outputFile: env("GITHUB_OUTPUT"), summaryFile: env("GITHUB_STEP_SUMMARY"), commands: stderr,
		checkout: checkout{commit: env("GITHUB_SHA")},
	}
	w.Repo, _ = giturl.NormalURL(env("GITHUB_SERVER_URL") + "/" + env("GITHUB_REPOSITORY")) // an error means no repository
	w.workspace, _ = giturl.NormalURL(env("GITHUB_WORKSPACE"))
	switch {
	case env("GITHUB_EVENT_NAME") == "pull_request": // the merge of the pull request into this branch is read
		w.branch = env("GITHUB_BASE_REF")
	case env("GITHUB_REF_TYPE") != "tag":
		w.branch = env("GITHUB_REF_NAME")
	}
	return w
}

// InWorkflow returns streams without commands for the runner, and the step; outside GitHub Actions the unchanged streams
// and nil.
func InWorkflow(o term.IO) (term.IO, *Workflow) {
	if o.Env("GITHUB_ACTIONS") != "true" {
		return o, nil
	}
	stderr := term.NewGuard(o.Stderr)
	o.Stdout, o.Stderr = term.NewGuard(o.Stdout), stderr
	return o, NewWorkflow(o.Env, stderr)
}

// Report is the result of a run for GitHub Actions.
type Report struct {
	// Title is the heading of the summary, for example "kalypso render".
	Title string
	// Outcome is one line of text: "2 errors: nothing was published".
	Outcome string
	Diags   diag.List
	Results []Result
	// Commits are the commits that were read, to which places link.
	Commits Commits
	// Outputs are the outputs of the step; nil for StepOutputs of the results.
	Outputs []Output
}

// Result is the result of an environment in one GitOps repository. It is also an element of the output "results".
type Result struct {
	Environment string `json:"environment"`
	// GitOpsRepo is empty if the environment has none.
	GitOpsRepo string       `json:"gitOpsRepo,omitempty"`
	Changed    bool         `json:"changed"`
	Plan       results.Plan `json:"plan"`
	// Branch and Commit are the pushed commit or the current one of the branch; empty if nothing was published.
	Branch      string       `json:"branch,omitempty"`
	Commit      string       `json:"commit,omitempty"`
	PullRequest *PullRequest `json:"pullRequest,omitempty"`

	// Details are Markdown for the summary.
	Details string `json:"-"`
	// Uncompared is true if the output was not compared with the published one.
	Uncompared bool `json:"-"`
}

// PullRequest is the pull request of a result.
type PullRequest struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	// Operation is created, updated, unchanged, closed or declined.
	Operation string `json:"operation"`
}

// Say writes the annotations, outputs and summary of the step. It writes all, even if one fails.
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

// Mask makes the runner mask a secret in its log. It does nothing for a nil workflow.
func (w *Workflow) Mask(secret string) {
	if w != nil {
		w.commands.Command("::add-mask::" + escapeData(secret))
	}
}

// appendTo appends text to a file of the runner, which earlier commands of the step may have written.
func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, text)
	return cmp.Or(err, file.Close())
}

// Commits are the commits at which branches were read.
type Commits map[branchOfRepo]string

type branchOfRepo struct{ repo, branch string }

// Add adds the sources of a fleet. A branch that was read at two commits, as the base may be, has none, because the
// commit of its files is ambiguous.
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

// of returns the commit of a file; empty if unknown.
func (c Commits) of(file *diag.File) string {
	return c[branchOfRepo{file.Repo, file.Branch}]
}

// holds reports whether the checkout has a file at the commit for which the workflow runs: otherwise its lines may
// differ.
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
