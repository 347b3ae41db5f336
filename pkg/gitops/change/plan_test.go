package change

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParsePlan(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Plan{
		"13 targets on 7 cluster types, 21 assignments: +6 ~2 -1": {21, 13, 7, 6, 2, 1, 13},
		"1 target on 1 cluster type, 1 assignment: +1 ~0 -0":      {1, 1, 1, 1, 0, 0, 0},
		"0 targets on 0 cluster types, 0 assignments: +0 ~0 -0":   {},
	} {
		got, ok := ParsePlan(line)
		assert.True(t, ok, line)
		assert.Equal(t, want, got)
		assert.Equal(t, line, want.String())
	}
	for _, line := range []string{
		"", "Something else", "1 target on 1 cluster type: +1 ~0 -0 =0", "1 target on 1 cluster type, 1 assignment: +1 ~0 -0 and more",
		"1 target on 1 cluster type, 1 assignment: +2 ~0 -0", "99999999999999999999 targets on 1 cluster type, 1 assignment: +1 ~0 -0",
	} {
		_, ok := ParsePlan(line)
		assert.False(t, ok, line)
	}
}
