package promotion

import (
	"fmt"
	"io"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/fleetstatus"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// Text writes what became of promotions for people: the check first, then each environment that something was
// promoted to, and what was published.
func (v promotionView) Text() error {
	p := promotionPrinter{v.Stdout, v.OutPalette(v.Flags.Color)}
	if v.checked != nil {
		p.check(v.checked)
	}
	for _, outcome := range v.outcomes {
		p.outcome(outcome)
	}
	if len(v.Results) == 0 || v.Failed() && !v.Listed {
		return nil
	}
	fmt.Fprintln(p)
	return v.PrintText()
}

type promotionPrinter struct {
	io.Writer
	term.Palette
}

// check says what a check has found.
func (p promotionPrinter) check(c *Checked) {
	if c.Snapshot != nil {
		fleetstatus.Print(p, *c.Snapshot, p.Palette)
		fmt.Fprintln(p)
	}
	fmt.Fprintln(p, p.Heading(c.verdict()))
	p.status(c.Status)
	for _, commit := range c.Superseded {
		fmt.Fprintf(p, "%.12s was overtaken before it was deployed\n", commit)
	}
	for _, note := range c.Notes {
		fmt.Fprintf(p, "note: %s\n", diag.Safe(note))
	}
}

// verdict says in a line what a check has found.
func (c *Checked) verdict() string {
	name := c.environment
	switch {
	case c.State == promote.CheckNothing:
		return name + ": nothing to do"
	case c.promoted == "":
		return name + " was not checked"
	case c.State == promote.CheckFailed && (c.Snapshot == nil || c.Verdict == promote.Unreachable):
		return fmt.Sprintf("whether %s has deployed %.12s is not known", name, c.promoted)
	}
	text := map[promote.CheckState]string{
		promote.CheckUnmerged:   "%s waits for a merge: not all of its GitOps repositories have %.12s",
		promote.CheckDeployed:   "%s has deployed %.12s",
		promote.CheckFailed:     "%s has not deployed %.12s",
		promote.CheckWaiting:    "%s has not deployed %.12s yet",
		promote.CheckSuperseded: "%s goes on without %.12s, which was overtaken",
		promote.CheckByHand:     "%s waits for a person to say that %.12s is deployed",
	}[c.State]
	if text == "" { // it was not found out
		text = "whether %s has deployed %.12s is not known"
	}
	return fmt.Sprintf(text, name, c.promoted)
}

// outcome says what became of a promotion.
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
		fmt.Fprintf(p, "note: %s\n", diag.Safe(note))
	}
}

// changeOf says what an environment gets.
func changeOf(o promote.Outcome) string {
	from := "nothing"
	if o.From != "" {
		from = fmt.Sprintf("%.12s", o.From)
	}
	step := fmt.Sprintf("%s -> %.12s", from, o.Commit)
	switch {
	case o.Action == promote.ActionUnchanged && o.Newer:
		return fmt.Sprintf("has %s, which is newer than %.12s", from, o.Commit)
	case o.Action == promote.ActionUnchanged:
		return fmt.Sprintf("has %.12s already", o.Commit)
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
