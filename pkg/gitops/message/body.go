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

// PullRequestBody returns the description of a pull request in Markdown, for a reviewer who has a
// minute: what changes in one line, what goes away, what caused it, then per cluster type and per
// config key, then the diffs. It has at most limit bytes (GitHub takes 65,536 characters). What does
// not fit is left out from the end of that order, and the body says what that is and how to see it;
// the counts are always there.
func PullRequestBody(r Report, limit int) string {
	b := newBody(r)
	reserve := min(900, limit/3) // for the end, which is written last
	text := b.fit(limit-reserve, []part{
		{at: 0, name: "the plan", write: b.plan},
		{at: 1, name: "what is removed", write: b.removals},
		{at: 2, name: "what is held back", write: b.held},
		{at: 3, name: "the notes", write: b.notes},
		{at: 4, write: b.causes},
		{at: 5, write: b.clusterTypeTable},
		{at: 7, write: b.keyTable},
		{at: 6, write: b.targetLists},
		{at: 9, write: b.warnings},
		{at: 10, name: "the list of " + diag.Plural(len(r.Now.Origins), "source") + " (the trailers of the commit are that list)", write: b.provenance},
		{at: 8, write: b.diffs},
	})
	return strings.TrimPrefix(text+"\n"+b.end(limit-len(text)-1), "\n")
}

// part is a section of a body.
type part struct {
	// at is its place in the text.
	at int
	// name says what is missing if the section is left out as a whole, for those that write does not shorten.
	name string
	// write returns about room bytes of Markdown at most, with a line break at the end. It is empty if there is nothing
	// to say or no room to say it.
	write func(room int) string
}

type body struct {
	Report
	summary *summary
	// omitted says what was left out for want of room.
	omitted []string
}

func newBody(r Report) *body { return &body{Report: r, summary: summarize(r.Change)} }

// frame is about how much a section may need for its title and for folding it away.
const frame = 200

// fit writes sections, in order of importance, so that all have at most room bytes. Each gets three fifths of the room
// that is left, the last all of it.
func (b *body) fit(room int, sections []part) string {
	texts := make([]string, len(sections))
	for i, s := range sections {
		share := room
		if i < len(sections)-1 {
			share = room * 3 / 5
		}
		text := s.write(share - frame)
		switch {
		case text == "":
		case len(text) < share:
			texts[s.at] = text
			room -= len(text) + 1
		case s.name != "":
			b.omitted = append(b.omitted, s.name)
		}
	}
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "\n")
}

// omit notes that n things are left out, if any. The format has a %s for their number and noun.
func (b *body) omit(n int, format, noun string) {
	if n > 0 {
		b.omitted = append(b.omitted, fmt.Sprintf(format, diag.Plural(n, noun)))
	}
}

// fitting returns the first of n lines, as many as have room.
func fitting(room, n int, line func(i int) string) []string {
	var lines []string
	for i := range n {
		text := line(i)
		if room -= len(text); room < 0 {
			break
		}
		lines = append(lines, text)
	}
	return lines
}

// fittingCode is fitting for lines of code, which it puts into a block. It returns how many they are.
func fittingCode(language string, room, n int, line func(i int) string) (block string, shown int) {
	lines := fitting(room, n, line)
	for shown = len(lines); shown > 0; shown-- {
		block = markdown.Fenced(language, strings.Join(lines[:shown], ""))
		if len(block) <= room {
			return block, shown
		}
	}
	return "", 0
}

// maxOpen is how many rows of a table are shown; more are folded away.
const maxOpen = 25

// table is a table with its title. Its first rows are shown and the others folded away.
func table(title, head string, rows []string, open int) string {
	open = min(open, len(rows))
	text := title + head + strings.Join(rows[:open], "")
	if rest := rows[open:]; len(rest) > 0 {
		text += "\n" + markdown.Details(more(len(rest)), head+strings.Join(rest, ""))
	}
	return text
}

// end says how to see everything, and what was left out.
func (b *body) end(room int) string {
	command := markdown.Fenced("", b.command()+"\n")
	see := "### See it for yourself\n\n"
	if len(b.omitted) > 0 {
		see = "### Left out\n\nFor its length, this text leaves out " + enumerate(b.omitted) + ". This shows everything:\n\n"
	}
	for _, text := range []string{see + command, see, "Much is left out here.\n"} {
		if len(text) <= room {
			return text
		}
	}
	return ""
}

var argumentForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/~-]{0,199}$`)

// command is what shows the change again. A name that a shell could take for something else is left
// for the reader to fill in.
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

// enumerate joins words: "a, b and c".
func enumerate(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// more is how a list ends that is cut.
func more(n int) string { return fmt.Sprintf("and %d more", n) }

const (
	// maxName bounds what is shown of a name, in bytes, and maxLine a line of text or code.
	maxName = 80
	maxLine = 240
)

// nameSpan shows the name of something.
func nameSpan(text string) string {
	if text == "" {
		return "?"
	}
	return markdown.Code(diag.Shorten(text, maxName))
}

// nameCell shows a name in a table.
func nameCell(name string) string { return markdown.Cell(diag.Shorten(name, maxName)) }

// lineSpan shows a line of text.
func lineSpan(text string) string { return markdown.Code(diag.Shorten(text, maxLine)) }
