// Package retryafter decides how long to wait before a request is sent again.
//
// In: the header of an answer, or the number of tries. Out: a duration.
package retryafter

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// longest is the maximum of what a server can ask for.
const longest = time.Hour

// Parse returns how long an answer asks to wait, in seconds or until a date; zero if it does not say. A date is
// compared with that of the answer, as clocks differ, or with now if it has none. A nil now ignores such a date.
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

// Backoff returns a random pause after a failed try, the first of which is 1: between half of first and all of it, and
// twice as long after each further try.
func Backoff(first time.Duration, try int) time.Duration {
	pause := first << (try - 1)
	return pause/2 + rand.N(pause/2)
}

// Sleep waits for a duration, or until ctx is done, whose error it then returns.
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
