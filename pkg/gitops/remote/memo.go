package remote

import (
	"context"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// memo does things once per key and hands the outcome to all who ask, also to those who ask while
// it is being done. What was cut short by the asker's context is forgotten, so that the next asker
// tries again. The zero memo is ready to use.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	calls map[K]*call[V]
}

type call[V any] struct {
	done  chan struct{}
	value V
	err   error
	// abandoned is whether the one who did it was interrupted.
	abandoned bool
}

func (m *memo[K, V]) do(ctx context.Context, key K, f func() (V, error)) (V, error) {
	for {
		c, mine := m.call(key)
		if mine {
			c.value, c.err = f()
			if c.abandoned = c.err != nil && ctx.Err() != nil; c.abandoned {
				m.forget(key)
			}
			close(c.done)
			return c.value, c.err
		}
		select {
		case <-c.done:
			if !c.abandoned {
				return c.value, c.err
			}
		case <-ctx.Done():
			var zero V
			return zero, giterror.Interrupted(ctx)
		}
	}
}

// call returns the call for a key; it is the caller's to do if it is new.
func (m *memo[K, V]) call(key K) (c *call[V], mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.calls[key]; ok {
		return c, false
	}
	if m.calls == nil {
		m.calls = map[K]*call[V]{}
	}
	c = &call[V]{done: make(chan struct{})}
	m.calls[key] = c
	return c, true
}

// values returns what was done so far and succeeded.
func (m *memo[K, V]) values() []V {
	m.mu.Lock()
	defer m.mu.Unlock()
	var values []V
	for _, c := range m.calls {
		select {
		case <-c.done:
			if c.err == nil {
				values = append(values, c.value)
			}
		default:
		}
	}
	return values
}

func (m *memo[K, V]) forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.calls, key)
}
