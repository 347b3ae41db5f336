package main

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/model/fleettest"
)

func TestParse(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-sizes", "10k,1k", "-dir", "there"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "there", o.dir)
	assert.Equal(t, []fleettest.Size{fleettest.Sizes()[1], fleettest.Sizes()[0]}, o.sizes)

	o, err = parse(nil, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, fleettest.Sizes(), o.sizes)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-sizes", "2k"}, `there is no size "2k" (1k, 10k, 100k, 112500)`},
		{[]string{"1k"}, `unexpected argument "1k"`},
		{[]string{"-size", "1k"}, "flag provided but not defined: -size"},
	} {
		_, err := parse(test.args, io.Discard)
		require.EqualError(t, err, test.want)
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	c, err := measure(t.Context(), os.Args[0], "-test.run", "^$")
	require.NoError(t, err)
	assert.Positive(t, c.wall)
	if runtime.GOOS != "windows" {
		assert.Greater(t, c.peak, int64(1e6), "a Go program needs more than a megabyte")
		assert.Less(t, c.peak, int64(1e9))
	}
}

func TestMeasureFailure(t *testing.T) {
	t.Parallel()
	_, err := measure(t.Context(), os.Args[0], "-no-such-flag")
	require.ErrorContains(t, err, "-no-such-flag: exit status 2")
	require.ErrorContains(t, err, "flag provided but not defined")
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	got := environment([]string{"PATH=/bin", "KALYPSO_REPLACE=a=b", "GITHUB_ACTIONS=true", "HOME=/root"})
	assert.Equal(t, []string{"PATH=/bin", "HOME=/root"}, got)
}

func TestMedian(t *testing.T) {
	t.Parallel()
	costs := []cost{{wall: 3, peak: 1}, {wall: 1, peak: 2}, {wall: 2, peak: 3}}
	assert.Equal(t, cost{wall: 2, peak: 3}, median(costs))
	assert.Equal(t, costs[0], median(costs[:1]))
}

func TestRounds(t *testing.T) {
	t.Parallel()
	var got []int
	for _, size := range fleettest.Sizes() {
		got = append(got, rounds(size))
	}
	assert.Equal(t, []int{3, 3, 3, 1}, got)
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1_000: "1,000", 112_500: "112,500", 1_002_003: "1,002,003"} {
		assert.Equal(t, want, thousands(n))
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	size := fleettest.Sizes()[1]
	tasks := func(wall time.Duration) []*task {
		return []*task{
			{name: validateTask, costs: []cost{{wall: wall, cpu: 2 * wall, peak: 80e6}}},
			{name: renderTask, costs: []cost{{wall: 2 * wall, cpu: 3 * wall, peak: 90e6}}},
			{name: tarTask, costs: []cost{{wall: wall}}},
		}
	}
	more := size
	more.Unused = 1000
	var b bytes.Buffer
	require.NoError(t, printTable(&b, append(rows(size, tasks(time.Second)), rowsBeside(more, tasks(1100 * time.Millisecond)[:2], tasks(time.Second))...)))
	assert.Equal(t, strings.TrimPrefix(`
| fleet             | assignments | run                 | seconds | CPU seconds | µs per assignment | peak MB | time compared  |
| ----------------- | ----------: | ------------------- | ------: | ----------: | ----------------: | ------: | -------------- |
| 10k               |      10,032 | validate            |    1.00 |        2.00 |              99.7 |      80 |                |
| 10k               |      10,032 | render --output-dir |    2.00 |        3.00 |             199.4 |      90 | 2.00 × tar -x  |
| 10k               |      10,032 | tar -x              |    1.00 |        0.00 |              99.7 |       ? |                |
| 10k, 1,000 unused |      10,032 | validate            |    1.10 |        2.20 |             109.6 |      80 | 1.10 × without |
| 10k, 1,000 unused |      10,032 | render --output-dir |    2.20 |        3.30 |             219.3 |      90 | 1.10 × without |
`, "\n"), b.String())
}
