package gitops

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// PullRequestBody returns the description of a pull request in Markdown, for a reviewer who has a
// minute: what changes in one line, what goes away, what caused it, then per cluster type and per
// config key, then the diffs. It has at most limit bytes (GitHub takes 65,536 characters). What does
// not fit is left out from the end of that order, and the body says what that is and how to see it;
// the counts are always there.
func PullRequestBody(r Report, limit int) string {
	b := &body{Report: r, blast: newBlast(r.Change)}
	reserve := min(900, limit/3) // for the end, which is written last
	room := limit - reserve
	// In the order in which they are needed; each may take a share in percent of the room that is left.
	parts := []part{
		{at: 0, share: 100, write: b.plan},
		{at: 1, share: 45, write: b.removals},
		{at: 2, share: 45, write: b.held},
		{at: 3, share: 20, write: b.notes},
		{at: 4, share: 40, write: b.causes},
		{at: 5, share: 45, write: b.clusterTypeTable},
		{at: 7, share: 60, write: b.keyTable},
		{at: 6, share: 25, write: b.targetLists},
		{at: 9, share: 20, write: b.warnings},
		{at: 10, share: 35, write: b.provenance},
		{at: 8, share: 100, write: b.diffs},
	}
	for i, p := range parts {
		text := p.write(room * p.share / 100)
		if text != "" && len(text) < room {
			parts[i].text = text
			room -= len(text) + 1
		}
	}
	parts = append(parts, part{at: 11, text: b.end(room + reserve)})
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.at, b.at) })
	return joinParts(parts, limit)
}

// part is a section of a body.
type part struct {
	// at is its place.
	at    int
	share int
	// write returns at most room bytes of Markdown, with a line break at the end; empty if there is
	// nothing to say or no room to say it.
	write func(room int) string
	text  string
}

func joinParts(parts []part, limit int) string {
	var b strings.Builder
	for _, p := range parts {
		if p.text == "" || b.Len()+1+len(p.text) > limit {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.text)
	}
	return b.String()
}

type body struct {
	Report
	blast *blast
	// omitted says what was left out for want of room.
	omitted []string
}

// omit notes what is left out.
func (b *body) omit(what string) { b.omitted = append(b.omitted, what) }

// sheet is text that must not grow beyond its room.
type sheet struct {
	strings.Builder
	room int
	// fence is how many backticks more than usual must stand before and after it, if it is code.
	fence int
}

// add writes a text as a whole, or not at all.
func (s *sheet) add(text string) bool {
	if s.Len()+len(text) > s.room {
		return false
	}
	s.WriteString(text)
	return true
}

// addCode writes lines of code, and keeps room for the fences that they need.
func (s *sheet) addCode(lines string) bool {
	fence := max(s.fence, longestRun(lines)+1-minFence)
	if s.Len()+len(lines)+2*fence > s.room {
		return false
	}
	s.WriteString(lines)
	s.fence = fence
	return true
}

// finish adds what room was kept for.
func (s *sheet) finish(text string) string {
	s.WriteString(text)
	return s.String()
}

// details folds Markdown away behind a summary, which is HTML.
func details(summary, content string) string {
	return detailsStart(summary) + content + detailsEnd
}

const detailsEnd = "\n</details>\n"

func detailsStart(summary string) string { return "<details><summary>" + summary + "</summary>\n\n" }

// minFence is how many backticks a fence has.
const minFence = 3

// fenced puts lines into a block of code. They must be inert.
func fenced(language, lines string) string {
	fence := strings.Repeat("`", max(minFence, longestRun(lines)+1))
	return fence + language + "\n" + lines + fence + "\n"
}

// end says how to see everything, and what was left out.
func (b *body) end(room int) string {
	command := fenced("", b.command()+"\n")
	see := "### See it for yourself\n\n"
	if len(b.omitted) > 0 {
		see = "### Left out\n\nFor its length, this text leaves out " + enumerate(b.omitted) + ". This shows everything:\n\n"
	}
	for _, text := range []string{see + command, see, "Much is left out here.\n"} {
		if len(text) < room {
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
