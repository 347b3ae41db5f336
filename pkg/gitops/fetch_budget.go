package gitops

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// TenantLimits limit the reading of each application repository in a run, over all answers of its server, all branches
// and all registrations that name it. A zero field means its default.
type TenantLimits struct {
	// File is the maximum size of a file in bytes; a larger one is not loaded. The default is 1 MiB.
	File int64
	// Total is the maximum size of all loaded objects in bytes: files, lists of folders, commits. The default is 32
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
	// maxTenantAdvertisement bounds the list of references of an application repository in bytes.
	maxTenantAdvertisement = 16 << 20
	// minBytes is the minimum number of bytes that an application repository must send within Limits.Stall; otherwise
	// its server counts as silent.
	minBytes = 64 << 10
)

// budget is the remainder of TenantLimits for one repository. It is nil for the platform's repositories, which have
// limits per answer only. It is safe for concurrent use.
type budget struct {
	limits TenantLimits
	packs  gitobject.PackTotals

	mu sync.Mutex
	// active is the number of running requests, since the start of the first of them, and used the duration of earlier
	// ones.
	active int
	since  time.Time
	used   time.Duration
	// spent is the limit error after which the repository is not read again; nil before.
	spent error
}

// timeSpentError says that the requests to a repository exceeded TenantLimits.Time.
type timeSpentError struct{ limit time.Duration }

func (e timeSpentError) Error() string { return fmt.Sprintf("its server took more than %v", e.limit) }

// exhausted returns the limit error after which a repository is not read again, or nil.
func (b *budget) exhausted() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// exhaust records the error after which a repository is not read again, and returns the first one that was recorded.
func (b *budget) exhaust(why error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent == nil {
		b.spent = why
	}
	return b.spent
}

// begin starts a request and returns a context that ends when the remaining time is used up. The caller must call end
// after the request, unless err is not nil.
func (b *budget) begin(ctx context.Context) (limited context.Context, end func(), err error) {
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
	left := b.limits.Time - b.used - now.Sub(b.since)
	limited, cancel := context.WithTimeoutCause(ctx, left, timeSpentError{b.limits.Time})
	return limited, func() { cancel(); b.end() }, nil
}

func (b *budget) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.active--; b.active == 0 {
		b.used += time.Since(b.since)
	}
}
