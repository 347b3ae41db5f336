package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// cost is what one run of a command took.
type cost struct {
	wall, cpu time.Duration
	// peak is the largest resident set in bytes; 0 where the system does not tell.
	peak int64
}

// measure runs a command. What it prints is dropped, unless it fails.
func measure(ctx context.Context, name string, args ...string) (cost, error) {
	var complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = &complaints
	cmd.Env = environment(os.Environ())
	start := time.Now()
	err := cmd.Run()
	c := cost{wall: time.Since(start)}
	if err != nil {
		return cost{}, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, complaints.String())
	}
	c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	c.peak = peak(cmd.ProcessState)
	return c, nil
}

// environment leaves out what would change what kalypso does.
func environment(variables []string) []string {
	return slices.DeleteFunc(variables, func(v string) bool {
		return strings.HasPrefix(v, "KALYPSO_") || strings.HasPrefix(v, "GITHUB_")
	})
}

// median returns the cost of the run that is in the middle by time. There is at least one.
func median(costs []cost) cost {
	byTime := slices.SortedFunc(slices.Values(costs), func(a, b cost) int { return cmp.Compare(a.wall, b.wall) })
	return byTime[len(byTime)/2]
}
