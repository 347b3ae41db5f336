package about

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

func TestManualIsDatedWithTheCommit(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	e := &cli.Host{IO: term.IO{Now: func() time.Time { return now }}, Build: cli.Build{Version: "v1.2.3", Date: "2026-11-20T08:00:00Z"}}
	header := manHeader(e)
	assert.Equal(t, "kalypso v1.2.3", header.Source)
	assert.Equal(t, time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC), *header.Date)
	e.Build = cli.Build{}
	assert.Equal(t, now, *manHeader(e).Date, "without a commit it is of today")
}
