package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// previewFlags are the flags of a preview of a pull request.
type previewFlags struct {
	comment     bool
	saveComment string
	request     string
}

func (f *previewFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.comment, "comment", false, "keep a comment on the pull request up to date with what was found")
	addRequestFlag(flags, &f.request)
	flags.StringVar(&f.saveComment, "save-comment", "", "write the text of the comment to this `file`, for kalypso comment")
}

// addRequestFlag adds the flag that names a pull request.
func addRequestFlag(flags *pflag.FlagSet, request *string) {
	flags.StringVar(request, "pull-request", "", "`number` or URL of the pull request to comment on (default: the one that the workflow runs for)")
}

// previews tells whether there is to be a preview.
func (f *previewFlags) previews() bool { return f.comment || f.saveComment != "" || f.request != "" }

// pullRequest is the pull request that a workflow runs for.
type pullRequest struct {
	number int
	// base is the branch that it goes to, and merge the commit that merging it would make.
	base, merge string
}

var mergeRef = regexp.MustCompile(`^refs/pull/([1-9][0-9]{0,9})/merge$`)

// pullRequest returns the one that the workflow runs for; nil for none. On pull_request_target there is none: there the
// commit is that of the branch.
func (e *edges) pullRequest() *pullRequest {
	ref := mergeRef.FindStringSubmatch(e.env("GITHUB_REF"))
	if e.env("GITHUB_ACTIONS") != "true" || e.env("GITHUB_EVENT_NAME") != "pull_request" || ref == nil {
		return nil
	}
	return &pullRequest{number: numberOf(ref[1]), base: e.env("GITHUB_BASE_REF"), merge: e.env("GITHUB_SHA")}
}

// preview tells the pull request what was found, also if that is only what is wrong with it.
func (c *comparison) preview(ctx context.Context) error {
	if !c.flags.previews() {
		return nil
	}
	text := gitops.PreviewComment(c.newPreview(), gitops.MaxComment)
	if file := c.flags.saveComment; file != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			c.diags.Error(ruleSaveBody, diag.Place{}, fmt.Sprintf("--save-comment: %v", err))
		}
	}
	if !c.flags.comment {
		return nil
	}
	c.begin("commenting on the pull request")
	return c.keepComment(ctx, c.flags.repo, c.flags.request, text)
}

func (c *comparison) newPreview() gitops.Preview {
	p := gitops.Preview{Problems: c.diags, Command: c.command}
	for _, d := range c.found {
		p.Environments = append(p.Environments, newEnvironmentPreview(d))
	}
	p.Failed = c.failedOnes
	return p
}

func newEnvironmentPreview(d difference) gitops.EnvironmentPreview {
	e := gitops.EnvironmentPreview{Report: gitops.Report{Environment: d.environment, Change: d.impact.Change, Notes: slices.Concat(d.outputs, d.notes)}}
	for _, t := range d.impact.Targets {
		if t.Cause == nil {
			continue
		}
		var texts []string
		reasons := d.why(t)
		for _, r := range reasons {
			texts = append(texts, r.text)
		}
		e.Causes = append(e.Causes, gitops.TargetCause{TargetChange: t.TargetChange, Why: strings.Join(texts, "; "), At: reasons[0].at})
	}
	return e
}

// summaryRoom is what an environment may have of the summary of a step, in bytes.
const summaryRoom = 100_000

func (c *comparison) actions(r actionsReport) actionsReport {
	for _, d := range c.found {
		change := d.impact.Change
		r.results = append(r.results, actionsResult{
			Environment: d.environment, Changed: d.differs(), Plan: newPlanResult(change.Plan()), details: newEnvironmentPreview(d).Details(summaryRoom),
		})
	}
	return r
}

// requestForm is the URL of a pull request.
var requestForm = regexp.MustCompile(`^(https?://[^\s?#]+)/pull/([1-9][0-9]{0,9})/?$`)

// keepComment brings the comment on a pull request up to date: on the one that is given as a number or URL, else on that
// which the workflow runs for. It is one of the application repository in, if that is not empty.
func (s *session) keepComment(ctx context.Context, in, given, text string) error {
	repo, number, err := s.findRequest(in, given)
	if err != nil {
		return err
	}
	known, err := s.connectForge(ctx, model.Main, repo)
	if err != nil {
		return err
	}
	if known.repo == nil {
		return usageError("nobody can comment there: %s", cmp.Or(known.note, repo+" is not on GitHub"))
	}
	kept, err := known.repo.KeepComment(ctx, number, gitops.IsPreview, text)
	if err != nil {
		rule, hint := causeOf(err)
		s.diags.Error(rule, diag.Place{}, s.reader.Scrub(err.Error()), diag.Hint(hint))
		return nil
	}
	line := fmt.Sprintf("comment on #%d %s", number, kept.Action)
	if kept.URL != "" {
		line += ": " + diag.Safe(kept.URL)
	}
	fmt.Fprintln(s.stderr, line)
	return nil
}

// findRequest returns the repository of a pull request, in normal form, and its number.
func (s *session) findRequest(in, given string) (repo string, number int, err error) {
	if url := requestForm.FindStringSubmatch(given); url != nil {
		if repo, err = gitops.NormalURL(url[1]); err != nil {
			return "", 0, usageError("--pull-request %s: %w", given, err)
		}
		if own, err := gitops.NormalURL(in); in != "" && (err != nil || own != repo) {
			return "", 0, usageError("--pull-request %s is not in the repository %s", given, in)
		}
		return repo, numberOf(url[2]), nil
	}
	running := s.pullRequest()
	if in != "" {
		running = nil // it is of the control plane
	}
	if number = numberOf(given); given == "" && running != nil {
		number = running.number
	}
	if number == 0 {
		return "", 0, usageError("--pull-request %q: give the number of the pull request, or its URL", given)
	}
	if running != nil {
		repo, err = gitops.NormalURL(s.env("GITHUB_SERVER_URL") + "/" + s.env("GITHUB_REPOSITORY"))
		return repo, number, err
	}
	if repo = in; repo == "" {
		repo, err = s.flags.findControlPlane(s.edges)
	}
	if err == nil {
		repo, err = s.reader.Where(model.Ref{Repo: repo, Role: model.Main})
	}
	return repo, number, err
}

// numberOf reads the number of a pull request; 0 if it is none.
func numberOf(text string) int {
	n := 0
	for _, digit := range strings.TrimPrefix(text, "#") {
		if digit < '0' || digit > '9' || n > 1<<30 {
			return 0
		}
		n = 10*n + int(digit-'0')
	}
	return n
}
