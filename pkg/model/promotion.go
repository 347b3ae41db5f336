package model

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// PromotionAnnotation of an Environment holds, as YAML text, what would stand in spec.promotion: the CRD
// of the in-cluster operator does not know that field.
const PromotionAnnotation = "kalypso.io/promotion"

// NoFleet stands in place of a fleet: a person decides.
const NoFleet = "none"

// Promotion says where a commit goes after an environment, and when.
type Promotion struct {
	// Next are the environments that come after, in the order in which they are written.
	Next   []Text
	Checks Checks
	// Publishing are the settings of the commit and the pull request that promote to the environment.
	Publishing Publishing
	At         diag.Place
}

// Checks say when an environment runs a commit well enough to promote it further. The zero value of a
// field means that it was not given.
type Checks struct {
	// Fleets are who is asked, each as --fleet has it: NAME or NAME:ARGUMENT. NoFleet stands alone.
	Fleets []Text
	// Healthy is how many clusters must run the commit.
	Healthy Healthy
	// Timeout is how long they may take; it is above 0 if it was given.
	Timeout Duration
	// Expect is the minimum number of clusters; 0 if it is not set.
	Expect Number
	// ClusterTypes selects whose clusters count; package schedule gives it its meaning.
	ClusterTypes Selector
	// StatusLogins are the logins whose statuses of the environment count, besides kalypso's own: those of people, or
	// NAME[bot] of Apps.
	StatusLogins []Text
	At           diag.Place
}

// LeftToPerson says that no fleet is asked, because a person decides.
func (c Checks) LeftToPerson() bool { return len(c.Fleets) == 1 && c.Fleets[0].Value == NoFleet }

// Duration is a span of time together with the place where it was written.
type Duration struct {
	Value time.Duration
	At    diag.Place
}

// Number is a whole number together with the place where it was written.
type Number struct {
	Value int
	At    diag.Place
}

// Healthy is how many clusters must be healthy: a count, or a share of all. The zero value, but for its
// place, is all of them.
type Healthy struct {
	// Count is how many; 0 if a share was given.
	Count int
	// Share is how many millionths of all, so that 99.5% is exact; 0 if a count was given.
	Share int
	At    diag.Place
}

const (
	millionths = 1_000_000
	percent    = millionths / 100
)

// Of returns how many of that many clusters must be healthy, rounded up: 95% of 30 are 29. A count stays
// what it is, even if there are not so many.
func (h Healthy) Of(total int) int {
	if h.Count > 0 {
		return h.Count
	}
	share := h.share()
	whole, rest := total/millionths, total%millionths // no product can overflow
	return whole*share + (rest*share+millionths-1)/millionths
}

// share is the share that the zero value stands for, too.
func (h Healthy) share() int {
	if h == (Healthy{At: h.At}) {
		return millionths
	}
	return h.Share
}

// String writes it as it can be written in an Environment: "27" or "99.5%".
func (h Healthy) String() string {
	if h.Count > 0 {
		return strconv.Itoa(h.Count)
	}
	share := h.share()
	text := fmt.Sprintf("%d.%04d", share/percent, share%percent)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "%"
}

const hintHealthy = `write a count such as 27, or a percentage from 1% to 100% such as "95%" or "99.5%"`

func (h *Healthy) inRange() bool {
	return h.Count >= 1 && h.Count <= mostClusters || h.Share >= percent && h.Share <= millionths
}

// ParseHealthy reads a count or a percentage, as it can be written in an Environment.
func ParseHealthy(text string) (Healthy, error) {
	var h Healthy
	if h.Count, h.Share = parseHealthy(text); !h.inRange() {
		return Healthy{}, errors.New(hintHealthy)
	}
	return h, nil
}

var (
	countText      = regexp.MustCompile(`^[1-9][0-9]{0,9}$`)
	percentageText = regexp.MustCompile(`^([0-9]{1,3})(?:\.([0-9]{1,4}))?%$`)
)

// parseHealthy returns zeros for a text that is neither a count nor a percentage.
func parseHealthy(text string) (count, share int) {
	if countText.MatchString(text) {
		count, _ = strconv.Atoi(text)
		return count, 0
	}
	match := percentageText.FindStringSubmatch(text)
	if match == nil {
		return 0, 0
	}
	whole, _ := strconv.Atoi(match[1])
	fraction, _ := strconv.Atoi((match[2] + "0000")[:4])
	return 0, whole*percent + fraction
}

// mostClusters is more than any fleet has.
const mostClusters = 1_000_000_000
