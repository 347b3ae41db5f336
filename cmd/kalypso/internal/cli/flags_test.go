package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"a", "b c", "d", "e"}, Split([]string{"a, b c ,,", "", "d,\n e\t"}))
	assert.Empty(t, Split(nil))
	assert.Empty(t, Split([]string{" , "}))
}
