package wire

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

const (
	// MaxTenantAdvertisement bounds the list of references of an application repository in bytes.
	MaxTenantAdvertisement = 16 << 20
	// minBytes is the minimum number of bytes that an application repository must send within Limits.Stall; otherwise
	// its server counts as silent.
	minBytes = 64 << 10
)

// Budget is the remainder of TenantLimits for one repository. It is nil for the platform's repositories, which have
// limits per answer only. It is safe for concurrent use.
type Budget struct {
	Limits TenantLimits
	Packs  gitobject.PackTotals

	mu sync.Mutex
	// active is the number of running requests, since the start of the first of them, and used the duration of earlier
	// ones.
	active int
	since  time.Time
	used   time.Duration
	// spent is the limit error after which the repository is not read again; nil before.
	spent error
}

// NewBudget returns a budget of which nothing is used.
func NewBudget(limits TenantLimits) *Budget { return &Budget{Limits: limits} }

// TimeSpentError says that the requests to a repository exceeded TenantLimits.Time.
type TimeSpentError struct{ limit time.Duration }

func (e TimeSpentError) Error() string { return fmt.Sprintf("its server took more than %v", e.limit) }

// Exhausted returns the limit error after which a repository is not read again, or nil.
func (b *Budget) Exhausted() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// Exhaust records the error after which a repository is not read again, and returns the first one that was recorded.
func (b *Budget) Exhaust(why error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent == nil {
		b.spent = why
	}
	return b.spent
}

// begin starts a request and returns a context that ends when the remaining time is used up. The caller must call end
// after the request, unless err is not nil.
func (b *Budget) begin(ctx context.Context) (limited context.Context, end func(), err error) {
	if b == nil {
		return ctx, func() {}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent != nil {
		return nil, nil, b.spent
	}
	now := time.Now()
	if b.active == 0 {
		b.since = now
	}
	b.active++
	left := b.Limits.Time - b.used - now.Sub(b.since)
	limited, cancel := context.WithTimeoutCause(ctx, left, TimeSpentError{b.Limits.Time})
	return limited, func() { cancel(); b.end() }, nil
}

func (b *Budget) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.active--; b.active == 0 {
		b.used += time.Since(b.since)
	}
}
