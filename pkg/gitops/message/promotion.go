package message

import (
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
)

// promotedTrailer names the commit that a commit of ours promotes.
const promotedTrailer = "Kalypso-Promoted"

// takenBackTrailer names the commit that it takes back for it, if it is a rollback.
const takenBackTrailer = "Kalypso-Taken-Back"

// Promotion is a promotion as its commit tells it. What that says depends on nothing else.
type Promotion struct {
	// Version is that of kalypso, as `kalypso version` prints it.
	Version     string
	Environment string
	// Commit is the full id of what is promoted, Before of what the environment had; empty if it had nothing.
	Commit, Before string
	// Rollback says that Commit is older than Before, on purpose.
	Rollback bool
}

// shortID is how many digits of a commit a subject shows.
const shortID = 12

// PromotionSubject is the subject of the commit of a promotion, and the title of its pull request.
func PromotionSubject(p Promotion) string {
	commit, environment := plainText(giturl.FirstDigits(p.Commit, shortID)), plainText(p.Environment)
	if p.Rollback {
		return "Roll " + environment + " back to " + commit
	}
	return "Promote " + commit + " to " + environment
}

// PromotionCommit is the message of the commit of a promotion. It ends in the trailers that ParseTrailers reads, by
// which it is ours, and in the whole id of what is promoted.
func PromotionCommit(p Promotion) string {
	var b strings.Builder
	b.WriteString(PromotionSubject(p) + "\n\n")
	if p.Before != "" {
		b.WriteString("Before, it had " + plainText(giturl.FirstDigits(p.Before, shortID)) + ".\n\n")
	} else {
		b.WriteString("Nothing was promoted to it before.\n\n")
	}
	b.WriteString(Provenance{Version: p.Version, Environment: p.Environment}.trailers())
	trailer(&b, promotedTrailer, escape(p.Commit, ""))
	if p.Rollback {
		trailer(&b, takenBackTrailer, escape(p.Before, ""))
	}
	return b.String()
}

// ParsePromotion reads what a commit of ours promotes from its message: the environment, the commit, and for a rollback
// what was taken back. It is not ok for any other commit.
func ParsePromotion(message string) (p Promotion, ok bool) {
	made, ours := ParseTrailers(message)
	if !ours {
		return Promotion{}, false
	}
	p.Version, p.Environment = made.Version, made.Environment
	for line := range strings.Lines(message) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case !giturl.IsFullCommit(value):
		case key == promotedTrailer:
			p.Commit = value
		case key == takenBackTrailer:
			p.Before, p.Rollback = value, true
		}
	}
	return p, p.Commit != ""
}
