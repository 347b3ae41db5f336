package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestListed(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"a", "b c", "d", "e"}, listed([]string{"a, b c ,,", "", "d,\n e\t"}))
	assert.Empty(t, listed(nil))
	assert.Empty(t, listed([]string{" , "}))
}
