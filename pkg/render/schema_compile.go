package render

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/message"
)

// schemaCompiler drives the library for one schema text.
type schemaCompiler struct {
	doc     *jsonNode
	library *jsonschema.Compiler
	// compiled are the schemas made so far, from which all others can be reached.
	compiled []*jsonschema.Schema
}

func newSchemaCompiler(doc *jsonNode, patterns *patternSet) *schemaCompiler {
	library := jsonschema.NewCompiler()
	library.DefaultDraft(jsonschema.Draft7)
	library.AssertFormat()
	library.RegisterFormat(&jsonschema.Format{Name: "idn-email", Validate: validateIDNEmail})
	library.UseLoader(closedLoader{})
	library.UseRegexpEngine(patterns.engine)
	return &schemaCompiler{doc: doc, library: library}
}

// longestEmail is the maximum length of an email address in bytes: 64, the at sign and 255 (RFC 5321, 4.5.3.1).
const longestEmail = 320

// validateIDNEmail checks the format idn-email, which the library does not know, as the operator does.
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

// closedLoader refuses whatever a schema refers to outside itself. Without it the library reads files.
type closedLoader struct{}

var errOutside = errors.New("schemas are not loaded")

func (closedLoader) Load(string) (any, error) { return nil, errOutside }

// compile compiles the subschema that a JSON Pointer names; if it cannot, it reports why and
// returns nil.
func (c *schemaCompiler) compile(pointer string, problems *schemaProblems) *jsonschema.Schema {
	schema, err := c.guarded(pointer)
	if err != nil {
		c.explain(err, problems)
		return nil
	}
	c.compiled = append(c.compiled, schema)
	return schema
}

// guarded turns a panic in the library into an error: a tenant's schema must not stop the run
// without saying whose it is.
func (c *schemaCompiler) guarded(pointer string) (schema *jsonschema.Schema, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			schema, err = nil, fmt.Errorf("the JSON Schema library gave up: %v", cause)
		}
	}()
	if len(c.compiled) == 0 {
		if err := c.library.AddResource(schemaURL, c.doc.value); err != nil {
			return nil, err
		}
	}
	return c.library.Compile(schemaURL + "#" + url.PathEscape(pointer))
}

// explain reports an error of the library. The survey has reported the usual ones before, with
// their positions.
func (c *schemaCompiler) explain(err error, problems *schemaProblems) {
	var (
		invalid  *jsonschema.SchemaValidationError
		outside  *jsonschema.LoadURLError
		pattern  *jsonschema.InvalidRegexError
		noTarget *jsonschema.JSONPointerNotFoundError
		noAnchor *jsonschema.AnchorNotFoundError
	)
	switch {
	case errors.As(err, &invalid):
		c.explainInvalid(invalid, problems)
	case errors.As(err, &outside):
		problems.add(ruleSchemaRefOutside, fmt.Sprintf("a reference leads out of the schema: %s", quoteShort(outside.URL)))
	case errors.As(err, &pattern):
		rule := ruleInvalidSchema
		if errors.Is(pattern.Err, errTooLarge) {
			rule = ruleSchemaTooLarge
		}
		problems.add(rule, fmt.Sprintf("pattern %s cannot be used: %v", quoteShort(pattern.Regex), pattern.Err))
	case errors.As(err, &noTarget):
		problems.add(ruleInvalidSchema, fmt.Sprintf("a reference leads nowhere: %s", quoteShort(pointerOf(noTarget.URL))))
	case errors.As(err, &noAnchor):
		problems.add(ruleInvalidSchema, fmt.Sprintf("a reference leads nowhere: %s", quoteShort(noAnchor.Reference)))
	default:
		problems.add(ruleInvalidSchema, "schema cannot be compiled: "+shorten(oneLine(err.Error()), 200))
	}
}

// explainInvalid reports what the schema of schemas says against this one.
func (c *schemaCompiler) explainInvalid(invalid *jsonschema.SchemaValidationError, problems *schemaProblems) {
	var failure *jsonschema.ValidationError
	if !errors.As(invalid.Err, &failure) {
		problems.add(ruleInvalidSchema, "schema does not follow its draft")
		return
	}
	part := c.doc.at(splitPointer(pointerOf(invalid.URL)))
	words := explainer{root: part.value}
	for _, violation := range words.violations(failure) {
		where := ""
		if len(violation.Path) > 0 {
			where = "at " + shorten(pointerTo(violation.Path), 200) + " "
		}
		problems.addAt(part.at(violation.Path).offset, ruleInvalidSchema, "schema "+where+violation.Message)
	}
}

// pointerOf returns the JSON Pointer in the fragment of a location that the library gives.
func pointerOf(location string) string {
	_, fragment, _ := strings.Cut(location, "#")
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return fragment
	}
	return pointer
}

// pointerTo writes a path as a JSON Pointer.
func pointerTo(path []string) string {
	var b strings.Builder
	for _, key := range path {
		b.WriteByte('/')
		b.WriteString(escapePointer(key))
	}
	return b.String()
}

// libraryFault is the kind of a failure in the library itself.
type libraryFault struct{}

func (libraryFault) KeywordPath() []string                   { return nil }
func (libraryFault) LocalizedString(*message.Printer) string { return "" }

// propertyNames checks the names of an object's members in place of the library, whose own
// errors name the wrong path: they share memory with the paths of the objects checked next.
type propertyNames struct{ names *jsonschema.Schema }

// Validate implements jsonschema.SchemaExt.
func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, value any) {
	members, isObject := value.(map[string]any)
	if !isObject {
		return
	}
	for name := range members {
		var failure *jsonschema.ValidationError
		if errors.As(p.names.Validate(name), &failure) {
			ctx.AddErrors(failure.Causes, &kind.PropertyNames{Property: name})
		}
	}
}
