package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestManualIsDatedWithTheCommit(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	e := &edges{version: "v1.2.3", build: build{Date: "2026-11-20T08:00:00Z"}, now: func() time.Time { return now }}
	header := e.manHeader()
	assert.Equal(t, "kalypso v1.2.3", header.Source)
	assert.Equal(t, time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC), *header.Date)
	e.build = build{}
	assert.Equal(t, now, *e.manHeader().Date, "without a commit it is of today")
}
