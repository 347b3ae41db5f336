package gitops

import (
	"context"
	"fmt"
	"maps"

	"github.com/go-git/go-git/v5/plumbing"
)

// early are the repositories that a run had listed when it opened its destinations. What it read of
// them may be older than what is published.
type early struct {
	remotes []*remote
	locals  []*localRepo
}

// markEarly notes what has been listed so far.
func (r *Reader) markEarly() {
	noted := early{remotes: r.remotes.values()}
	for _, opened := range r.locals.values() {
		if opened.repo != nil {
			noted.locals = append(noted.locals, opened.repo)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.early = noted
}

// Unmoved lists the repositories again that were listed before the destinations were opened. If a
// branch of them that the run has read is not where it was, the error wraps ErrMoved. If it is, then
// what was read is what reading it after the destinations would have found.
func (r *Reader) Unmoved(ctx context.Context) error {
	r.mu.Lock()
	noted, pins := r.early, maps.Clone(r.pins)
	r.mu.Unlock()
	for _, m := range noted.remotes {
		tips, err := m.tipsNow(ctx)
		if err != nil {
			return r.clean(err)
		}
		for key, id := range pins {
			if key.repo == m.at.read && tips[key.branch] != id {
				return fmt.Errorf("%s: branch %q: %w", m.at, key.branch, ErrMoved)
			}
		}
	}
	for _, local := range noted.locals {
		if err := local.unmoved(ctx); err != nil {
			return r.clean(err)
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
