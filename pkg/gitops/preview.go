package gitops

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
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
	TargetChange
	// Why is a line of text, and At where it is written.
	Why string
	At  diag.Place
}

// PreviewMarker begins the comment that is kept up to date. People do not see it.
const PreviewMarker = "<!-- kalypso:preview:v1 -->"

// maxForgeBody is how many characters GitHub takes for a body.
const maxForgeBody = 65_536

// MaxComment is how many characters a comment may have.
const MaxComment = maxForgeBody

var previewMarkerLine = regexp.MustCompile(`^<!-- kalypso:preview:v1 -->[ \t]*\r?(\n|$)`)

// IsPreview tells whether the text of a comment is a preview.
func IsPreview(comment string) bool { return previewMarkerLine.MatchString(comment) }

// PreviewComment returns the text of a comment in Markdown: a table of the environments, what is wrong, and for each
// environment that changes what comes, goes and changes, with reasons. It has at most limit bytes. What does not fit is
// left out, and the text says how to see it; the table and the marker are always there.
func PreviewComment(p Preview, limit int) string {
	p.Problems = p.Problems.Sorted()
	end := "\n" + details("See it for yourself", fenced("", inertLines(p.Command)))
	s := &sheet{room: limit - len(restLeftOut) - len(end)}
	s.add(PreviewMarker + "\n## What this does to the fleet\n\n")
	s.add(p.table(limit / 3))
	s.add(p.problems(limit / 4))
	left := 0
	changed := p.changed()
	for i, e := range changed {
		if !s.add(e.markdown((s.room - s.Len()) / (len(changed) - i))) {
			left++
		}
	}
	if left > 0 {
		end = restLeftOut + end
	}
	return s.finish(end)
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
	const nothing = "\nNothing changes on any cluster.\n"
	rows := &sheet{room: room - len(nothing) - len("\n"+more(1<<30)+"\n")}
	rows.add("| Environment | Removed | Changed | Added | Unchanged |\n| --- | --- | --- | --- | --- |\n")
	rest := ""
	for i, e := range p.Environments {
		counts := func(action Action) string { return count(e.Change.Count(action)) }
		if !rows.add(fmt.Sprintf("| %s | %s | %s | %s | %s |\n", nameCell(e.Environment), counts(Removed), counts(Changed), counts(Added), counts(Unchanged))) {
			rest = "\n" + more(len(p.Environments)-i) + "\n"
			break
		}
	}
	for _, name := range p.Failed {
		if rest == "" && !rows.add(fmt.Sprintf("| %s | _does not compile_ | | | |\n", nameCell(name))) {
			rest = "\n" + "and others that do not compile\n"
		}
	}
	if len(p.changed())+len(p.Failed) == 0 {
		rest += nothing
	}
	return rows.finish(rest)
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
	head := fmt.Sprintf("\n> [!%s]\n> **%s**\n\n", kind, p.Problems.Summary())
	lines := &sheet{room: room - len(head) - len(fenced("", "")) - len(more(1<<30)) - 1}
	shown := 0
	for _, d := range p.Problems {
		if !lines.addCode(inertLines(diag.Format(d, diag.Style{}))) {
			break
		}
		shown++
	}
	text := lines.String()
	if shown < len(p.Problems) {
		text += more(len(p.Problems)-shown) + "\n"
	}
	return head + fenced("", text)
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
	b := &body{Report: e.Report, blast: newBlast(e.Change)}
	left := room - reserve
	parts := []part{
		{at: 0, share: 30, write: b.notes},
		{at: 1, share: 45, write: func(room int) string { return e.movements(b, room) }},
		{at: 2, share: 60, write: b.keyTable},
		{at: 3, share: 40, write: b.clusterTypeTable},
		{at: 4, share: 100, write: b.diffs},
	}
	for i, p := range parts {
		if text := p.write(left * p.share / 100); len(text) < left {
			parts[i].text = text
			left -= len(text) + 1
		}
	}
	text := joinParts(parts, room-reserve)
	if omitted := "\nLeft out: " + enumerate(b.omitted) + ".\n"; len(b.omitted) > 0 && len(omitted) < reserve {
		text += omitted
	}
	return text
}

const (
	movementsTitle = "### Targets that come and go\n\n"
	movementsHead  = "| | Target | Why | Written at |\n| --- | --- | --- | --- |\n"
)

// movements is a table of the targets that come and go, those that go first.
func (e EnvironmentPreview) movements(b *body, room int) string {
	if len(e.Causes) == 0 {
		return ""
	}
	rows := &sheet{room: room - len(movementsTitle+movementsHead) - len("\n"+detailsStart(more(1<<20))+movementsHead+detailsEnd)}
	shown, open := 0, 0
	for _, action := range []Action{Removed, Added} {
		for _, c := range e.Causes {
			if c.Action != action {
				continue
			}
			where := ""
			if !c.At.IsZero() {
				where = tableCell(shorten(c.At.String(), maxLine))
			}
			row := fmt.Sprintf("| %s | %s | %s | %s |\n", map[Action]string{Removed: "**removed**", Added: "added"}[action],
				nameCell(c.ClusterType+"/"+c.Target), cmp.Or(tableCell(shorten(c.Why, maxLine)), "?"), where)
			if !rows.add(row) {
				b.omit(diag.Plural(len(e.Causes)-shown, "target") + " that come or go")
				return frameMovements(rows.String(), open)
			}
			if shown++; shown <= maxOpen {
				open = rows.Len()
			}
		}
	}
	return frameMovements(rows.String(), open)
}

// frameMovements shows the rows up to a place, and folds the rest away.
func frameMovements(rows string, open int) string {
	if rows == "" {
		return ""
	}
	if open == len(rows) {
		return movementsTitle + movementsHead + rows
	}
	rest := rows[open:]
	return movementsTitle + movementsHead + rows[:open] + "\n" + details(more(strings.Count(rest, "\n")), movementsHead+rest)
}
