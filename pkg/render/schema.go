package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Limits of one schema text, so that no tenant's schema can exhaust the compiler. They are far above
// what a schema for configuration values needs.
const (
	// MaxSchemaBytes is the length of a schema text.
	MaxSchemaBytes = 1 << 20
	// MaxSchemaValues is the number of JSON values in a schema text, nested ones included.
	MaxSchemaValues = 20_000
	// MaxSubschemas is the number of schemas in a schema: the library's work grows with its square.
	MaxSubschemas = 3000
	// MaxSchemaNesting is how deep objects and lists of a schema text may nest.
	MaxSchemaNesting = 64
	// MaxSchemaChain is how many subschemas in a row may look at one and the same value, by $ref,
	// allOf and their kin.
	MaxSchemaChain = 200
	// MaxCheckSteps bounds the work of one check. A step is about one subschema that looks at one
	// value, well under a microsecond.
	MaxCheckSteps = 250_000
)

// Rules of the diagnostics that CompileSchema reports.
const (
	ruleInvalidSchema    = "invalid-schema"
	ruleSchemaRefOutside = "schema-ref-outside"
	ruleSchemaTooLarge   = "schema-too-large"
)

// schemaURL is the base of references in a schema that has no $id. Nothing is ever read there.
const schemaURL = "kalypso:///schema"

// Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	root *jsonschema.Schema
	plan *schemaPlan
	// keys are all that the schema looks at, if it is local; closed says that there may be no others.
	keys          []string
	local, closed bool
}

// Violation is one way in which values break a schema.
type Violation struct {
	// Path leads to the offending value: keys and list indexes from the top, for example
	// ["DATABASE", "port"]. It is empty if the values as a whole are at fault; for a missing key it
	// leads to the object that lacks it.
	Path []string
	// Message says what is required and what was found: lower case, one line, no full stop.
	Message string
	// Keyword is the part of the schema that objects, as a JSON Pointer such as
	// "/properties/REGION/enum". It is empty where no single keyword is at fault.
	Keyword string
}

// CompileSchema compiles one schema text: JSON, of the draft that its $schema names, else draft-07.
// Formats are asserted. References must stay within the text: nothing outside is ever read.
//
// The place is that of the YAML value that holds the text; messages add the position inside it.
// All problems are errors in the list, and the schema is nil exactly if there are any.
func CompileSchema(text string, at diag.Place) (*Schema, diag.List) {
	problems := &schemaProblems{at: at, text: text}
	schema := compileSchema(text, problems)
	if problems.list.HasErrors() {
		return nil, problems.list.Sorted()
	}
	return schema, nil
}

func compileSchema(text string, problems *schemaProblems) *Schema {
	doc := parseSchemaJSON(text, problems)
	if doc == nil {
		return nil
	}
	patterns := newPatternSet()
	found := surveySchema(doc, patterns, problems)
	if problems.list.HasErrors() {
		return nil
	}
	compiler := newSchemaCompiler(doc, patterns)
	root := compiler.compile("", problems)
	if root == nil {
		return nil
	}
	for _, pointer := range found.dynamicAnchors {
		compiler.compile(pointer, problems)
	}
	plan := planSchema(doc, compiler.compiled, problems)
	if plan == nil {
		return nil
	}
	schema := &Schema{root: root, plan: plan}
	schema.keys, schema.closed, schema.local = localKeys(root)
	return schema
}

// Check validates consolidated configuration values and returns what is wrong with them: sorted,
// each violation once, nil if nothing is. Top-level strings that read as numbers count as numbers.
// The values are not modified.
//
// Values hold nil, bool, string, numbers, []any, map[string]any and map[any]any. To check the same
// values against several schemas, convert them once with NewInstance.
func (s *Schema) Check(values map[string]any) []Violation {
	return s.CheckInstance(NewInstance(values))
}

// CheckInstance is Check for values that were converted before.
func (s *Schema) CheckInstance(instance *Instance) []Violation {
	if len(instance.faults) > 0 {
		return slices.Clone(instance.faults)
	}
	if s.plan.tooCostly(instance) {
		return []Violation{{Message: fmt.Sprintf(
			"too much to check: the schema needs more than %d steps for these values", s.plan.stepLimit(instance))}}
	}
	err := runSchema(s.root, instance.root)
	if err == nil {
		return nil
	}
	words := explainer{plan: s.plan, root: instance.root, source: instance.source}
	return words.violations(err)
}

// runSchema returns what the library finds, nil if the value is valid. A panic in the library must
// not take the whole run down because of one tenant's schema: it counts as a violation.
func runSchema(schema *jsonschema.Schema, value any) (failure *jsonschema.ValidationError) {
	defer func() {
		if recover() != nil {
			failure = &jsonschema.ValidationError{SchemaURL: schema.Location, ErrorKind: libraryFault{}}
		}
	}()
	errors.As(schema.Validate(value), &failure)
	return failure
}

// schemaProblems collects what is wrong with one schema text.
type schemaProblems struct {
	at   diag.Place
	text string
	list diag.List
}

// add reports a problem with the schema as a whole.
func (p *schemaProblems) add(rule, message string, options ...diag.Option) {
	p.list.Error(rule, p.at, message, options...)
}

// addAt reports a problem at a byte offset of the text.
func (p *schemaProblems) addAt(offset int, rule, message string, options ...diag.Option) {
	p.add(rule, fmt.Sprintf("%s (%s of the schema)", message, textPosition(p.text, offset)), options...)
}

// textPosition names a byte offset in words, as editors count: from 1, columns in characters.
func textPosition(text string, offset int) string {
	before := text[:min(max(offset, 0), len(text))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}
