package wire

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// Limits bound the size of repositories and the time of requests.
type Limits struct {
	// Object is the maximum size of a file that is loaded, in bytes; 64 MiB by default.
	Object int64
	// Total is the maximum size of the inflated objects of one answer, in bytes; 2 GiB by default.
	Total int64
	// Objects is the maximum number of objects of one answer; 5,000,000 by default.
	Objects int
	// Parallel is the maximum number of concurrent requests; 8 by default.
	Parallel int
	// Stall is the timeout without any data; a minute by default.
	Stall time.Duration
	// Request is the timeout of one request; 15 minutes by default.
	Request time.Duration
	// Slow is how long a request to an application repository occupies one of the Parallel slots. After that it
	// continues without a slot, so that it does not delay other requests. The default is 10 seconds.
	Slow time.Duration
	// Tenant has the additional limits of application repositories.
	Tenant TenantLimits
}

func (l Limits) orDefaults() Limits {
	setDefault(&l.Object, 64<<20)
	setDefault(&l.Total, 2<<30)
	setDefault(&l.Objects, 5_000_000)
	setDefault(&l.Parallel, 8)
	setDefault(&l.Stall, time.Minute)
	setDefault(&l.Request, 15*time.Minute)
	setDefault(&l.Slow, 10*time.Second)
	l.Tenant = l.Tenant.orDefaults()
	return l
}

func setDefault[T int | int64 | time.Duration](value *T, to T) {
	if *value == 0 {
		*value = to
	}
}

// TenantLimits limit the reading of each application repository in a run, over all answers of its server, all branches
// and all registrations that name it. A zero field means its default.
type TenantLimits struct {
	// File is the maximum size of a file in bytes; a larger one is not loaded. The default is 1 MiB.
	File int64
	// Total is the maximum size of all loaded objects in bytes: files, lists of directories, commits. The default is 32
	// MiB.
	Total int64
	// Time is the maximum duration of all requests together; waiting for other repositories does not count. The default
	// is 2 minutes.
	Time time.Duration
}

func (l TenantLimits) orDefaults() TenantLimits {
	setDefault(&l.File, 1<<20)
	setDefault(&l.Total, 32<<20)
	setDefault(&l.Time, 2*time.Minute)
	return l
}

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
