package template

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The values are those that the in-cluster operator gave.
func TestHashText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"text", "v", "12638153115695167401"},
		{"map", map[string]any{"k": "v"}, "14467204630899689274"},
		{"loose map", map[any]any{"k": "v"}, "14467204630899689274"},
		{"labels", map[string]string{"k": "v"}, "14467204630899689274"},
		{"empty map", map[string]any{}, "0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := hashText(test.value)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestHashTextReportsWhatItCannotHash(t *testing.T) {
	t.Parallel()
	_, err := hashText(make(chan int))
	require.Error(t, err)
}
