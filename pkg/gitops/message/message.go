// Package message writes the text of commits and pull requests, and reads back what the trailers of a commit say. It is
// pure: the same publication has the same text, whenever and wherever it is made.
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

// Report is a publication as its commit and its pull request tell it. What they say depends on nothing
// else, so that the same publication has the same words whenever and wherever it is made.
type Report struct {
	Environment string
	// Title of the pull request; empty for PullRequestTitle to make one.
	Title string
	// Change is what is published. It must not be nil.
	Change *change.Change
	// Now says what was compiled, Before what the published commit says that it was compiled from; nil
	// if that is not known.
	Now    Provenance
	Before *Provenance
	// Held are registrations that are not compiled as they are now, because they are broken.
	Held []HeldRegistration
	// Warnings are the diagnostics that the reviewer should see.
	Warnings diag.List
	// Notes are further sentences for the reviewer.
	Notes []string
	// GitHubHosts are the hosts besides github.com that are GitHub Enterprise, whose commits can be
	// linked to.
	GitHubHosts []string
}

// HeldRegistration is a workload registration that --keep-last-good holds back.
type HeldRegistration struct {
	Name string `json:"name"`
	// Commit is what was compiled instead; empty if its published folders stay as they are.
	Commit string `json:"commit,omitempty"`
	// Why says what is wrong with it, in one line.
	Why string `json:"why"`
}

// maxSubject is how long the subject of a commit should be, so that git and GitHub show it whole.
const maxSubject = 72

// Commit returns the message of the commit that publishes a change. It ends in the trailers that
// ParseTrailers reads.
func Commit(r Report) string {
	var b strings.Builder
	b.WriteString(r.subject() + "\n\n" + r.Change.Plan().String() + "\n")
	if len(r.Held) > 0 {
		b.WriteString("Held back, as broken: " + diag.Plural(len(r.Held), "registration") + "\n")
	}
	b.WriteString("\n" + r.Now.trailers())
	for _, held := range sortedHeld(r.Held) {
		trailer(&b, heldTrailer, strings.TrimSpace(escape(held.Name, "")+" "+escape(held.Commit, "")))
	}
	return b.String()
}

func sortedHeld(held []HeldRegistration) []HeldRegistration {
	return slices.SortedFunc(slices.Values(held), func(a, b HeldRegistration) int { return strings.Compare(a.Name, b.Name) })
}

// subject returns the most telling first line that is short enough.
func (r Report) subject() string {
	words := summarize(r.Change).words()
	brief, _, _ := strings.Cut(words, " on ")
	verb := "Render " + plainText(r.Environment)
	if _, after, promotes := r.Change.Promotion(); promotes {
		verb = "Promote " + plainText(giturl.ShortCommit(after)) + " to " + plainText(r.Environment)
	}
	if r.Change.Idle() {
		words, brief = "no cluster changes", "no change"
	}
	for _, subject := range []string{verb + ": " + words, verb + ": " + brief} {
		if len(subject) <= maxSubject {
			return subject
		}
	}
	return verb
}

// maxTitle is how long GitHub lets the title of a pull request be.
const maxTitle = 256

// PullRequestTitle returns the title that was set, else one that says what happens where. It has at most 256 bytes.
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
		parts = append(parts, summarize(r.Change).words())
	}
	if before, upgraded := r.upgradedFrom(); upgraded {
		parts = append(parts, fmt.Sprintf("kalypso %s → %s", plainText(before), plainText(r.Now.Version)))
	}
	if len(r.Held) > 0 {
		parts = append(parts, diag.Plural(len(r.Held), "registration")+" held back")
	}
	return diag.Shorten(plainText(r.Environment)+": "+strings.Join(parts, ", "), maxTitle)
}

// upgradedFrom returns the version of kalypso that published before, if it is another.
func (r Report) upgradedFrom() (string, bool) {
	if r.Before == nil || r.Before.Version == r.Now.Version {
		return "", false
	}
	return r.Before.Version, true
}

// plainText leaves nothing in a name that GitHub reads as anything but text, not even without Markdown.
func plainText(name string) string { return diag.Shorten(markdown.Plain(name), maxName) }
