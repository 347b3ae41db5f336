package message

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// PullRequestBody returns the description of a pull request in Markdown: a summary in one line, removals, causes, changes
// by cluster type and by config key, then the diffs. It has at most limit bytes (GitHub's limit is 65,536 characters).
// Sections that do not fit are left out, the last ones first, and the body lists them and how to see them; the counts are
// always present.
func PullRequestBody(r Report, limit int) string {
	b := newBody(r)
	reserve := min(900, limit/3) // for the end, which is written last
	text := b.fit(limit-reserve, []part{
		{at: 0, name: "the plan", write: b.plan},
		{at: 1, name: "the removals", write: b.removals},
		{at: 2, name: "the quarantined registrations", write: b.quarantined},
		{at: 3, name: "the notes", write: b.notes},
		{at: 4, write: b.causes},
		{at: 5, write: b.clusterTypeTable},
		{at: 7, write: b.keyTable},
		{at: 6, write: b.targetLists},
		{at: 9, write: b.warnings},
		{at: 10, name: "the list of " + diag.Plural(len(r.Now.Origins), "source") + " (all are in the trailers of the commit)", write: b.provenance},
		{at: 8, write: b.diffs},
	})
	return strings.TrimPrefix(text+"\n"+b.end(limit-len(text)-1), "\n")
}

// part is a section of a body.
type part struct {
	// at is its position in the text.
	at int
	// name describes the section if it is left out as a whole; empty if write shortens it.
	name string
	// write returns at most about budget bytes of Markdown, with a line break at the end. It returns "" if there is no
	// content or it does not fit.
	write func(budget int) string
}

type body struct {
	Report
	summary *summary
	// omitted describes what was left out because of the output limit.
	omitted []string
}

func newBody(r Report) *body { return &body{Report: r, summary: summarize(r.Change)} }

// frame is the approximate size in bytes of the title of a section and of the markup around it.
const frame = 200

// fit writes sections, in order of importance, so that they have at most budget bytes in total. Each gets three fifths of
// the remaining budget, the last one all of it.
func (b *body) fit(budget int, sections []part) string {
	texts := make([]string, len(sections))
	for i, s := range sections {
		share := budget
		if i < len(sections)-1 {
			share = budget * 3 / 5
		}
		text := s.write(share - frame)
		switch {
		case text == "":
		case len(text) < share:
			texts[s.at] = text
			budget -= len(text) + 1
		case s.name != "":
			b.omitted = append(b.omitted, s.name)
		}
	}
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "\n")
}

// omit records that n items are left out, if n is positive. The format has a %s for the number and noun.
func (b *body) omit(n int, format, noun string) {
	if n > 0 {
		b.omitted = append(b.omitted, fmt.Sprintf(format, diag.Plural(n, noun)))
	}
}

// fitting returns the first of n lines, as many as fit into budget bytes.
func fitting(budget, n int, line func(i int) string) []string {
	var lines []string
	for i := range n {
		text := line(i)
		if budget -= len(text); budget < 0 {
			break
		}
		lines = append(lines, text)
	}
	return lines
}

// fittingCode is fitting for lines of code. It returns a code block and the number of its lines.
func fittingCode(language string, budget, n int, line func(i int) string) (block string, shown int) {
	lines := fitting(budget, n, line)
	for shown = len(lines); shown > 0; shown-- {
		block = markdown.Fenced(language, strings.Join(lines[:shown], ""))
		if len(block) <= budget {
			return block, shown
		}
	}
	return "", 0
}

// maxOpen is the maximum number of visible rows of a table; further rows are collapsed.
const maxOpen = 25

// table returns a table with its title. The first rows are visible, the others collapsed.
func table(title, head string, rows []string, open int) string {
	open = min(open, len(rows))
	text := title + head + strings.Join(rows[:open], "")
	if rest := rows[open:]; len(rest) > 0 {
		text += "\n" + markdown.Details(more(len(rest)), head+strings.Join(rest, ""))
	}
	return text
}

// end returns the last section: how to see everything, and what was left out.
func (b *body) end(budget int) string {
	command := markdown.Fenced("", b.command()+"\n")
	see := "### Reproduce\n\n"
	if len(b.omitted) > 0 {
		see = "### Omitted\n\nThis text is too long to include " + enumerate(b.omitted) + ". To show everything:\n\n"
	}
	for _, text := range []string{see + command, see, "Most of the text is omitted.\n"} {
		if len(text) <= budget {
			return text
		}
	}
	return ""
}

var argumentForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/~-]{0,199}$`)

// command returns the command that shows the change. A name with a special meaning in a shell is replaced by "...".
func (b *body) command() string {
	command := "kalypso render --env " + argument(b.Environment)
	for _, o := range b.Now.Origins {
		if o.Role == model.Platform {
			return command + " --control-plane " + argument(o.Repo) + " --dry-run"
		}
	}
	return command + " --dry-run"
}

func argument(value string) string {
	if argumentForm.MatchString(value) {
		return value
	}
	return "..."
}

func enumerate(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// more returns the end of a list that is cut off.
func more(n int) string { return fmt.Sprintf("and %d more", n) }

const (
	// maxName is the maximum length of a name in bytes, maxLine that of a line of text or code.
	maxName = 80
	maxLine = 240
)

// nameSpan returns a name as a code span, "?" if it is empty.
func nameSpan(text string) string {
	if text == "" {
		return "?"
	}
	return markdown.Code(diag.Shorten(text, maxName))
}

func nameCell(name string) string { return markdown.Cell(diag.Shorten(name, maxName)) }

func lineSpan(text string) string { return markdown.Code(diag.Shorten(text, maxLine)) }
