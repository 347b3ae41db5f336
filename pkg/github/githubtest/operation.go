package githubtest

import (
	"bytes"
	_ "embed" // the schemas
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed openapi/schemas.json
var schemasJSON []byte

// operation is what GitHub's description of its REST API says of an endpoint.
type operation struct {
	path, query, body *jsonschema.Schema
	needsBody         bool
	answers           map[string]*jsonschema.Schema // by status
}

// loadOperations reads all operations ("GET /path"), once.
var loadOperations = sync.OnceValues(func() (map[string]operation, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemasJSON))
	if err != nil {
		return nil, err
	}
	const file = "schemas.json"
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
	operations := map[string]operation{}
	for name, described := range document.(object)["operations"].(object) {
		described := described.(object)
		o := operation{
			path: schema(name, "path"), query: schema(name, "query"), needsBody: described["needsBody"] == true,
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

// check reports what is wrong with a request.
func (o operation) check(c *call) error {
	path, query := object{}, object{}
	for name, value := range c.values {
		path[name] = value
	}
	for name := range c.query {
		query[name] = c.query.Get(name)
	}
	if err := o.path.Validate(path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if err := o.query.Validate(query); err != nil {
		return fmt.Errorf("query: %w", err)
	}
	switch {
	case len(c.body) == 0 && o.needsBody:
		return errors.New("it has no body")
	case len(c.body) == 0:
		return nil
	case o.body == nil:
		return errors.New("it has a body")
	case !strings.HasPrefix(c.contentType, "application/json"):
		return fmt.Errorf("its body is %q, not JSON", c.contentType)
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(describedBody(c)))
	if err == nil {
		err = o.body.Validate(body)
	}
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return nil
}

// checkAnswer reports what is wrong with an answer: that is a bug of the stand-in.
func (o operation) checkAnswer(a answer) error {
	if a.status >= 300 {
		return nil
	}
	schema := o.answers[strconv.Itoa(a.status)]
	if schema == nil {
		return fmt.Errorf("answered with %d, which is not described", a.status)
	}
	body, err := a.bytes()
	if err != nil || len(body) == 0 {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("answered with %d what is not described: %w", a.status, err)
	}
	return nil
}

// describedBody is the body as the description has it. Labels may be added as a bare list too, as old clients do: that
// is described in words only.
func describedBody(c *call) []byte {
	if c.route.method == http.MethodPost && strings.HasSuffix(c.route.path, "/issues/{issue_number}/labels") &&
		bytes.HasPrefix(bytes.TrimSpace(c.body), []byte("[")) {
		return slices.Concat([]byte(`{"labels":`), c.body, []byte("}"))
	}
	return c.body
}
