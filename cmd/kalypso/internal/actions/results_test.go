package actions

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// TestControlCharactersInResults: what terminals obey and YAML refuses comes out as an escape, and means the same.
func TestControlCharactersInResults(t *testing.T) {
	t.Parallel()
	want := map[string]string{"message": "a\u009b31mb\u007f\u0085\ufffe\uffff ünd 🎉 \\u0085"}
	for _, format := range []string{results.JSON, results.YAML} {
		var out bytes.Buffer
		require.NoError(t, results.Print(&out, format, want), format)
		for _, control := range []string{"\u009b", "\u007f", "\u0085", "\ufffe", "\uffff"} {
			assert.NotContains(t, out.String(), control, format)
		}
		var got map[string]string
		if format == results.JSON {
			require.NoError(t, json.Unmarshal(out.Bytes(), &got))
		} else {
			require.NoError(t, yaml.Unmarshal(out.Bytes(), &got))
		}
		assert.Equal(t, want, got, format)
	}
}

func TestS13ResultsGiveTheRunnerNoOrders(t *testing.T) {
	t.Parallel()
	result := map[string]string{
		"old":   "##[stop-commands]x, \\##[error]y",
		"block": "first\n::error::second\n",
		"long":  strings.Repeat("word ", 30) + "::error::after a fold",
		"many":  strings.Repeat("::error::x ", 40),
	}
	for _, format := range []string{results.JSON, results.YAML} {
		var out bytes.Buffer
		require.NoError(t, results.Print(&out, format, result))
		assert.False(t, term.HoldsCommand(out.Bytes()), format)
		var got map[string]string
		require.NoError(t, yaml.Unmarshal(out.Bytes(), &got), format)
		assert.Equal(t, result, got, format)
	}
	var out bytes.Buffer
	require.NoError(t, results.Print(&out, results.YAML, map[string]string{"a": "b"}))
	assert.Equal(t, "a: b\n", out.String(), "what is harmless stays")
}
