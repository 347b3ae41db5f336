package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// By default the garbage collector runs when the heap has doubled, which suits small heaps. A run over a large fleet
// should share a small machine with others, so beyond a certain size garbage is collected earlier. A heap that exceeds
// the target anyway may grow by half.
const (
	// smallHeap is the size of live data in bytes below which the default applies, largeHeap the target for the heap.
	smallHeap = 120 << 20
	largeHeap = 340 << 20
	// leastPercent is the minimum, so that the collector does not run all the time.
	leastPercent = 25
)

// collectEarlier sets the garbage collector's percentage by the size of the heap until ctx is done, unless GOGC or
// GOMEMLIMIT is set.
func collectEarlier(ctx context.Context, getenv func(string) string) {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	percent := 100
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		metrics.Read(live)
		if wanted := collectPercent(live[0].Value.Uint64()); wanted != percent {
			percent = wanted
			debug.SetGCPercent(percent)
		}
	}
}

// collectPercent returns the percentage by which the heap may exceed the live data.
func collectPercent(live uint64) int {
	const large = 50
	if live <= smallHeap {
		return 100
	}
	budget := (int64(largeHeap) - int64(live)) * 100 / int64(live) // cannot overflow
	if budget < leastPercent {
		return large
	}
	return int(min(budget, 100)) / 5 * 5
}
