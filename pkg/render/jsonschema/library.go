package jsonschema

import (
	"errors"
	"net/mail"
	"net/url"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

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
