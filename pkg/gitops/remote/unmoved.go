package remote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// SomeFiles returns those that have been listed so far.
func (c *connections) listed() listing {
	all := listing{remotes: c.remotes.values()}
	for _, opened := range c.locals.values() {
		if opened.repo != nil {
			all.locals = append(all.locals, opened.repo)
		}
	}
	return all
}

// MarkEarly notes what has been listed so far: what the run read of it may be older than what is
// published.
func (c *connections) MarkEarly() {
	noted := c.listed()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.early = noted
}

// Unmoved lists the repositories again that were listed before the destinations were opened. If a
// branch of them that the run has read is not where it was, the error wraps ErrMoved. If it is, then
// what was read is what reading it after the destinations would have found.
func (c *connections) Unmoved(ctx context.Context) error {
	c.mu.Lock()
	noted := c.early
	c.mu.Unlock()
	return c.unmoved(ctx, noted)
}

// Newest lists all repositories again that the run has read. If a branch of them is not where it was, the
// error wraps ErrMoved.
func (c *connections) Newest(ctx context.Context) error { return c.unmoved(ctx, c.listed()) }

func (c *connections) unmoved(ctx context.Context, noted listing) error {
	c.mu.Lock()
	pins := maps.Clone(c.pins)
	c.mu.Unlock()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var work errgroup.Group
	var mu sync.Mutex
	var unread, moved error
	look := func(at func(context.Context) error) {
		work.Go(func() error {
			err := at(ctx)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, ErrMoved) { // takes precedence over sources that cannot be read
				moved = err
				stop()
			} else if err != nil && unread == nil {
				unread = err
			}
			return nil
		})
	}
	for _, m := range noted.remotes {
		if m.budget.Exhausted() != nil || m.role == model.Tenant && len(m.commits.values()) == 0 {
			continue // nothing in the output comes from it
		}
		look(func(ctx context.Context) error { return m.unmoved(ctx, pins) })
	}
	for _, local := range noted.locals {
		look(local.unmoved)
	}
	_ = work.Wait() // no function returns an error
	if moved != nil {
		return c.Clean(moved)
	}
	return c.Clean(unread)
}

// unmoved reports whether the branches that were resolved are where they were.
func (m *remote) unmoved(ctx context.Context, pins map[pin]plumbing.Hash) error {
	tips, err := m.tipsNow(ctx)
	if err != nil {
		return err
	}
	for key, id := range pins {
		if key.repo == m.at.Read && tips[key.branch] != id {
			return fmt.Errorf("%s: branch %q: %w", m.at, key.branch, ErrMoved)
		}
	}
	return nil
}

// unmoved reports whether the branches that were resolved are where they were.
func (r *localRepo) unmoved(ctx context.Context) error {
	tips, err := r.tipsNow(ctx)
	if err != nil {
		return err
	}
	r.pinning.Lock()
	defer r.pinning.Unlock()
	for name, branch := range r.pins {
		if branch.remote == "" && name != "" && tips[name] != branch.commit {
			return fmt.Errorf("%s: branch %q: %w", r.name, name, ErrMoved)
		}
	}
	return nil
}

// pin makes branches stay what they are.
func (r *localRepo) pin(tips map[string]plumbing.Hash) {
	r.pinning.Lock()
	defer r.pinning.Unlock()
	for name, id := range tips {
		if _, pinned := r.pins[name]; !pinned {
			if r.pins == nil {
				r.pins = map[string]localBranch{}
			}
			r.pins[name] = localBranch{name: name, commit: id}
		}
	}
}

// moved notes a branch that this run has moved itself.
func (c *connections) moved(repo pushable, u RefUpdate) {
	if local, ok := repo.(*localRepo); ok {
		local.pinning.Lock()
		defer local.pinning.Unlock()
		if branch, pinned := local.pins[u.Branch]; pinned {
			branch.commit = u.New
			local.pins[u.Branch] = branch
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := repo.(*remote); ok {
		if key := (pin{m.at.Read, u.Branch}); !c.pins[key].IsZero() {
			c.pins[key] = u.New
		}
	}
}

// Push does what an order says, and notes the branches that it has moved. The error wraps ErrMoved if a branch is not where it was, and is an
// Error otherwise. However a push ends, what became of it is found out by reading the branches: what
// servers say differs, and an answer may be lost.
func (c *connections) Push(ctx context.Context, to Repository, order PushOrder) error {
	if err := pushTo(ctx, c.net, to, order); err != nil {
		return err
	}
	for _, u := range order.Updates {
		c.moved(to, u)
	}
	return nil
}
