package session

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
)

// Printer writes results of environments.
type Printer struct {
	term.Printer
	// stat asks for counts per cluster type instead of targets and files.
	stat bool
	// Quiet leaves out notices.
	Quiet bool
}

// Notice writes a notice in an indented line.
func (p Printer) Notice(indent, text string) {
	if !p.Quiet {
		fmt.Fprintf(p, "%snotice: %s\n", indent, diag.Safe(text))
	}
}

// NewPrinter returns a printer to w.
func NewPrinter(w io.Writer, colours term.Palette) Printer {
	return Printer{Printer: term.Printer{Writer: w, Palette: colours}}
}

// Stat writes the added, changed and removed targets of each cluster type with changes, as counts.
func (p Printer) Stat(c *change.Change) {
	counts := map[string]map[change.Action]int{}
	for _, t := range c.Targets {
		if counts[t.ClusterType] == nil {
			counts[t.ClusterType] = map[change.Action]int{}
		}
		counts[t.ClusterType][t.Action]++
	}
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		n := counts[name]
		if n[change.Added]+n[change.Changed]+n[change.Removed] > 0 {
			rows = append(rows, []string{
				name, fmt.Sprintf("+%d", n[change.Added]), fmt.Sprintf("~%d", n[change.Changed]),
				fmt.Sprintf("-%d", n[change.Removed]), fmt.Sprintf("=%d", n[change.Unchanged]),
			})
		}
	}
	fmt.Fprintln(p)
	p.Rows(0, rows, "CLUSTER TYPE", "ADDED", "CHANGED", "REMOVED", "UNCHANGED")
}

// Paint colours a text by action.
func (p Printer) Paint(action change.Action, text string) string {
	switch action {
	case change.Added:
		return p.Added(text)
	case change.Removed:
		return p.Removed(text)
	default:
		return p.Changed(text)
	}
}

// File writes a unified diff.
func (p Printer) File(f change.FileChange) {
	before, after := "a/"+f.Path, "b/"+f.Path
	if f.Action == change.Added {
		before = "/dev/null"
	}
	if f.Action == change.Removed {
		after = "/dev/null"
	}
	text := string(diff.Diff(before, f.Old, after, f.New.Bytes()))
	// The first line repeats the names in another format.
	_, text, _ = strings.Cut(text, "\n")
	fmt.Fprintln(p)
	for line := range strings.Lines(text) {
		fmt.Fprintln(p, p.diffLine(strings.TrimSuffix(line, "\n")))
	}
}

func (p Printer) diffLine(line string) string {
	pieces := strings.Split(line, "\t") // tabs are safe to print and part of the content
	for i, piece := range pieces {
		pieces[i] = diag.Safe(piece)
	}
	colour := func(text string) string { return text }
	switch {
	case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		colour = p.Heading
	case strings.HasPrefix(line, "@@"):
		colour = p.Faint
	case strings.HasPrefix(line, "+"):
		colour = p.Added
	case strings.HasPrefix(line, "-"):
		colour = p.Removed
	}
	return colour(strings.Join(pieces, "\t"))
}
