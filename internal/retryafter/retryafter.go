// Package retryafter computes the delay before a request is retried, from the header of a response or the number of
// attempts.
package retryafter

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// longest is the maximum delay that is accepted from a server.
const longest = time.Hour

// Parse returns the delay in the header Retry-After, in seconds or until a date; zero without the header. A date is
// compared with that of the response, because clocks differ, or with now if it has none. A nil now ignores such a date.
// See RFC 9110, section 10.2.3.
func Parse(answer http.Header, now func() time.Time) time.Duration {
	value := answer.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(0, seconds), int(longest/time.Second))) * time.Second
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	sent, err := http.ParseTime(answer.Get("Date"))
	if err != nil && now == nil {
		return 0
	}
	if err != nil {
		sent = now()
	}
	return min(max(0, until.Sub(sent)), longest)
}

// Backoff returns a random delay after a failed attempt, counted from 1: between half of first and first, doubled after
// each further attempt.
func Backoff(first time.Duration, try int) time.Duration {
	pause := first << (try - 1)
	return pause/2 + rand.N(pause/2)
}

// Sleep waits for a duration. It returns the error of ctx if that is done before.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
