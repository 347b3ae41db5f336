package fleet_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const sent, later = "Fri, 02 Jan 2026 03:00:00 GMT", "Fri, 02 Jan 2026 03:00:09 GMT"
	now := func() time.Time { return time.Date(2026, time.January, 2, 3, 0, 4, 0, time.UTC) }
	for name, test := range map[string]struct {
		after, sent string
		now         func() time.Time
		want        time.Duration
	}{
		"nothing":               {"", sent, now, 0},
		"seconds":               {"7", "", nil, 7 * time.Second},
		"negative":              {"-7", "", nil, 0},
		"for ever":              {"999999999999", "", nil, time.Hour},
		"nonsense":              {"soon", sent, now, 0},
		"a date, by its clock":  {later, sent, now, 9 * time.Second},
		"a date, by ours":       {later, "", now, 5 * time.Second},
		"a date, without clock": {later, "", nil, 0},
		"a date that is past":   {sent, later, nil, 0},
		"a date far away":       {"Fri, 02 Jan 2126 03:00:00 GMT", sent, nil, time.Hour},
	} {
		answer := http.Header{}
		answer.Set("Retry-After", test.after)
		answer.Set("Date", test.sent)
		assert.Equal(t, test.want, retryafter.Parse(answer, test.now), name)
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for range 100 {
		for try := 1; try < 5; try++ {
			pause, bound := retryafter.Backoff(time.Second, try), time.Second<<(try-1)
			assert.GreaterOrEqual(t, pause, bound/2)
			assert.Less(t, pause, bound)
		}
	}
}

func TestSleep(t *testing.T) {
	t.Parallel()
	require.NoError(t, retryafter.Sleep(t.Context(), time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, retryafter.Sleep(ctx, time.Hour), context.Canceled)
}
