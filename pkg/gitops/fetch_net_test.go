package github

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSleepByClock(t *testing.T) {
	t.Parallel()
	require.NoError(t, sleepByClock(t.Context(), time.Nanosecond))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, sleepByClock(ctx, time.Hour), context.Canceled)
}
