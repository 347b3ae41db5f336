// Package jsonschema checks configuration values against JSON Schemas, including those of tenants. It reads only the text
// of a schema, and limits the size of a schema and the work of a check.
package jsonschema

import (
	"cmp"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// maxSubschemas is the maximum number of subschemas: the work of the library grows with its square.
const maxSubschemas = 3000

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	root  *jsonschema.Schema
	graph *graph
	keys  keys
}

// Compile compiles one schema text: JSON, of the draft that its $schema names, else draft-07. Formats are asserted.
// References must stay within the text: no other document is read.
//
// at is the place of the YAML value that contains the text; messages add the position in it. All problems are errors in
// the list. The schema is nil if and only if there are any.
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
	found := newIndex(doc)
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
	for i := 0; i < len(found.definitions) && err == nil; i++ { // unused ones are checked, too
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

// Keys returns the top-level keys that the schema reads, sorted: of values that are equal in these, all are valid or none.
// If closed is true, other keys are invalid. ok is false if the schema may read any key.
func (s *Schema) Keys() (keys []string, closed, ok bool) {
	return s.keys.names, s.keys.closed, s.keys.known
}

// Check validates merged configuration values. It returns the violations, sorted and unique, nil if there are none.
// Top-level strings that parse as numbers count as numbers. The values are not modified.
//
// Values are nil, bool, string, numbers, []any, map[string]any and map[any]any.
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

func newLibrary() *jsonschema.Compiler {
	library := jsonschema.NewCompiler()
	library.DefaultDraft(jsonschema.Draft7)
	library.AssertFormat()
	library.RegisterFormat(&jsonschema.Format{Name: "idn-email", Validate: validateIDNEmail})
	library.UseLoader(closedLoader{})
	library.UseRegexpEngine((&patternSet{compiled: map[string]jsonschema.Regexp{}}).compile)
	return library
}

// longestEmail is the maximum length of an email address in bytes: 64, the at sign and 255 (RFC 5321, 4.5.3.1).
const longestEmail = 320

// validateIDNEmail checks the format idn-email, which the library does not implement, as the operator does.
func validateIDNEmail(value any) error {
	text, isString := value.(string)
	if !isString {
		return nil
	}
	if len(text) > longestEmail {
		return errors.New("too long")
	}
	_, err := mail.ParseAddress(text)
	return err
}

// closedLoader rejects references to other documents. Without it the library reads files.
type closedLoader struct{}

func (closedLoader) Load(string) (any, error) { return nil, errors.New("schemas are not loaded") }

// compilePart compiles the subschema at a JSON Pointer.
func compilePart(library *jsonschema.Compiler, pointer string) (schema *jsonschema.Schema, err error) {
	defer recovered(&err)
	return library.Compile(schemaURL + "#" + url.PathEscape(pointer))
}

// explain reports why the library cannot compile the schema. The library stops at the first problem in random order, and
// most of its errors have no position, so the index reports all common problems.
func (p *problems) explain(err error, doc *node, found *index) {
	if found.report(p); p.list.HasErrors() {
		return
	}
	var (
		invalid *jsonschema.SchemaValidationError
		failure *jsonschema.ValidationError
	)
	switch {
	case errors.As(err, &invalid) && errors.As(invalid.Err, &failure):
		part, _ := doc.at(splitPointer(pointerOf(invalid.URL)))
		for _, v := range (&explainer{root: part.value}).violations(failure) {
			where := ""
			if len(v.Path) > 0 {
				where = "at " + diag.ShortenCharacters(pointerTo(v.Path), 201) + " "
			}
			at, _ := part.at(v.Path)
			p.addAt(at.offset, ruleInvalid, "schema "+where+v.Message)
		}
	default:
		p.addError(err)
	}
}

func (p *problems) addError(err error) {
	p.add(ruleInvalid, "schema cannot be compiled: "+diag.ShortenCharacters(oneLine(err.Error()), 201))
}

// validate returns the failure that the library reports, nil if the value is valid.
func validate(schema *jsonschema.Schema, value any) (failure *jsonschema.ValidationError, err error) {
	defer recovered(&err)
	errors.As(schema.Validate(value), &failure)
	return failure, nil
}

// recovered returns a panic in the library as an error: a tenant's schema must not stop the run for all others.
func recovered(err *error) {
	if cause := recover(); cause != nil {
		*err = errors.New("the JSON Schema library failed")
	}
}

// Violation is one way in which values break a schema.
type Violation struct {
	// Path is the path of the invalid value: keys and list indexes from the root, for example ["DATABASE", "port"]. It is
	// empty for an error of the values as a whole; for a missing key it is the path of the object.
	Path []string
	// Message states the requirement and the actual value: lower case, one line, no full stop.
	Message string
	// Keyword is the violated part of the schema, as a JSON Pointer such as "/properties/REGION/enum". It is empty if no
	// single keyword fails.
	Keyword string
}

// sorted sorts violations and removes duplicates.
func sorted(list []Violation) []Violation {
	slices.SortFunc(list, compareViolations)
	return slices.CompactFunc(list, func(a, b Violation) bool {
		return slices.Equal(a.Path, b.Path) && a.Message == b.Message
	})
}

func compareViolations(a, b Violation) int {
	return cmp.Or(slices.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Keyword, b.Keyword))
}
