package actions

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
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
	detailsLeftOut = "The details are too long for this page; see the log.\n\n"
	resultsLeftOut = "The other results are too long for this page; see the log.\n\n"
)

// stepSummary is Markdown of at most room bytes: the verdict, a table of the diagnostics, and what
// became of each environment. What does not fit is left out whole, details first, and that is said. It
// is empty if there is no room at all. here is the repository of the workflow: places on its host are
// links.
func stepSummary(r Report, here string, room int) string {
	text := "## " + markdown.Text(r.Title) + "\n\n"
	if r.Verdict != "" {
		text += markdown.Text(r.Verdict) + "\n\n"
	}
	if len(text) > room {
		return ""
	}
	text += Table(r, here, (room-len(text))/2)
	room -= len(text) + len(resultsLeftOut)
	var heads []string // as many as fit
	for _, result := range r.Results {
		head := resultHead(result)
		if len(head) > room {
			break
		}
		room -= len(head)
		heads = append(heads, head)
	}
	for i, head := range heads {
		text += head
		for _, details := range []string{strings.TrimRight(r.Results[i].Details, "\n") + "\n\n", detailsLeftOut} {
			if r.Results[i].Details != "" && len(details) <= room {
				room -= len(details)
				text += details
				break
			}
		}
	}
	if len(heads) < len(r.Results) && room >= 0 {
		text += resultsLeftOut
	}
	return text
}

// resultHead says what became of an environment in one GitOps repository.
func resultHead(r Result) string {
	name := markdown.TextCode(r.Environment)
	if r.GitOpsRepo != "" {
		name += " in " + markdown.TextCode(r.GitOpsRepo)
	}
	var facts []string
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
	head := "### " + name + "\n\n"
	if len(facts) > 0 {
		head += strings.Join(facts, " · ") + "\n\n"
	}
	return head
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
	list := slices.SortedStableFunc(slices.Values(r.Diags), func(a, b diag.Diagnostic) int { return cmp.Compare(b.Severity, a.Severity) })
	rows := func(yield func(string) bool) {
		for _, d := range list {
			if !yield(diagnosticRow(d, r.Commits, here)) {
				return
			}
		}
	}
	more := func(n int) string { return fmt.Sprintf("\n%d more in the log.\n", n) }
	return MarkdownTable("| Severity | Source | Message |\n| --- | --- | --- |\n", rows, len(list), more, room)
}

// MarkdownTable is a table in Markdown with as many of its rows as fit into so many bytes. Of all rows, more
// counts those that are left out. It is empty if none fits.
func MarkdownTable(head string, rows iter.Seq[string], all int, more func(n int) string, room int) string {
	room -= len(head) + len(more(all)) + 1
	text, shown := head, 0
	for row := range rows {
		if room -= len(row); room < 0 {
			break
		}
		text += row
		shown++
	}
	switch shown {
	case 0:
		return ""
	case all:
		return text + "\n"
	default:
		return text + more(all-shown) + "\n"
	}
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
	revision := cmp.Or(commit, at.File.Branch)
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
