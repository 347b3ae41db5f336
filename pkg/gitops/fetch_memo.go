package gitops

import (
	"context"
	"errors"
	"sync"
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
}

func (m *memo[K, V]) do(ctx context.Context, key K, f func() (V, error)) (V, error) {
	m.mu.Lock()
	c, ok := m.calls[key]
	if !ok {
		if m.calls == nil {
			m.calls = map[K]*call[V]{}
		}
		c = &call[V]{done: make(chan struct{})}
		m.calls[key] = c
	}
	m.mu.Unlock()
	if !ok {
		c.value, c.err = f()
		if c.err != nil && errors.Is(c.err, context.Canceled) {
			m.mu.Lock()
			delete(m.calls, key)
			m.mu.Unlock()
		}
		close(c.done)
		return c.value, c.err
	}
	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
		var zero V
		return zero, interrupted(ctx)
	}
}

// interrupted is the error of a read that its context ended.
func interrupted(ctx context.Context) *Error {
	return problem(RuleRemoteFailed, "reading was interrupted: %v", context.Cause(ctx)).because(ctx.Err())
}
