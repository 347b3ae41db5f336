package message

import (
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
)

// promotedTrailer is the trailer with the promoted commit.
const promotedTrailer = "Kalypso-Promoted"

// revertedTrailer is the trailer with the commit that a rollback reverts.
const revertedTrailer = "Kalypso-Taken-Back"

// Promotion is the data of the commit message of a promotion.
type Promotion struct {
	// Version is the version of kalypso, as `kalypso version` prints it.
	Version     string
	Environment string
	// Commit is the full id of the promoted commit, Before that of the previous one; empty if there is none.
	Commit, Before string
	// Rollback is true if Commit is older than Before, on purpose.
	Rollback bool
}

// shortID is the number of digits of a commit id in a subject.
const shortID = 12

// PromotionSubject returns the subject of the commit of a promotion, which is also the title of its pull request.
func PromotionSubject(p Promotion) string {
	commit, environment := plainText(giturl.FirstDigits(p.Commit, shortID)), plainText(p.Environment)
	if p.Rollback {
		return "Roll " + environment + " back to " + commit
	}
	return "Promote " + commit + " to " + environment
}

// PromotionCommit returns the message of the commit of a promotion. It ends in the trailers that ParseTrailers reads, and
// the full id of the promoted commit.
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
		trailer(&b, revertedTrailer, escape(p.Before, ""))
	}
	return b.String()
}

// ParsePromotion parses the message of a promotion: the environment, the commit, and for a rollback the reverted commit.
// ok is false for any other commit.
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
		case key == revertedTrailer:
			p.Before, p.Rollback = value, true
		}
	}
	return p, p.Commit != ""
}
