package azure

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/throttle"
)

const (
	// maxTries is how often a page is asked for.
	maxTries = 4
	// maxPatience is how long one look waits in all; what takes longer is left to the next look.
	maxPatience = 30 * time.Second
	// firstDelay doubles with every try, if Azure does not say how long to wait.
	firstDelay = time.Second
	// maxWait bounds how long a wait that Azure asks for is believed to be.
	maxWait = time.Hour
)

func (a *graph) wait(ctx context.Context, delay time.Duration, patience *time.Duration) error {
	*patience -= delay
	if err := a.Sleep(ctx, delay); err != nil {
		return interrupted(err)
	}
	return nil
}

// spare waits before the next page if the quota of requests is used up.
func (a *graph) spare(ctx context.Context, header http.Header, patience *time.Duration) error {
	delay := untilQuota(header)
	if delay <= 0 || delay > *patience {
		return nil // then Resource Graph will say so
	}
	return a.wait(ctx, delay, patience)
}

// told is how long Azure asks to wait: the longer of what two headers say, and zero if none does.
func (a *graph) told(header http.Header) time.Duration {
	return max(untilQuota(header), throttle.RetryAfter(header, a.Now))
}

var clockForm = regexp.MustCompile(`^(\d{2}):(\d{2}):(\d{2})$`)

// untilQuota is how long it takes until there is a quota of requests again, zero if there is some left. See
// https://learn.microsoft.com/azure/governance/resource-graph/concepts/guidance-for-throttled-requests
func untilQuota(header http.Header) time.Duration {
	clock := clockForm.FindStringSubmatch(header.Get("X-Ms-User-Quota-Resets-After"))
	if clock == nil || header.Get("X-Ms-User-Quota-Remaining") != "0" {
		return 0
	}
	wait, err := time.ParseDuration(clock[1] + "h" + clock[2] + "m" + clock[3] + "s")
	if err != nil {
		return 0
	}
	return min(wait, maxWait)
}
