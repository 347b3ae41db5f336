package message

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
)

// Preview is what a pull request would do to the fleet once it is merged and promoted.
type Preview struct {
	// Environments are those that it reaches, in the order in which they are shown.
	Environments []EnvironmentPreview
	// Failed are the names of those that cannot be compiled.
	Failed []string
	// Problems are what keeps it from being compiled, and what it makes questionable.
	Problems diag.List
	// Command shows the same on a laptop.
	Command string
}

// EnvironmentPreview is what happens to one environment.
type EnvironmentPreview struct {
	// Report has the environment and its Change; what it says of the origins plays no part.
	Report
	// Causes are why targets come and go, in order of cluster type and target.
	Causes []TargetCause
}

// TargetCause says why a deployment target comes or goes.
type TargetCause struct {
	change.TargetChange
	// Why is a line of text, and At where it is written.
	Why string
	At  diag.Place
}

// previewMarker begins the comment that is kept up to date. People do not see it.
const previewMarker = "<!-- kalypso:preview:v1 -->"

// MaxComment is how many characters a comment may have.
const MaxComment = 65_536

var previewMarkerLine = regexp.MustCompile(`^<!-- kalypso:preview:v1 -->[ \t]*\r?(\n|$)`)

// IsPreview reports whether the text of a comment is a preview.
func IsPreview(comment string) bool { return previewMarkerLine.MatchString(comment) }

// PreviewComment returns the text of a comment in Markdown: a table of the environments, what is wrong, and for each
// environment that changes what comes, goes and changes, with reasons. It has at most limit bytes. What does not fit is
// left out, and the text says how to see it; the table and the marker are always there.
func PreviewComment(p Preview, limit int) string {
	p.Problems = p.Problems.Sorted()
	end := "\n" + markdown.Details("See it for yourself", markdown.Fenced("", markdown.InertLines(p.Command, maxLine)))
	text := previewMarker + "\n## What this does to the fleet\n\n" + p.table(limit/3) + p.problems(limit/4)
	room := limit - len(restLeftOut) - len(end) - len(text)
	changed := p.changed()
	shown := fitting(room, len(changed), func(i int) string {
		part := changed[i].markdown(room / (len(changed) - i))
		room -= len(part)
		return part
	})
	if len(shown) < len(changed) {
		end = restLeftOut + end
	}
	return text + strings.Join(shown, "") + end
}

// restLeftOut stands for what there was no room for.
const restLeftOut = "\nFor its length, this text leaves out further environments.\n"

// changed are the environments of which there is more to say than the table has.
func (p Preview) changed() []EnvironmentPreview {
	var changed []EnvironmentPreview
	for _, e := range p.Environments {
		if !e.Change.Empty() || len(e.Notes) > 0 {
			changed = append(changed, e)
		}
	}
	return changed
}

// table has a row for each environment, as many as fit.
func (p Preview) table(room int) string {
	switch {
	case len(p.Environments)+len(p.Failed) > 0:
	case p.Problems.HasErrors():
		return "Nobody can tell before it compiles.\n"
	default:
		return "No environment is made of what it changes.\n"
	}
	const head = "| Environment | Removed | Changed | Added | Unchanged |\n| --- | --- | --- | --- | --- |\n"
	rows := fitting(room-len(head)-frame, len(p.Environments)+len(p.Failed), p.row)
	text := head + strings.Join(rows, "")
	if rest := len(p.Environments) + len(p.Failed) - len(rows); rest > 0 {
		text += "\n" + more(rest) + "\n"
	}
	if len(p.changed())+len(p.Failed) == 0 {
		text += "\nNothing changes on any cluster.\n"
	}
	return text
}

// row is one of the table: first the environments, then those that cannot be compiled.
func (p Preview) row(i int) string {
	if i >= len(p.Environments) {
		return fmt.Sprintf("| %s | _does not compile_ | | | |\n", nameCell(p.Failed[i-len(p.Environments)]))
	}
	counts := summarize(p.Environments[i].Change).actionCounts
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", nameCell(p.Environments[i].Environment),
		counts.count(change.Removed), counts.count(change.Changed), counts.count(change.Added), counts.count(change.Unchanged))
}

// problems lists errors and warnings.
func (p Preview) problems(room int) string {
	if len(p.Problems) == 0 {
		return ""
	}
	kind := "NOTE"
	if p.Problems.HasErrors() {
		kind = "CAUTION"
	}
	text := fmt.Sprintf("\n> [!%s]\n> **%s**\n\n", kind, p.Problems.Summary())
	block, shown := fittingCode("", room-frame, len(p.Problems), func(i int) string { return diagnosticLines(p.Problems[i]) })
	if rest := len(p.Problems) - shown; rest > 0 {
		return text + block + "\n" + more(rest) + "\n"
	}
	return text + block
}

// markdown is an environment with its heading, in at most room bytes.
func (e EnvironmentPreview) markdown(room int) string {
	head := fmt.Sprintf("\n## %s\n\n**%s**\n\n", nameSpan(e.Environment), e.Change.Plan())
	return head + e.Details(room-len(head))
}

// Details are what there is to say of an environment, in Markdown of at most room bytes; empty if there is nothing, or no
// room.
func (e EnvironmentPreview) Details(room int) string {
	const reserve = 300 // for what is left out
	if room < 2*reserve {
		return ""
	}
	b := newBody(e.Report)
	text := b.fit(room-reserve, []part{
		{at: 0, name: "the notes", write: b.notes},
		{at: 1, write: func(room int) string { return e.movements(b, room) }},
		{at: 2, write: b.keyTable},
		{at: 3, write: b.clusterTypeTable},
		{at: 4, write: b.diffs},
	})
	if omitted := "\nLeft out: " + enumerate(b.omitted) + ".\n"; len(b.omitted) > 0 && len(omitted) < reserve {
		text += omitted
	}
	return text
}

// movements is a table of the targets that come and go, those that go first.
func (e EnvironmentPreview) movements(b *body, room int) string {
	const title, head = "### Targets that come and go\n\n", "| | Target | Why | Written at |\n| --- | --- | --- | --- |\n"
	causes := slices.DeleteFunc(slices.Clone(e.Causes), func(c TargetCause) bool { return c.Action != change.Removed && c.Action != change.Added })
	slices.SortStableFunc(causes, func(a, b TargetCause) int { return cmp.Compare(b.Action, a.Action) })
	rows := fitting(room, len(causes), func(i int) string { return causes[i].row() })
	b.omit(len(causes)-len(rows), "%s that come or go", "assignment")
	if len(rows) == 0 {
		return ""
	}
	return table(title, head, rows, maxOpen)
}

// row is one of the table of movements.
func (c TargetCause) row() string {
	what, where := "added", ""
	if c.Action == change.Removed {
		what = "**removed**"
	}
	if !c.At.IsZero() {
		where = markdown.Cell(diag.Shorten(c.At.String(), maxLine))
	}
	why := cmp.Or(markdown.Cell(diag.Shorten(c.Why, maxLine)), "?")
	return fmt.Sprintf("| %s | %s | %s | %s |\n", what, nameCell(c.ClusterType+"/"+c.Target), why, where)
}
