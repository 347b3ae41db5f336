package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
)

func (b *body) plan(int) string {
	plan := "**" + b.Change.Plan().String() + "**\n\n"
	if b.Change.Idle() {
		plan += fmt.Sprintf("**No cluster changes** in environment %s.", nameSpan(b.Environment))
	} else {
		plan += fmt.Sprintf("Reaches %d of %s and %d of %s of environment %s.",
			len(b.summary.clusterTypes), diag.Plural(b.summary.all, "cluster type"),
			b.summary.moved(), diag.Plural(b.summary.total(), "assignment"), nameSpan(b.Environment))
	}
	return plan + b.promotion() + "\n"
}

func (b *body) promotion() string {
	before, after, promotes := b.Change.Promotion()
	switch {
	case !promotes:
		return ""
	case before == "":
		return fmt.Sprintf(" Promotes %s.", nameSpan(giturl.ShortCommit(after)))
	default:
		return fmt.Sprintf(" Promotes %s, after %s.", nameSpan(giturl.ShortCommit(after)), nameSpan(giturl.ShortCommit(before)))
	}
}

func (b *body) removals(int) string {
	var warnings []string
	if targets := b.removedTargets(); len(targets) > 0 {
		warnings = append(warnings, fmt.Sprintf("> **%s %s removed.** Merging this deletes their workloads from the clusters.\n> Assignments: %s\n",
			diag.Plural(len(targets), "assignment"), be(len(targets)), someNames(targets)))
	}
	if types := b.removedClusterTypes(); len(types) > 0 {
		warnings = append(warnings, fmt.Sprintf("> **%s %s removed.**\n> Cluster types: %s\n",
			diag.Plural(len(types), "cluster type"), be(len(types)), someNames(types)))
	}
	if len(warnings) == 0 {
		return ""
	}
	return "> [!CAUTION]\n" + strings.Join(warnings, ">\n")
}

func be(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// maxNamed is the maximum number of names in a list of examples.
const maxNamed = 10

// someNames lists the first names, and the number of the others.
func someNames(names []string) string {
	var shown []string
	for _, name := range names[:min(maxNamed, len(names))] {
		shown = append(shown, nameSpan(name))
	}
	text := strings.Join(shown, ", ")
	if rest := len(names) - len(shown); rest > 0 {
		text += " " + more(rest)
	}
	return text
}

func (b *body) removedTargets() []string {
	var names []string
	for _, t := range b.Change.Targets {
		if t.Action == change.Removed {
			names = append(names, t.ClusterType+"/"+t.Target)
		}
	}
	return names
}

func (b *body) removedClusterTypes() []string {
	var names []string
	for _, t := range b.summary.clusterTypes {
		if t.action == change.Removed {
			names = append(names, t.name)
		}
	}
	return names
}

func (b *body) quarantined(int) string {
	if len(b.Quarantined) == 0 {
		return ""
	}
	head := fmt.Sprintf("> [!WARNING]\n> **%s %s quarantined** because of errors. Everything else is up to date.\n>\n",
		diag.Plural(len(b.Quarantined), "workload registration"), be(len(b.Quarantined)))
	quarantined := sortedQuarantined(b.Quarantined)
	return head + quotedList(len(quarantined), func(i int) string { return quarantined[i].markdown() })
}

func (h QuarantinedRegistration) markdown() string {
	what := "is unchanged"
	if h.Commit != "" {
		what = "is compiled at " + nameSpan(giturl.ShortCommit(h.Commit))
	}
	if h.Why == "" {
		return nameSpan(h.Name) + " " + what
	}
	return nameSpan(h.Name) + " " + what + ": " + lineSpan(h.Why)
}

// quotedList returns a list in a block quote, with the first items and the number of the others.
func quotedList(n int, item func(i int) string) string {
	shown := min(n, 2*maxNamed)
	var list strings.Builder
	for i := range shown {
		list.WriteString("> - " + item(i) + "\n")
	}
	if shown < n {
		list.WriteString("> - " + more(n-shown) + "\n")
	}
	return list.String()
}

func (b *body) notes(int) string {
	if len(b.Notes) == 0 {
		return ""
	}
	return "> [!NOTE]\n" + quotedList(len(b.Notes), func(i int) string { return lineSpan(b.Notes[i]) })
}

func (b *body) warnings(budget int) string {
	list := b.Warnings.Sorted()
	block, shown := fittingCode("", budget, len(list), func(i int) string { return diagnosticLines(list[i]) })
	b.omit(len(list)-shown, "%s", "warning")
	if shown == 0 {
		return ""
	}
	return markdown.Details(diag.Plural(len(list), "warning"), block)
}

func diagnosticLines(d diag.Diagnostic) string {
	return markdown.SanitizeLines(diag.Format(d, diag.Style{}), maxLine)
}

// diffs returns the collapsed diffs of files, one for each group of files with the same change.
func (b *body) diffs(budget int) string {
	groups := b.Change.FileGroups()
	block, shown := fittingCode("diff", budget, len(groups), func(i int) string { return b.diff(groups[i]) })
	files, left := 0, 0
	for i, group := range groups {
		if files += group.Count; i >= shown {
			left += group.Count
		}
	}
	b.omit(left, "the diffs of %s", "file")
	summary := "Diffs of " + diag.Plural(files, "file")
	switch {
	case shown == 0:
		return ""
	case left > 0:
		summary = fmt.Sprintf("Diffs of %d of %s", files-left, diag.Plural(files, "file"))
	}
	return markdown.Details(summary, block)
}

// Limits of a single diff.
const (
	maxDiffInput = 256 << 10
	maxDiffLines = 120
)

// diff returns the unified diff of the first file of a group, shortened if necessary.
func (b *body) diff(group change.FileGroup) string {
	f := b.Change.Files[group.File]
	before, after := "a/"+markdown.Sanitize(f.Path), "b/"+markdown.Sanitize(f.Path)
	if f.Action == change.Added {
		before = "/dev/null"
	}
	if f.Action == change.Removed {
		after = "/dev/null"
	}
	text := "--- " + before + "\n+++ " + after + "\n@@ too large to show @@\n"
	if content := f.New.Bytes(); len(content)+len(f.Old) <= maxDiffInput {
		// The first line repeats the names in another form.
		_, text, _ = strings.Cut(string(diff.Diff(before, f.Old, after, content)), "\n")
	}
	if group.Count > 1 {
		text = strings.Replace(text, "\n+++ ", fmt.Sprintf(" (the same lines change in %s)\n+++ ", diag.Plural(group.Count-1, "more file")), 1)
	}
	lines := slices.Collect(strings.Lines(text))
	if rest := len(lines) - maxDiffLines; rest > 0 {
		lines = append(lines[:maxDiffLines:maxDiffLines], fmt.Sprintf("@@ %s more @@\n", diag.Plural(rest, "line")))
	}
	return markdown.SanitizeLines(strings.Join(lines, ""), maxLine)
}
