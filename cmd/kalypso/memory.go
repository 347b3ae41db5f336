package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The runtime lets the heap grow to twice what is in use before it collects, which suits small heaps. A
// run over a large fleet is to fit beside others on a small machine, so from a certain size on it
// collects earlier. A fleet that needs more than that anyway pays for half as much again.
const (
	// smallHeap is how much may be in use before anything changes, largeHeap what the heap is to stay
	// below as long as it can.
	smallHeap = 120 << 20
	largeHeap = 340 << 20
	// leastPercent keeps the collector from running all the time.
	leastPercent = 25
)

// collectEarlier adapts the collector to the heap until ctx is done, unless the environment says how it
// is to work.
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

// collectPercent is by how many percent the heap may grow beyond what is in use.
func collectPercent(live uint64) int {
	const large = 50
	if live <= smallHeap {
		return 100
	}
	room := (int64(largeHeap) - int64(live)) * 100 / int64(live) // no heap is that large
	if room < leastPercent {
		return large
	}
	return int(min(room, 100)) / 5 * 5
}
