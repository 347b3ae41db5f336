// Package message writes the text of commits and pull requests, and parses the trailers of commits. It is pure: the same
// publication has the same text at any time on any machine.
package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
)

// Report is the input of the messages of a commit and a pull request, which depend on nothing else.
type Report struct {
	Environment string
	// Title is the title of the pull request; if empty, PullRequestTitle generates one.
	Title string
	// Change is the published change. It must not be nil.
	Change *change.Change
	// Now is the provenance of the output, Before that of the published commit; nil if unknown.
	Now    Provenance
	Before *Provenance
	// Quarantined are registrations with errors, which are not compiled at their current commit.
	Quarantined []QuarantinedRegistration
	// Warnings are the diagnostics for the reviewer.
	Warnings diag.List
	// Notes are further sentences for the reviewer.
	Notes []string
	// GitHubHosts are the hosts of GitHub Enterprise, besides github.com, whose commits can be linked to.
	GitHubHosts []string
}

// QuarantinedRegistration is a workload registration that --keep-last-good quarantines.
type QuarantinedRegistration struct {
	Name string `json:"name"`
	// Commit is the commit that was compiled instead; empty if its published directories are unchanged.
	Commit string `json:"commit,omitempty"`
	// Why is the first error, in one line.
	Why string `json:"why"`
}

// maxSubject is the maximum length of the subject of a commit, which git and GitHub show in full.
const maxSubject = 72

// Commit returns the message of the commit that publishes a change. It ends in the trailers that
// ParseTrailers reads.
func Commit(r Report) string {
	var b strings.Builder
	b.WriteString(r.subject() + "\n\n" + r.Change.Plan().String() + "\n")
	if len(r.Quarantined) > 0 {
		b.WriteString("Quarantined because of errors: " + diag.Plural(len(r.Quarantined), "registration") + "\n")
	}
	b.WriteString("\n" + r.Now.trailers())
	for _, quarantined := range sortedQuarantined(r.Quarantined) {
		trailer(&b, quarantinedTrailer, strings.TrimSpace(escape(quarantined.Name, "")+" "+escape(quarantined.Commit, "")))
	}
	return b.String()
}

func sortedQuarantined(quarantined []QuarantinedRegistration) []QuarantinedRegistration {
	return slices.SortedFunc(slices.Values(quarantined), func(a, b QuarantinedRegistration) int { return strings.Compare(a.Name, b.Name) })
}

// subject returns the most detailed first line that is short enough.
func (r Report) subject() string {
	counts := summarize(r.Change).counts()
	brief, _, _ := strings.Cut(counts, " on ")
	verb := "Render " + plainText(r.Environment)
	if _, after, promotes := r.Change.Promotion(); promotes {
		verb = "Promote " + plainText(giturl.ShortCommit(after)) + " to " + plainText(r.Environment)
	}
	if r.Change.Idle() {
		counts, brief = "no cluster changes", "no change"
	}
	for _, subject := range []string{verb + ": " + counts, verb + ": " + brief} {
		if len(subject) <= maxSubject {
			return subject
		}
	}
	return verb
}

// maxTitle is GitHub's limit for the title of a pull request.
const maxTitle = 256

// PullRequestTitle returns the title of the report, else a summary of the change. It has at most 256 bytes.
func PullRequestTitle(r Report) string {
	if r.Title != "" {
		return diag.Shorten(r.Title, maxTitle)
	}
	var parts []string
	_, after, promotes := r.Change.Promotion()
	if promotes {
		parts = append(parts, "promote "+plainText(giturl.ShortCommit(after)))
	}
	if r.Change.Idle() {
		parts = append(parts, "no cluster changes")
	} else {
		parts = append(parts, summarize(r.Change).counts())
	}
	if before, upgraded := r.upgradedFrom(); upgraded {
		parts = append(parts, fmt.Sprintf("kalypso %s → %s", plainText(before), plainText(r.Now.Version)))
	}
	if len(r.Quarantined) > 0 {
		parts = append(parts, diag.Plural(len(r.Quarantined), "registration")+" quarantined")
	}
	return diag.Shorten(plainText(r.Environment)+": "+strings.Join(parts, ", "), maxTitle)
}

// upgradedFrom returns the version of kalypso of the published commit, if it is another one.
func (r Report) upgradedFrom() (string, bool) {
	if r.Before == nil || r.Before.Version == r.Now.Version {
		return "", false
	}
	return r.Before.Version, true
}

// plainText returns a name without characters that have a meaning on GitHub, even outside Markdown.
func plainText(name string) string { return diag.Shorten(markdown.Plain(name), maxName) }
