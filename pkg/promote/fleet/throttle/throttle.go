// Package throttle reads how long servers ask to be left alone.
//
// In: the header of an answer. Out: a duration.
package throttle

import (
	"net/http"
	"strconv"
	"time"
)

// longestWait bounds how long a wait that a server asks for is believed to be.
const longestWait = time.Hour

// RetryAfter returns how long an answer asks to wait, in seconds or until a date; zero if it does not say. A date is
// compared with that of the answer, as clocks differ, or with now if it has none. See RFC 9110, section 10.2.3.
func RetryAfter(answer http.Header, now func() time.Time) time.Duration {
	value := answer.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(0, seconds), int(longestWait/time.Second))) * time.Second
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
	return min(max(0, until.Sub(sent)), longestWait)
}
