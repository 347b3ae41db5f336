package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCollectPercent(t *testing.T) {
	t.Parallel()
	for megabytes, want := range map[uint64]int{0: 100, 50: 100, 120: 100, 200: 70, 250: 35, 270: 25, 300: 50, 5000: 50} {
		assert.Equal(t, want, collectPercent(megabytes<<20), "%d MB", megabytes)
	}
}
