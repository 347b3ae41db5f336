package session

import (
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// PrintText writes the results as text: for each environment the counts, the changed assignments, and for a dry run the file
// diffs. If there are errors, it writes nothing unless Listed is set.
func (s *Session) PrintText() error { return s.printText(false) }

// PrintStat writes the results as counts per cluster type.
func (s *Session) PrintStat() error { return s.printText(true) }

func (s *Session) printText(stat bool) error {
	if s.Failed() && !s.Listed {
		return nil
	}
	p := NewPrinter(s.Stdout, s.OutPalette(s.Flags.Color))
	p.stat, p.Quiet = stat, s.Quiet
	for i, result := range s.Results {
		if len(result.Changes) == 0 && (result.Tree == nil || result.Diags.HasErrors()) {
			continue // the diagnostics have the reason
		}
		if i > 0 && len(result.Changes) > 0 {
			fmt.Fprintln(p)
		}
		p.result(result, len(s.Results) > 1)
		if result.Directory != "" {
			s.notice("%s is in %s (%s)", result.Environment.Name.Value, result.Directory, diag.Plural(len(result.Tree.Files), "file"))
		}
	}
	return nil
}

// result writes one environment, with its name if named is set.
func (p Printer) result(r *Result, named bool) {
	name := ""
	if named {
		name = r.Environment.Name.Value + ": "
	}
	if len(r.Changes) == 0 {
		targets := map[*model.DeploymentTarget]bool{}
		for _, a := range r.Assignments {
			targets[a.Target] = true
		}
		fmt.Fprintf(p, "%s%s, %s\n", name, change.Counts(len(targets), len(r.Fleet.ClusterTypes), len(r.Assignments)), diag.Plural(len(r.Tree.Files), "file"))
	}
	for i, one := range r.Changes {
		if i > 0 {
			fmt.Fprintln(p)
		}
		fmt.Fprint(p, name)
		if len(r.Changes) > 1 {
			fmt.Fprintf(p, "GitOpsRepo %s: ", one.GitOpsRepo)
		}
		p.change(one, r.Directory == "" && one.Published == nil)
		p.published(one.Published)
	}
}

// published writes the result of publishing a change.
func (p Printer) published(r *Published) {
	if r == nil {
		return
	}
	if r.Pushed {
		fmt.Fprintf(p, "pushed %.12s to %s of %s\n", r.Commit, diag.Safe(r.Branch), r.Repo)
	}
	if request := r.PullRequest; request != nil && request.Number > 0 {
		action := string(request.Action)
		if request.State == pullrequest.Merged {
			action += " and merged"
		}
		fmt.Fprintf(p, "pull request #%d %s: %s\n", request.Number, action, diag.Safe(request.URL))
	}
	for _, closed := range r.Closed {
		fmt.Fprintf(p, "pull request #%d closed: %s\n", closed.Number, diag.Safe(closed.URL))
	}
	for _, note := range r.Notes {
		p.Notice("", note)
	}
}

func (p Printer) change(c *Change, withDiff bool) {
	if c.Plan.Summary != "" {
		fmt.Fprintln(p, p.Heading(c.Plan.Summary))
	}
	switch {
	case c.Waiting:
		return
	case c.Change.Empty():
		fmt.Fprintln(p, "up to date")
		return
	case p.stat:
		p.Stat(c.Change)
		return
	case len(c.Targets) > 0:
		fmt.Fprintln(p)
	}
	for _, action := range []change.Action{change.Removed, change.Changed, change.Added} { // removed ones first
		for _, t := range c.Targets {
			if t.Action == action {
				line := fmt.Sprintf("%s %s/%s  %s", action.Sign(), t.ClusterType, t.Target, strings.Join(t.Files, ", "))
				fmt.Fprintln(p, p.Paint(action, strings.TrimSuffix(line, "  ")))
			}
		}
	}
	if withDiff {
		for _, file := range c.Change.Files {
			p.File(file)
		}
	}
	fmt.Fprintf(p, "\nfiles: %d added, %d changed, %d removed\n",
		c.Change.CountFiles(change.Added), c.Change.CountFiles(change.Changed), c.Change.CountFiles(change.Removed))
}
