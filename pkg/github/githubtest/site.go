package githubtest

import (
	"strings"
	"sync"
	"time"
)

// Options are how a Server behaves. The zero value is github.com with a clock that stands still.
type Options struct {
	// Enterprise serves below /api/v3 and /api/graphql, as GitHub Enterprise Server does.
	Enterprise bool
	// Now is the clock of the server. Without one it is Midnight, until Advance is called.
	Now func() time.Time
	// PageSize is how many things a page holds at most, whatever is asked for; 0 means 100, as on GitHub.
	PageSize int
	// Before is called before a request is answered, and may do what people do meanwhile; nil does nothing.
	Before func(Request)
	// Fail ends a test that asks a Repo for what cannot be, such as a merge of what is not there. Without it
	// NewServer fails its test, and Start panics.
	Fail func(error)
}

// Midnight is when a Server without a clock lives.
func Midnight() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// site is what all that a server has shares: the options, the clock and the addresses. The lock is for all that changes.
type site struct {
	mu       sync.Mutex
	options  Options
	advanced time.Duration
	api, web string
}

// Advance moves the clock.
func (s *site) Advance(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanced += by
}

// now is the time; the lock is held.
func (s *site) now() time.Time {
	if s.options.Now != nil {
		return s.options.Now().Add(s.advanced).UTC()
	}
	return Midnight().Add(s.advanced)
}

func (s *site) user(login string) object {
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	return object{"login": login, "id": 1, "type": kind, "html_url": s.web + "/" + login}
}
