package gitops

import (
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// plan is the change in one line, and how far it reaches.
func (b *body) plan(int) string {
	plan := "**" + b.Change.Plan().String() + "**\n\n"
	if b.Change.Idle() {
		plan += fmt.Sprintf("**No cluster changes** in environment %s.", nameSpan(b.Environment))
	} else {
		plan += fmt.Sprintf("Reaches %d of %s and %d of %s of environment %s.",
			len(b.blast.clusterTypes), diag.Plural(b.blast.all, "cluster type"),
			b.blast.moved(), diag.Plural(b.blast.total(), "target"), nameSpan(b.Environment))
	}
	return plan + b.promotion() + "\n"
}

// promotion says which commit is promoted.
func (b *body) promotion() string {
	before, after, promotes := b.Change.Promotion()
	switch {
	case !promotes:
		return ""
	case before == "":
		return fmt.Sprintf(" Promotes %s.", nameSpan(shortCommit(after)))
	default:
		return fmt.Sprintf(" Promotes %s, after %s.", nameSpan(shortCommit(after)), nameSpan(shortCommit(before)))
	}
}

// nameSpan shows the name of something.
func nameSpan(text string) string {
	if text == "" {
		return "?"
	}
	return codeSpan(shorten(text, maxName))
}

// removals warns of what goes away.
func (b *body) removals(room int) string {
	gone := b.blast.actionCounts[Removed]
	if gone == 0 && len(b.removedClusterTypes()) == 0 {
		return ""
	}
	s := &sheet{room: room}
	s.add("> [!CAUTION]\n")
	if gone > 0 {
		s.add(fmt.Sprintf("> **%s %s removed.** Merging this takes what runs there off the clusters.\n",
			diag.Plural(gone, "target"), be(gone)))
		s.names("> Targets: ", b.removedTargets)
	}
	if types := b.removedClusterTypes(); len(types) > 0 {
		if gone > 0 {
			s.add(">\n")
		}
		s.add(fmt.Sprintf("> **%s %s removed.**\n", diag.Plural(len(types), "cluster type"), be(len(types))))
		s.names("> Cluster types: ", func(yield func(string) bool) {
			for _, t := range types {
				if !yield(t) {
					return
				}
			}
		})
	}
	return s.String()
}

func be(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// maxNamed is how many names are listed where the reader only wants to get an idea.
const maxNamed = 10

// names adds a line with the first of some names, and how many more there are.
func (s *sheet) names(head string, all func(yield func(string) bool)) {
	line := sheet{room: s.room - s.Len() - len(more(1<<30)) - len(" \n")}
	line.add(head)
	shown, total := 0, 0
	for text := range all {
		total++
		separator := ", "
		if shown == 0 {
			separator = ""
		}
		if shown < maxNamed && shown == total-1 && line.add(separator+nameSpan(text)) {
			shown++
		}
	}
	switch {
	case shown == 0:
		return
	case shown < total:
		s.add(line.String() + " " + more(total-shown) + "\n")
	default:
		s.add(line.String() + "\n")
	}
}

func (b *body) removedTargets(yield func(string) bool) {
	for _, t := range b.Change.Targets {
		if t.Action == Removed && !yield(t.ClusterType+"/"+t.Target) {
			return
		}
	}
}

func (b *body) removedClusterTypes() []string {
	var names []string
	for _, t := range b.blast.clusterTypes {
		if t.action == Removed {
			names = append(names, t.name)
		}
	}
	return names
}

// held warns of registrations that are not published as they are.
func (b *body) held(room int) string {
	if len(b.Held) == 0 {
		return ""
	}
	s := &sheet{room: room - len("> - "+more(1<<30)+"\n")}
	s.add("> [!WARNING]\n")
	s.add(fmt.Sprintf("> **%s %s held back**, because %s broken. Everything else is up to date.\n",
		diag.Plural(len(b.Held), "workload registration"), be(len(b.Held)), map[bool]string{true: "it is", false: "they are"}[len(b.Held) == 1]))
	s.add(">\n")
	shown := 0
	for _, held := range sortedHeld(b.Held) {
		if shown == 2*maxNamed || !s.add("> - "+held.markdown()+"\n") {
			break
		}
		shown++
	}
	if rest := len(b.Held) - shown; rest > 0 {
		return s.finish("> - " + more(rest) + "\n")
	}
	return s.String()
}

func (h HeldRegistration) markdown() string {
	what := "stays as it is published"
	if h.Commit != "" {
		what = "is compiled at " + nameSpan(shortCommit(h.Commit))
	}
	if h.Why == "" {
		return nameSpan(h.Name) + " " + what
	}
	return nameSpan(h.Name) + " " + what + ": " + codeSpan(shorten(h.Why, maxLine))
}

// notes are what the caller wants to be said.
func (b *body) notes(room int) string {
	if len(b.Notes) == 0 {
		return ""
	}
	s := &sheet{room: room}
	s.add("> [!NOTE]\n")
	for _, note := range b.Notes {
		s.add("> - " + codeSpan(shorten(note, maxLine)) + "\n")
	}
	return s.String()
}

// warnings folds the warnings of the run away.
func (b *body) warnings(room int) string {
	if len(b.Warnings) == 0 {
		return ""
	}
	summary := diag.Plural(len(b.Warnings), "warning")
	lines := &sheet{room: room - len(details(summary, fenced("", "")))}
	shown := 0
	for _, d := range b.Warnings.Sorted() {
		if !lines.addCode(inertLines(diag.Format(d, diag.Style{}))) {
			break
		}
		shown++
	}
	if shown < len(b.Warnings) {
		b.omit(diag.Plural(len(b.Warnings)-shown, "warning"))
	}
	if shown == 0 {
		return ""
	}
	return details(summary, fenced("", lines.String()))
}

// maxLine bounds lines of code, in bytes.
const maxLine = 240

// inertLines makes each line fit for code, and none too long.
func inertLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		pieces := strings.Split(strings.TrimSuffix(line, "\n"), "\t") // tabs are harmless
		for i, piece := range pieces {
			pieces[i] = inert(piece)
		}
		b.WriteString(shorten(strings.Join(pieces, "\t"), maxLine) + "\n")
	}
	return b.String()
}
