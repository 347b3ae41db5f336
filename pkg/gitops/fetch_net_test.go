package gitops

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSleepByClock(t *testing.T) {
	t.Parallel()
	require.NoError(t, Sleep(t.Context(), time.Nanosecond))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Sleep(ctx, time.Hour), context.Canceled)
}
