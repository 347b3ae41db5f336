package jsonschema

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSubschemas is the number of schemas in a schema: the library's work grows with its square.
const maxSubschemas = 3000

// schemaURL is the base of references in a schema that has no $id. Nothing is ever read there.
const schemaURL = "kalypso:///schema"

// compile returns nil if it has reported a problem.
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
	if err != nil || !isDraft(doc.text("$schema")) {
		p.explain(err, doc, found)
		return nil
	}
	parts := []*jsonschema.Schema{root}
	for _, path := range found.dynamicAnchors { // any may be the target of a $dynamicRef, if the library has come across it
		if part, err := compilePart(library, pointerTo(path)); err == nil {
			parts = append(parts, part)
		}
	}
	g := newGraph(parts)
	if !g.check(p) {
		return nil
	}
	return &Schema{root: root, graph: g, keys: keysOf(g.root)}
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

func (closedLoader) Load(string) (any, error) { return nil, errors.New("schemas are not loaded") }

// compilePart compiles the subschema that a JSON Pointer names.
func compilePart(library *jsonschema.Compiler, pointer string) (schema *jsonschema.Schema, err error) {
	defer recovered(&err)
	return library.Compile(schemaURL + "#" + url.PathEscape(pointer))
}

// explain reports why the library cannot compile the schema. It stops at one problem, the first in random order, and most
// of its errors have no position: the survey reports all of the usual ones.
func (p *problems) explain(err error, doc *node, found *survey) {
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
				where = "at " + shorten(pointerTo(v.Path), 200) + " "
			}
			at, _ := part.at(v.Path)
			p.addAt(at.offset, ruleInvalid, "schema "+where+v.Message)
		}
	default:
		p.addError(err)
	}
}

func (p *problems) addError(err error) {
	p.add(ruleInvalid, "schema cannot be compiled: "+shorten(oneLine(err.Error()), 200))
}

// pointerOf returns the JSON Pointer in the fragment of a location that the library gives.
func pointerOf(location string) string {
	_, fragment, _ := strings.Cut(location, "#")
	if pointer, err := url.PathUnescape(fragment); err == nil {
		return pointer
	}
	return fragment
}

// pointerTo writes a path as a JSON Pointer.
func pointerTo(path []string) string {
	var b strings.Builder
	for _, key := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	}
	return b.String()
}

// splitPointer returns the keys that a JSON Pointer leads through.
func splitPointer(pointer string) []string {
	path := strings.Split(pointer, "/")[1:]
	for i, token := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	}
	return path
}
