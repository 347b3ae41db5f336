package server_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/memo"
)

func TestMemoDoesThingsOnce(t *testing.T) {
	t.Parallel()
	var m memo.Map[string, int64]
	var calls atomic.Int64
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			got, err := m.Do(t.Context(), "a", func() (int64, error) { return calls.Add(1), nil })
			require.NoError(t, err)
			assert.EqualValues(t, 1, got)
		})
	}
	wait.Wait()
	failed := errors.New("failed")
	for range 2 {
		_, err := m.Do(t.Context(), "b", func() (int64, error) { calls.Add(1); return 0, failed })
		require.ErrorIs(t, err, failed)
	}
	assert.EqualValues(t, 2, calls.Load(), "an error is an outcome too")
}

func TestMemoForgetsWhatWasInterrupted(t *testing.T) {
	t.Parallel()
	var m memo.Map[string, int]
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	outcome := make(chan error)
	go func() {
		_, err := m.Do(ctx, "a", func() (int, error) { close(started); <-ctx.Done(); return 0, ctx.Err() })
		outcome <- err
	}()
	<-started
	second := make(chan int)
	go func() {
		got, err := m.Do(t.Context(), "a", func() (int, error) { return 7, nil })
		if err != nil {
			got = -1
		}
		second <- got
	}()
	cancel()
	require.ErrorIs(t, <-outcome, context.Canceled)
	assert.Equal(t, 7, <-second, "who was not interrupted does it again")
}
