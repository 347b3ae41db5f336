// Package openapitest checks requests and answers against the description that GitHub publishes of its REST API.
package openapitest

import (
	"bytes"
	_ "embed" // the schemas
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schemas.json
var schemasJSON []byte

// Operation is what the description says of an endpoint.
type Operation struct {
	name              string
	path, query, body *jsonschema.Schema
	needsBody         bool
	answers           map[string]*jsonschema.Schema // by status
}

type object = map[string]any

// Operations returns all operations that are described here, by their names ("GET /path").
func Operations() (map[string]Operation, error) { return operations() }

var operations = sync.OnceValues(func() (map[string]Operation, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemasJSON))
	if err != nil {
		return nil, err
	}
	const file = "file:///schemas.json" // a relative name would depend on the working folder
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(file, document); err != nil {
		return nil, err
	}
	schema := func(keys ...string) *jsonschema.Schema {
		at := file + "#/operations"
		for _, key := range keys {
			at += "/" + url.PathEscape(strings.ReplaceAll(key, "/", "~1"))
		}
		return compiler.MustCompile(at)
	}
	operations := map[string]Operation{}
	for name, described := range document.(object)["operations"].(object) {
		described := described.(object)
		o := Operation{
			name: name, path: schema(name, "path"), query: schema(name, "query"), needsBody: described["needsBody"] == true,
			answers: map[string]*jsonschema.Schema{},
		}
		if described["body"] != nil {
			o.body = schema(name, "body")
		}
		for status := range described["answers"].(object) {
			o.answers[status] = schema(name, "answers", status)
		}
		operations[name] = o
	}
	return operations, nil
})

// Request is a request that the description covers.
type Request struct {
	// Path has the values of the variables of the path.
	Path        map[string]string
	Query       url.Values
	ContentType string
	Body        []byte
}

// CheckRequest reports what is wrong with a request.
func (o Operation) CheckRequest(r Request) error {
	path, query := object{}, object{}
	for name, value := range r.Path {
		path[name] = value
	}
	for name := range r.Query {
		query[name] = r.Query.Get(name)
	}
	if err := o.path.Validate(path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if err := o.query.Validate(query); err != nil {
		return fmt.Errorf("query: %w", err)
	}
	switch {
	case len(r.Body) == 0 && o.needsBody:
		return errors.New("it has no body")
	case len(r.Body) == 0:
		return nil
	case o.body == nil:
		return errors.New("it has a body")
	case !strings.HasPrefix(r.ContentType, "application/json"):
		return fmt.Errorf("its body is %q, not JSON", r.ContentType)
	}
	if err := validate(o.body, o.described(r.Body)); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return nil
}

// CheckAnswer reports what is wrong with an answer; refusals are not described.
func (o Operation) CheckAnswer(status int, body []byte) error {
	if status >= 300 {
		return nil
	}
	schema := o.answers[strconv.Itoa(status)]
	if schema == nil {
		return fmt.Errorf("answered with %d, which is not described", status)
	}
	if len(body) == 0 {
		return nil
	}
	if err := validate(schema, body); err != nil {
		return fmt.Errorf("answered with %d what is not described: %w", status, err)
	}
	return nil
}

func validate(schema *jsonschema.Schema, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// described is a body as the description has it. Labels may be added as a bare list too, as old clients do: that is
// described in words only.
func (o Operation) described(body []byte) []byte {
	if strings.HasPrefix(o.name, "POST ") && strings.HasSuffix(o.name, "/issues/{issue_number}/labels") &&
		bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		return slices.Concat([]byte(`{"labels":`), body, []byte("}"))
	}
	return body
}
