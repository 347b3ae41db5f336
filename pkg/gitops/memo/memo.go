// Package memo caches the results of functions by key.
package memo

import (
	"context"
	"slices"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// Map caches results by key. The zero value is ready to use. It is safe for concurrent use.
type Map[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]*entry[V]
	values  []V
}

type entry[V any] struct {
	// turn has capacity 1: one goroutine computes or reads the result at a time.
	turn  chan struct{}
	done  bool
	value V
	err   error
}

// Do returns the result of f for a key; f runs for the first caller, and others wait for it. An error is cached, too, unless
// the context of the caller has ended: then the next caller runs f again.
func (m *Map[K, V]) Do(ctx context.Context, key K, f func() (V, error)) (V, error) {
	e := m.entry(key)
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		var zero V
		return zero, giterror.Interrupted(ctx)
	}
	defer func() { <-e.turn }()
	if e.done {
		return e.value, e.err
	}
	e.value, e.err = f()
	e.done = e.err == nil || ctx.Err() == nil
	if e.err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.values = append(m.values, e.value)
	}
	return e.value, e.err
}

func (m *Map[K, V]) entry(key K) *entry[V] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[K]*entry[V]{}
	}
	if m.entries[key] == nil {
		m.entries[key] = &entry[V]{turn: make(chan struct{}, 1)}
	}
	return m.entries[key]
}

// Values returns the results so far without errors.
func (m *Map[K, V]) Values() []V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.values)
}
