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

// maxSummaryBytes is the maximum size of the summary of a step. The runner drops a summary of more than 1 MiB.
const maxSummaryBytes = 900 << 10

// writeSummary appends the summary of a run to the file of the runner, up to maxSummaryBytes.
func writeSummary(path string, r Report, here string) error {
	budget := int64(maxSummaryBytes)
	info, err := os.Stat(path)
	if err == nil {
		budget -= info.Size()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := stepSummary(r, here, int(max(budget, 0)))
	if text == "" {
		return nil
	}
	return appendTo(path, text)
}

const (
	// detailsLeftOut and resultsLeftOut replace parts that exceed the budget.
	detailsLeftOut = "The details are too long for this page; see the log.\n\n"
	resultsLeftOut = "The other results are too long for this page; see the log.\n\n"
)

// stepSummary returns Markdown of at most budget bytes: the outcome, a table of the diagnostics, and the result of each
// environment. Parts that do not fit are left out, details first, with a note. It is empty if nothing fits. here is the
// repository of the workflow: places on its host are links.
func stepSummary(r Report, here string, budget int) string {
	text := "## " + markdown.Text(r.Title) + "\n\n"
	if r.Outcome != "" {
		text += markdown.Text(r.Outcome) + "\n\n"
	}
	if len(text) > budget {
		return ""
	}
	text += Table(r, here, (budget-len(text))/2)
	budget -= len(text) + len(resultsLeftOut)
	var heads []string // as many as fit
	for _, result := range r.Results {
		head := resultHead(result)
		if len(head) > budget {
			break
		}
		budget -= len(head)
		heads = append(heads, head)
	}
	for i, head := range heads {
		text += head
		for _, details := range []string{strings.TrimRight(r.Results[i].Details, "\n") + "\n\n", detailsLeftOut} {
			if r.Results[i].Details != "" && len(details) <= budget {
				budget -= len(details)
				text += details
				break
			}
		}
	}
	if len(heads) < len(r.Results) && budget >= 0 {
		text += resultsLeftOut
	}
	return text
}

// resultHead returns the result of an environment in one GitOps repository.
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
func Table(r Report, here string, budget int) string {
	list := slices.SortedStableFunc(slices.Values(r.Diags), func(a, b diag.Diagnostic) int { return cmp.Compare(b.Severity, a.Severity) })
	rows := func(yield func(string) bool) {
		for _, d := range list {
			if !yield(diagnosticRow(d, r.Commits, here)) {
				return
			}
		}
	}
	more := func(n int) string { return fmt.Sprintf("\n%d more in the log.\n", n) }
	return MarkdownTable("| Severity | Source | Message |\n| --- | --- | --- |\n", rows, len(list), more, budget)
}

// MarkdownTable returns a table in Markdown with as many rows as fit into budget bytes, "" if none fits. more formats the
// number of the other rows.
func MarkdownTable(head string, rows iter.Seq[string], all int, more func(n int) string, budget int) string {
	budget -= len(head) + len(more(all)) + 1
	text, shown := head, 0
	for row := range rows {
		if budget -= len(row); budget < 0 {
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

// placeLink returns a place, as a link if it is on the host of here.
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

// permalink returns the address of a place at the commit that was read, or else at its branch. ok is false for
// repositories on another host than here, which may not have such pages.
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

// webAddress returns an address in a form for links in Markdown.
func webAddress(address string) (string, bool) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return "", false
	}
	return strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", `\`, "%5C", "|", "%7C", " ", "%20").
		Replace(parsed.String()), true
}
