// Package jsonschema checks configuration values against JSON Schemas, those of tenants among them: it reads nothing but
// the text of a schema, and bounds the size of a schema and the work of a check.
package jsonschema

import (
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// maxSteps bounds the work of one check. A step is about one subschema that looks at one value, well under a
// microsecond.
const maxSteps = 250_000

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	root  *jsonschema.Schema
	graph *graph
	keys  keys
}

// Violation is one way in which values break a schema.
type Violation struct {
	// Path leads to the offending value: keys and list indexes from the top, for example ["DATABASE", "port"]. It is
	// empty if the values as a whole are at fault; for a missing key it leads to the object that lacks it.
	Path []string
	// Message says what is required and what was found: lower case, one line, no full stop.
	Message string
	// Keyword is the part of the schema that objects, as a JSON Pointer such as "/properties/REGION/enum". It is empty
	// where no single keyword is at fault.
	Keyword string
}

// Compile compiles one schema text: JSON, of the draft that its $schema names, else draft-07. Formats are asserted.
// References must stay within the text: nothing outside is ever read.
//
// The place is that of the YAML value that holds the text; messages add the position inside it. All problems are errors
// in the list, and the schema is nil exactly if there are any.
func Compile(text string, at diag.Place) (*Schema, diag.List) {
	problems := &problems{at: at, text: text}
	schema := compile(problems)
	if problems.list.HasErrors() {
		return nil, problems.list.Sorted()
	}
	return schema, nil
}

// Keys returns the top-level keys that the schema looks at, sorted: of values that are alike in these, all are valid or none.
// No others may be there at all if closed is set. ok is false if the schema may look at any key.
func (s *Schema) Keys() (keys []string, closed, ok bool) {
	return s.keys.names, s.keys.closed, s.keys.known
}

// Check validates consolidated configuration values and returns what is wrong with them: sorted, each violation once,
// nil if nothing is. Top-level strings that read as numbers count as numbers. The values are not modified.
//
// Values hold nil, bool, string, numbers, []any, map[string]any and map[any]any.
func (s *Schema) Check(values map[string]any) []Violation {
	root, faults := convertAll(values)
	if len(faults) > 0 {
		return sorted(faults)
	}
	if s.graph.tooCostly(root) {
		return []Violation{{Message: fmt.Sprintf("too much to check: the schema needs more than %d steps for these values", maxSteps)}}
	}
	failure, err := validate(s.root, root)
	if err != nil {
		return []Violation{{Message: "cannot be checked: " + err.Error()}}
	}
	if failure == nil {
		return nil
	}
	return (&explainer{parts: s.graph.byLocation, root: root, source: values}).violations(failure)
}

// validate returns what the library finds, nil if the value is valid.
func validate(schema *jsonschema.Schema, value any) (failure *jsonschema.ValidationError, err error) {
	defer recovered(&err)
	errors.As(schema.Validate(value), &failure)
	return failure, nil
}

// recovered turns a panic in the library into an error: a tenant's schema must not stop the run for all others.
func recovered(err *error) {
	if cause := recover(); cause != nil {
		*err = errors.New("the JSON Schema library gave up")
	}
}
