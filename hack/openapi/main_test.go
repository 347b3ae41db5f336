package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const described = `{
  "openapi": "3.0.3", "info": {"title": "T"}, "servers": [], "tags": [1],
  "paths": {"/a": {
    "get": {"summary": "s", "x-y": 1, "responses": {
      "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}},
      "404": {"$ref": "#/components/responses/gone"}}},
    "post": {"responses": {}}}, "/b": {}},
  "components": {"schemas": {
    "A": {"description": "d", "properties": {"description": {"type": "string", "example": "e"}, "b": {"$ref": "#/components/schemas/B"}}},
    "B": {"type": "integer", "maximum": 9223372036854775807}, "C": {}}}}`

const trimmed = `{
  "openapi": "3.0.3", "info": {"title": "T"}, "servers": [],
  "paths": {"/a": {"get": {"responses": {
    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}}}}},
  "components": {"schemas": {
    "A": {"properties": {"description": {"type": "string"}, "b": {"$ref": "#/components/schemas/B"}}},
    "B": {"type": "integer", "maximum": 9223372036854775807}}}}`

func TestTrim(t *testing.T) {
	t.Parallel()
	got, err := trim([]byte(described), []string{"GET /a"})
	require.NoError(t, err)
	assert.JSONEq(t, trimmed, string(got))
	assert.Contains(t, string(got), "9223372036854775807", "numbers stay what they were")
	again, err := trim(got, []string{"GET /a"})
	require.NoError(t, err)
	assert.Equal(t, string(got), string(again))
}

func TestTrimRefused(t *testing.T) {
	t.Parallel()
	for about, test := range map[string]struct{ description, operation, want string }{
		"no path":      {described, "GET /c", "nothing at paths /c"},
		"no method":    {described, "GET /b", "nothing at paths /b get"},
		"no JSON":      {`{`, "GET /a", "unexpected EOF"},
		"no component": {`{"paths":{"/a":{"get":{"$ref":"#/components/schemas/X"}}}}`, "GET /a", "nothing at components"},
		"elsewhere":    {`{"paths":{"/a":{"get":{"$ref":"other.json"}}}}`, "GET /a", `reference "other.json" is not to a component`},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			_, err := trim([]byte(test.description), []string{test.operation})
			require.ErrorContains(t, err, test.want)
		})
	}
}
