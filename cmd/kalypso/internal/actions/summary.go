package actions

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
)

// maxSummaryBytes is what the summary of a step may have in all: the runner drops one of over 1 MiB as a
// whole.
const maxSummaryBytes = 900 << 10

// writeSummary appends the summary of a run to the file of the runner, as far as there is room.
func writeSummary(path string, r Report, here string) error {
	room := int64(maxSummaryBytes)
	info, err := os.Stat(path)
	if err == nil {
		room -= info.Size()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := stepSummary(r, here, int(max(room, 0)))
	if text == "" {
		return nil
	}
	return appendTo(path, text)
}

const (
	// detailsLeftOut and resultsLeftOut stand for what there was no room for.
	detailsLeftOut = "The details are too long for this page: they are in the log.\n\n"
	resultsLeftOut = "There is no room for the other results: they are in the log.\n\n"
)

// stepSummary is Markdown of at most room bytes: the verdict, a table of the diagnostics, and what
// became of each environment. What does not fit is left out whole, details first, and that is said. It
// is empty if there is no room at all. here is the repository of the workflow: places on its host are
// links.
func stepSummary(r Report, here string, room int) string {
	head := "## " + markdown.Text(r.Title) + "\n\n"
	if r.Verdict != "" {
		head += markdown.Text(r.Verdict) + "\n\n"
	}
	if len(head) > room {
		return ""
	}
	head += Table(r, here, (room-len(head))/2)
	heads, complete := resultHeads(r.Results, room-len(head)-len(resultsLeftOut))
	left := room - len(head) - len(resultsLeftOut)
	for _, h := range heads {
		left -= len(h)
	}
	var b strings.Builder
	b.WriteString(head)
	for i, h := range heads {
		b.WriteString(h)
		details := strings.TrimRight(r.Results[i].Details, "\n") + "\n\n"
		switch {
		case r.Results[i].Details == "":
		case len(details) <= left:
			left -= len(details)
			b.WriteString(details)
		case len(detailsLeftOut) <= left:
			left -= len(detailsLeftOut)
			b.WriteString(detailsLeftOut)
		}
	}
	if !complete && b.Len()+len(resultsLeftOut) <= room {
		b.WriteString(resultsLeftOut)
	}
	return b.String()
}

// resultHeads returns the head of each result, as many as fit.
func resultHeads(results []Result, room int) (heads []string, complete bool) {
	for _, r := range results {
		h := resultHead(r)
		if len(h) > room {
			return heads, false
		}
		room -= len(h)
		heads = append(heads, h)
	}
	return heads, true
}

// resultHead says what became of an environment in one GitOps repository.
func resultHead(r Result) string {
	name := markdown.TextCode(r.Environment)
	if r.GitOpsRepo != "" {
		name += " in " + markdown.TextCode(r.GitOpsRepo)
	}
	facts := []string{}
	if r.Plan.Summary != "" {
		facts = append(facts, markdown.TextCode(r.Plan.Summary))
	}
	if r.PullRequest != nil {
		facts = append(facts, pullRequestLink(*r.PullRequest))
	} else if !r.Changed && !r.Uncompared {
		facts = append(facts, "up to date")
	}
	if r.Branch != "" {
		facts = append(facts, "branch "+markdown.TextCode(r.Branch))
	}
	if len(facts) == 0 {
		return "### " + name + "\n\n"
	}
	return "### " + name + "\n\n" + strings.Join(facts, " · ") + "\n\n"
}

func pullRequestLink(p PullRequest) string {
	text := fmt.Sprintf("pull request #%d", p.Number)
	if address, ok := webAddress(p.URL); ok {
		text = "[" + text + "](" + address + ")"
	}
	return strings.TrimSpace(text + " " + markdown.Text(p.Operation))
}

// Table lists errors first, as many as fit.
func Table(r Report, here string, room int) string {
	list := errorsFirst(r.Diags)
	if len(list) == 0 {
		return ""
	}
	return MarkdownTable[diag.Diagnostic]{
		Head: "| | where | what |\n| --- | --- | --- |\n",
		Row:  func(d diag.Diagnostic) string { return diagnosticRow(d, r.Commits, here) },
		More: func(n int) string { return fmt.Sprintf("\n%d more are in the log.\n", n) },
	}.Fit(list, len(list), room)
}

// MarkdownTable is a table in Markdown.
type MarkdownTable[T any] struct {
	Head string
	Row  func(T) string
	// More counts the rows that are left out.
	More func(n int) string
}

// Fit writes as many rows as fit into so many bytes, at most limit, and counts the others. It is empty if none fits.
func (t MarkdownTable[T]) Fit(list []T, limit, room int) string {
	room -= len(t.Head) + len(t.More(len(list))) + 1
	var rows strings.Builder
	shown := 0
	for _, one := range list[:min(limit, len(list))] {
		row := t.Row(one)
		if room -= len(row); room < 0 {
			break
		}
		rows.WriteString(row)
		shown++
	}
	switch shown {
	case 0:
		return ""
	case len(list):
		return t.Head + rows.String() + "\n"
	default:
		return t.Head + rows.String() + t.More(len(list)-shown) + "\n"
	}
}

func errorsFirst(list diag.List) diag.List {
	return slices.SortedStableFunc(slices.Values(list), func(a, b diag.Diagnostic) int { return cmp.Compare(b.Severity, a.Severity) })
}

func diagnosticRow(d diag.Diagnostic, commits Commits, here string) string {
	what := markdown.Text(d.Message) + " " + markdown.TextCode(d.Rule)
	for _, related := range d.Related {
		what += "<br>" + strings.TrimSpace(placeLink(related.At, commits, here)+" "+markdown.Text(related.Message))
	}
	if d.Hint != "" {
		what += "<br>hint: " + markdown.Text(d.Hint)
	}
	return fmt.Sprintf("| %s | %s | %s |\n", d.Severity, placeLink(d.At, commits, here), what)
}

// placeLink shows a place, as a link if it is on the host of the repository given.
func placeLink(at diag.Place, commits Commits, here string) string {
	if at.IsZero() {
		return ""
	}
	text := markdown.TextCode(at.String())
	if address, ok := permalink(at, commits.of(at.File), here); ok {
		return "[" + text + "](" + address + ")"
	}
	return text
}

// permalink returns the page that shows a place at the commit that was read, or else at its branch. Only
// repositories on the host of here are known to have such pages.
func permalink(at diag.Place, commit, here string) (address string, ok bool) {
	repo, err := url.Parse(at.File.Repo)
	if err != nil || at.File.Path == "" || repo.Host == "" || !strings.HasPrefix(repo.Scheme, "http") {
		return "", false
	}
	if own, err := url.Parse(here); err != nil || own.Host != repo.Host {
		return "", false
	}
	revision := commit
	if revision == "" {
		revision = at.File.Branch
	}
	if revision == "" {
		return "", false
	}
	page := at.File.Repo + "/blob/" + escapePath(revision) + "/" + escapePath(at.File.Path)
	if at.Line > 0 {
		page += fmt.Sprintf("#L%d", at.Line)
	}
	return webAddress(page)
}

func escapePath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// webAddress returns an address in a form that a link of Markdown can hold.
func webAddress(address string) (string, bool) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return "", false
	}
	return strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", `\`, "%5C", "|", "%7C", " ", "%20").
		Replace(parsed.String()), true
}
