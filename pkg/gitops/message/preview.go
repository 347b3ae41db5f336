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

// Preview is the effect of a pull request on the fleet after it is merged and promoted.
type Preview struct {
	// Environments are the affected environments, in the order of the output.
	Environments []EnvironmentPreview
	// Failed are the names of the environments that do not compile.
	Failed []string
	// Problems are errors and warnings.
	Problems diag.List
	// Command is the command that shows the same locally.
	Command string
}

// EnvironmentPreview is the effect on one environment.
type EnvironmentPreview struct {
	// Report has the environment and its Change; its provenance is ignored.
	Report
	// Causes are the reasons why targets are added or removed, in order of cluster type and target.
	Causes []TargetCause
}

// TargetCause is the reason why a deployment target is added or removed.
type TargetCause struct {
	change.TargetChange
	// Why is a line of text, and At the place of the cause.
	Why string
	At  diag.Place
}

// previewMarker begins the comment that kalypso updates. It is not visible on GitHub.
const previewMarker = "<!-- kalypso:preview:v1 -->"

// MaxComment is the maximum length of a comment in characters.
const MaxComment = 65_536

var previewMarkerLine = regexp.MustCompile(`^<!-- kalypso:preview:v1 -->[ \t]*\r?(\n|$)`)

// IsPreview reports whether the text of a comment is a preview.
func IsPreview(comment string) bool { return previewMarkerLine.MatchString(comment) }

// PreviewComment returns the text of a comment in Markdown: a table of the environments, the problems, and for each
// changed environment its changes with their causes. It has at most limit bytes. Parts that do not fit are left out, and
// the text says how to see them; the table and the marker are always present.
func PreviewComment(p Preview, limit int) string {
	p.Problems = p.Problems.Sorted()
	end := "\n" + markdown.Details("Reproduce", markdown.Fenced("", markdown.SanitizeLines(p.Command, maxLine)))
	text := previewMarker + "\n## Effect on the fleet\n\n" + p.table(limit/3) + p.problems(limit/4)
	budget := limit - len(restLeftOut) - len(end) - len(text)
	changed := p.changed()
	shown := fitting(budget, len(changed), func(i int) string {
		part := changed[i].markdown(budget / (len(changed) - i))
		budget -= len(part)
		return part
	})
	if len(shown) < len(changed) {
		end = restLeftOut + end
	}
	return text + strings.Join(shown, "") + end
}

// restLeftOut replaces the environments that do not fit.
const restLeftOut = "\nThis text is too long to include further environments.\n"

func (p Preview) changed() []EnvironmentPreview {
	var changed []EnvironmentPreview
	for _, e := range p.Environments {
		if !e.Change.Empty() || len(e.Notes) > 0 {
			changed = append(changed, e)
		}
	}
	return changed
}

// table returns a table with a row for each environment, as many as fit.
func (p Preview) table(budget int) string {
	switch {
	case len(p.Environments)+len(p.Failed) > 0:
	case p.Problems.HasErrors():
		return "Unknown until it compiles.\n"
	default:
		return "No environment uses the changed files.\n"
	}
	const head = "| Environment | Removed | Changed | Added | Unchanged |\n| --- | --- | --- | --- | --- |\n"
	rows := fitting(budget-len(head)-frame, len(p.Environments)+len(p.Failed), p.row)
	text := head + strings.Join(rows, "")
	if rest := len(p.Environments) + len(p.Failed) - len(rows); rest > 0 {
		text += "\n" + more(rest) + "\n"
	}
	if len(p.changed())+len(p.Failed) == 0 {
		text += "\nNothing changes on any cluster.\n"
	}
	return text
}

// row returns row i of the table: first the environments, then those that do not compile.
func (p Preview) row(i int) string {
	if i >= len(p.Environments) {
		return fmt.Sprintf("| %s | _does not compile_ | | | |\n", nameCell(p.Failed[i-len(p.Environments)]))
	}
	counts := summarize(p.Environments[i].Change).actionCounts
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", nameCell(p.Environments[i].Environment),
		counts.count(change.Removed), counts.count(change.Changed), counts.count(change.Added), counts.count(change.Unchanged))
}

func (p Preview) problems(budget int) string {
	if len(p.Problems) == 0 {
		return ""
	}
	kind := "NOTE"
	if p.Problems.HasErrors() {
		kind = "CAUTION"
	}
	text := fmt.Sprintf("\n> [!%s]\n> **%s**\n\n", kind, p.Problems.Summary())
	block, shown := fittingCode("", budget-frame, len(p.Problems), func(i int) string { return diagnosticLines(p.Problems[i]) })
	if rest := len(p.Problems) - shown; rest > 0 {
		return text + block + "\n" + more(rest) + "\n"
	}
	return text + block
}

// markdown returns an environment with its heading, in at most budget bytes.
func (e EnvironmentPreview) markdown(budget int) string {
	head := fmt.Sprintf("\n## %s\n\n**%s**\n\n", nameSpan(e.Environment), e.Change.Plan())
	return head + e.Details(budget-len(head))
}

// Details returns the changes of an environment, in at most budget bytes of Markdown; "" if there are none or they do
// not fit.
func (e EnvironmentPreview) Details(budget int) string {
	const reserve = 300 // for what is left out
	if budget < 2*reserve {
		return ""
	}
	b := newBody(e.Report)
	text := b.fit(budget-reserve, []part{
		{at: 0, name: "the notes", write: b.notes},
		{at: 1, write: func(budget int) string { return e.movements(b, budget) }},
		{at: 2, write: b.keyTable},
		{at: 3, write: b.clusterTypeTable},
		{at: 4, write: b.diffs},
	})
	if omitted := "\nOmitted: " + enumerate(b.omitted) + ".\n"; len(b.omitted) > 0 && len(omitted) < reserve {
		text += omitted
	}
	return text
}

// movements returns a table of the removed and added targets, in this order.
func (e EnvironmentPreview) movements(b *body, budget int) string {
	const title, head = "### Added and removed targets\n\n", "| | Target | Reason | Source |\n| --- | --- | --- | --- |\n"
	causes := slices.DeleteFunc(slices.Clone(e.Causes), func(c TargetCause) bool { return c.Action != change.Removed && c.Action != change.Added })
	slices.SortStableFunc(causes, func(a, b TargetCause) int { return cmp.Compare(b.Action, a.Action) })
	rows := fitting(budget, len(causes), func(i int) string { return causes[i].row() })
	b.omit(len(causes)-len(rows), "%s that are added or removed", "assignment")
	if len(rows) == 0 {
		return ""
	}
	return table(title, head, rows, maxOpen)
}

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
