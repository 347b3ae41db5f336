package gitops

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// TenantLimits bound what each application repository may make of itself in a run: over all answers of its server, all
// branches, and all registrations that name it. A field that is zero has its default.
type TenantLimits struct {
	// File is the size in bytes beyond which a file is not loaded; 1 MiB by default.
	File int64
	// Total is the sum in bytes of what is loaded: files, lists of folders, commits; 32 MiB by default.
	Total int64
	// Time is how long all requests together may take; 2 minutes by default. Waiting for others does not count.
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
	// leastBytes must arrive from an application repository for a sign of life: a server that sends fewer within
	// Limits.Stall counts as silent.
	leastBytes = 64 << 10
)

// budget is what is left of TenantLimits for one repository. A nil budget is that of the platform's repositories, which
// are bounded per answer. It is safe for use by several goroutines.
type budget struct {
	limits TenantLimits
	packs  packTotals

	mu sync.Mutex
	// active counts the requests under way; since is when the first of them began, used how long those before took.
	active int
	since  time.Time
	used   time.Duration
	// spent is why the repository is not asked again; nil if it may be.
	spent error
}

// packTotals is what packs have been inflated to: to be kept, and to be passed over.
type packTotals struct{ kept, skipped atomic.Int64 }

// timeSpentError is a repository that took all of its time.
type timeSpentError struct{ limit time.Duration }

func (e timeSpentError) Error() string { return fmt.Sprintf("its server took more than %v", e.limit) }

// budgetOf returns the budget of a repository that is read in a role. A repository that the platform reads, too, has
// one as the application repository that it is.
func (r *Reader) budgetOf(at location, role model.Role) *budget {
	if role != model.Tenant {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b, known := r.budgets[at.read]
	if !known {
		b = &budget{limits: r.limits.Tenant}
		r.budgets[at.read] = b
	}
	return b
}

// Continue makes r count on from what application repositories have used in an earlier Reader of the same run. It must
// be called before anything is read.
func (r *Reader) Continue(earlier *Reader) {
	earlier.mu.Lock()
	defer earlier.mu.Unlock()
	for name, b := range earlier.budgets {
		b.packs.kept.Store(0) // it goes with the earlier Reader
		r.budgets[name] = b
	}
}

// exhausted returns why a repository is not asked again, or nil.
func (b *budget) exhausted() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// exhaust notes why a repository is not asked again. The first reason counts.
func (b *budget) exhaust(why error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent == nil {
		b.spent = why
	}
	return b.spent
}

// begin returns a context that ends when the time is used up. Call end afterwards, unless there is an error.
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
