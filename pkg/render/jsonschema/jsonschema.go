// Package jsonschema checks configuration values against JSON Schemas, those of tenants among them: it reads nothing but
// the text of a schema, and bounds the size of a schema and the work of a check.
package jsonschema

import (
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// maxSubschemas is the number of schemas in a schema: the library's work grows with its square.
const maxSubschemas = 3000

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	root  *jsonschema.Schema
	graph *graph
	keys  keys
}

// Compile compiles one schema text: JSON, of the draft that its $schema names, else draft-07. Formats are asserted.
// References must stay within the text: nothing outside is ever read.
//
// The place is that of the YAML value that holds the text; messages add the position inside it. All problems are errors
// in the list, and the schema is nil exactly if there are any.
func Compile(text string, at diag.Place) (*Schema, diag.List) {
	p := &problems{at: at, text: text}
	schema := compile(p)
	if p.list.HasErrors() {
		return nil, p.list.Sorted()
	}
	return schema, nil
}

func compile(p *problems) *Schema {
	doc := parse(p)
	if doc == nil {
		return nil
	}
	found := surveySchema(doc)
	if found.subschemas > maxSubschemas {
		p.add(ruleTooLarge, fmt.Sprintf("schema has %d subschemas, more than %d", found.subschemas, maxSubschemas))
		return nil
	}
	library := newLibrary()
	if err := library.AddResource(schemaURL, doc.value); err != nil {
		p.addError(err)
		return nil
	}
	root, err := compilePart(library, "")
	for i := 0; i < len(found.definitions) && err == nil; i++ { // those that nothing refers to are checked, too
		_, err = compilePart(library, pointerTo(found.definitions[i]))
	}
	if err != nil {
		p.explain(err, doc, found)
		return nil
	}
	g := newGraph(root)
	if !g.check(p, found) {
		return nil
	}
	return &Schema{root: root, graph: g, keys: keysOf(g.root)}
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
