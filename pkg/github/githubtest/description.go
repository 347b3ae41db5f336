package githubtest

import (
	"bytes"
	"context"
	_ "embed" // the description
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

//go:embed openapi/description.json
var descriptionJSON []byte

// description is GitHub's own description of its REST API, as far as the stand-in serves it.
type description struct {
	*openapi3.T
}

// loadDescription reads the description once; after that it is only read from.
var loadDescription = sync.OnceValues(func() (*description, error) {
	doc, err := openapi3.NewLoader().LoadFromData(descriptionJSON)
	if err != nil {
		return nil, fmt.Errorf("openapi/description.json: %w", err)
	}
	doc.Servers = nil
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			forbidUnknown(operation)
		}
	}
	d := &description{doc}
	d.relaxAnswers()
	return d, nil
})

// forbidUnknown lets a request hold only fields that are described. GitHub ignores others, so that a
// misspelt one is never noticed.
func forbidUnknown(operation *openapi3.Operation) {
	if operation.RequestBody == nil {
		return
	}
	schema := operation.RequestBody.Value.Content.Get("application/json").Schema.Value
	no := false
	for _, alternative := range append(schema.OneOf, &openapi3.SchemaRef{Value: schema}) {
		if len(alternative.Value.Properties) > 0 {
			alternative.Value.AdditionalProperties.Has = &no
		}
	}
}

// covers tells whether all routes are described.
func (d *description) covers(routes []route) error {
	for _, r := range routes {
		if item := d.Paths.Find(r.path); item == nil || item.GetOperation(r.method) == nil {
			return fmt.Errorf("openapi/description.json does not have %s %s: add it to operations.txt", r.method, r.path)
		}
	}
	return nil
}

// check tells what is wrong with a request to a route.
func (d *description) check(ctx context.Context, c *call) error {
	item := d.Paths.Find(c.route.path)
	operation := item.GetOperation(c.route.method)
	for name := range c.query {
		if !slices.ContainsFunc(operation.Parameters, func(p *openapi3.ParameterRef) bool {
			return p.Value.In == openapi3.ParameterInQuery && p.Value.Name == name
		}) {
			return fmt.Errorf("there is no query parameter %q", name)
		}
	}
	request, err := http.NewRequestWithContext(ctx, c.route.method, "/?"+c.query.Encode(), bytes.NewReader(checkedBody(c)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", c.contentType)
	return openapi3filter.ValidateRequest(ctx, &openapi3filter.RequestValidationInput{
		Request:    request,
		PathParams: c.values,
		Route: &routers.Route{
			Spec: d.T, Path: c.route.path, PathItem: item, Method: c.route.method, Operation: operation,
		},
		Options: &openapi3filter.Options{
			AuthenticationFunc:                openapi3filter.NoopAuthenticationFunc,
			RejectWhenRequestBodyNotSpecified: true,
			SkipSettingDefaults:               true,
		},
	})
}

// checkedBody is the body as the description has it. Labels may be added as a bare list too, as old clients
// do: that is described in words only.
func checkedBody(c *call) []byte {
	if c.route.method == http.MethodPost && strings.HasSuffix(c.route.path, "/issues/{issue_number}/labels") &&
		bytes.HasPrefix(bytes.TrimSpace(c.body), []byte("[")) {
		return slices.Concat([]byte(`{"labels":`), c.body, []byte("}"))
	}
	return c.body
}
