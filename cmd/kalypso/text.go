package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// printText writes the results for people: for each environment the plan, what happens to each
// deployment target, and for a dry run the differences of the files.
func (s *session) printText() error {
	out := bufio.NewWriter(s.stdout)
	p := textPrinter{out, newPalette(s.colourful(s.flags.color, s.stdoutTerminal))}
	for i, result := range s.results {
		if len(result.changes) == 0 && (result.tree == nil || result.diags.HasErrors()) {
			continue // the diagnostics say why
		}
		if i > 0 && len(result.changes) > 0 {
			fmt.Fprintln(out)
		}
		p.result(result, len(s.results) > 1)
		if result.folder != "" {
			fmt.Fprintf(s.stderr, "%s is in %s (%s)\n", result.environment.Name.Value, result.folder, diag.Plural(len(result.tree.Files), "file"))
		}
	}
	return out.Flush()
}

// printNotes tells people what is neither a result nor a diagnostic.
func (s *session) printNotes() {
	for _, result := range s.results {
		for _, note := range result.notes {
			fmt.Fprintf(s.stderr, "%s: %s\n", result.environment.Name.Value, diag.Safe(note))
		}
	}
}

// result writes one environment; named says that there are others to tell it from.
func (p textPrinter) result(r *result, named bool) {
	name := ""
	if named {
		name = r.environment.Name.Value + ": "
	}
	if len(r.changes) == 0 {
		fmt.Fprintln(p, name+r.size())
	}
	for i, change := range r.changes {
		if i > 0 {
			fmt.Fprintln(p)
		}
		if len(r.changes) > 1 {
			fmt.Fprintf(p, "%sGitOpsRepo %s: ", name, change.GitOpsRepo)
		} else {
			fmt.Fprint(p, name)
		}
		p.change(change, r.folder == "" && change.Published == nil)
		p.published(change.Published)
	}
}

// published says what became of a change.
func (p textPrinter) published(r *publishedResult) {
	if r == nil {
		return
	}
	if r.Pushed {
		fmt.Fprintf(p, "pushed %.12s to %s of %s\n", r.Commit, diag.Safe(r.Branch), r.Repo)
	}
	if request := r.PullRequest; request != nil && request.Number > 0 {
		action := string(request.Action)
		if request.State == gitops.PullRequestMerged {
			action += " and merged"
		}
		fmt.Fprintf(p, "pull request #%d %s: %s\n", request.Number, action, diag.Safe(request.URL))
	}
	for _, closed := range r.Closed {
		fmt.Fprintf(p, "pull request #%d closed: %s\n", closed.Number, diag.Safe(closed.URL))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(p, "note: %s\n", diag.Safe(note))
	}
}

// size says how much was compiled.
func (r *result) size() string {
	return fmt.Sprintf("%s on %s, %s", diag.Plural(len(r.assignments), "target"), diag.Plural(len(r.fleet.ClusterTypes), "cluster type"),
		diag.Plural(len(r.tree.Files), "file"))
}

type textPrinter struct {
	io.Writer
	palette
}

func (p textPrinter) change(c *changeResult, withDiff bool) {
	if c.Plan.Summary != "" {
		fmt.Fprintln(p, p.heading(c.Plan.Summary))
	}
	if c.waiting {
		return
	}
	if c.change.Empty() {
		fmt.Fprintln(p, "up to date")
		return
	}
	p.targets(c)
	if withDiff {
		for _, file := range c.change.Files {
			p.file(file)
		}
	}
	fmt.Fprintf(p, "\n%d added, %d changed, %d removed files\n",
		c.change.CountFiles(gitops.Added), c.change.CountFiles(gitops.Changed), c.change.CountFiles(gitops.Removed))
}

// targets lists what happens to each target, what goes first.
func (p textPrinter) targets(c *changeResult) {
	if len(c.Targets) > 0 {
		fmt.Fprintln(p)
	}
	for _, action := range []gitops.Action{gitops.Removed, gitops.Changed, gitops.Added} {
		for _, t := range c.Targets {
			if t.Action != action {
				continue
			}
			line := fmt.Sprintf("%s %s/%s", action.Sign(), t.ClusterType, t.Target)
			if len(t.Files) > 0 {
				line += "  " + strings.Join(t.Files, ", ")
			}
			fmt.Fprintln(p, p.paint(action, line))
		}
	}
}

func (p textPrinter) paint(action gitops.Action, text string) string {
	switch action {
	case gitops.Added:
		return p.added(text)
	case gitops.Removed:
		return p.removed(text)
	default:
		return p.changed(text)
	}
}

// file writes a unified diff.
func (p textPrinter) file(f gitops.FileChange) {
	before, after := "a/"+f.Path, "b/"+f.Path
	if f.Action == gitops.Added {
		before = "/dev/null"
	}
	if f.Action == gitops.Removed {
		after = "/dev/null"
	}
	text := string(diff.Diff(before, f.Old, after, f.New.Bytes()))
	// The first line repeats the names in a form of its own.
	_, text, _ = strings.Cut(text, "\n")
	fmt.Fprintln(p)
	for line := range strings.Lines(text) {
		fmt.Fprintln(p, p.diffLine(strings.TrimSuffix(line, "\n")))
	}
}

func (p textPrinter) diffLine(line string) string {
	pieces := strings.Split(line, "\t") // tabs are harmless, and part of what is compared
	for i, piece := range pieces {
		pieces[i] = diag.Safe(piece)
	}
	safe := strings.Join(pieces, "\t")
	switch {
	case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		return p.heading(safe)
	case strings.HasPrefix(line, "@@"):
		return p.faint(safe)
	case strings.HasPrefix(line, "+"):
		return p.added(safe)
	case strings.HasPrefix(line, "-"):
		return p.removed(safe)
	default:
		return safe
	}
}
