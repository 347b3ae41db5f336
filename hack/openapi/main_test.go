package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const described = `{
  "openapi": "3.0.3", "info": {"title": "T"}, "servers": [], "tags": [1],
  "paths": {"/a": {
    "get": {"summary": "s", "x-y": 1, "parameters": [
      {"$ref": "#/components/parameters/id"}, {"in": "query", "name": "state", "schema": {"type": "string", "enum": ["open"]}},
      {"in": "query", "name": "all", "schema": {"type": "boolean"}}, {"in": "query", "name": "q", "schema": {"type": "string"}}],
     "responses": {
      "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}, "204": {"description": "none"},
      "404": {"$ref": "#/components/responses/gone"}}},
    "post": {
     "requestBody": {"required": true, "content": {"application/json": {"schema": {"oneOf": [
       {"required": ["x"], "properties": {"x": {"nullable": true}}}]}}}},
     "responses": {"201": {"content": {"application/json": {"schema": {"type": "object", "nullable": true, "allOf": [
       {"$ref": "#/components/schemas/A"}, {"required": ["c"], "properties": {"c": {}}}]}}}}}}}, "/b": {}},
  "components": {"parameters": {"id": {"in": "path", "name": "id", "schema": {"type": "integer"}}}, "schemas": {
    "A": {"description": "d", "required": ["b"], "properties": {"description": {"type": "string", "example": "e"}, "b": {"$ref": "#/components/schemas/B"}}},
    "B": {"type": "integer", "nullable": true, "enum": [1], "format": "int64", "maximum": 9223372036854775807}, "C": {}}}}`

const converted = `{
  "operations": {"GET /a": {
    "path": {"additionalProperties": false, "properties": {"id": {"pattern": "^-?[0-9]+$"}}},
    "query": {"additionalProperties": false, "properties": {"state": {"enum": ["open"]}, "all": {"enum": ["true", "false"]}, "q": {}}},
    "answers": {"200": {"$ref": "#/$defs/A"}, "204": true}}, "POST /a": {
    "path": {"additionalProperties": false, "properties": {}}, "query": {"additionalProperties": false, "properties": {}},
    "needsBody": true, "body": {"oneOf": [{"additionalProperties": false, "properties": {"x": {"anyOf": [{}, {"type": "null"}]}}, "required": ["x"]}]},
    "answers": {"201": {"type": ["object", "null"], "additionalProperties": false, "properties": {"b": {"$ref": "#/$defs/B"}, "description": {"type": "string"}, "c": {}}}}}},
  "$defs": {
    "A": {"additionalProperties": false, "properties": {"description": {"type": "string"}, "b": {"$ref": "#/$defs/B"}}},
    "B": {"type": ["integer", "null"], "enum": [1, null], "maximum": 9223372036854775807}}}`

func TestConvert(t *testing.T) {
	t.Parallel()
	got, err := convert([]byte(described), []string{"GET /a", "POST /a"})
	require.NoError(t, err)
	assert.JSONEq(t, converted, string(got))
	assert.Contains(t, string(got), "9223372036854775807", "numbers stay what they were")
}

func TestConvertRefused(t *testing.T) {
	t.Parallel()
	for about, test := range map[string]struct{ description, operation, want string }{
		"no path":      {described, "GET /c", "nothing at paths /c"},
		"no method":    {described, "GET /b", "nothing at paths /b get"},
		"no JSON":      {`{`, "GET /a", "unexpected EOF"},
		"no component": {`{"paths":{"/a":{"get":{"parameters":[{"$ref":"#/components/parameters/X"}]}}}}`, "GET /a", "nothing at components"},
		"elsewhere":    {`{"paths":{"/a":{"get":{"parameters":[{"$ref":"other.json"}]}}}}`, "GET /a", `reference "other.json" is not to a component`},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			_, err := convert([]byte(test.description), []string{test.operation})
			require.ErrorContains(t, err, test.want)
		})
	}
}
