package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestControlCharactersInResults: what terminals obey and YAML refuses comes out as an escape, and means the same.
func TestControlCharactersInResults(t *testing.T) {
	t.Parallel()
	want := map[string]string{"message": "a\u009b31mb\u007f\u0085\ufffe\uffff ünd 🎉 \\u0085"}
	for _, format := range []string{formatJSON, formatYAML} {
		var out bytes.Buffer
		require.NoError(t, printStructured(&out, format, want), format)
		for _, control := range []string{"\u009b", "\u007f", "\u0085", "\ufffe", "\uffff"} {
			assert.NotContains(t, out.String(), control, format)
		}
		var got map[string]string
		if format == formatJSON {
			require.NoError(t, json.Unmarshal(out.Bytes(), &got))
		} else {
			require.NoError(t, yaml.Unmarshal(out.Bytes(), &got))
		}
		assert.Equal(t, want, got, format)
	}
}
