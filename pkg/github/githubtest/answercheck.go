package githubtest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// relaxAnswers changes the description of answers: a field may be missing, as the stand-in has not all that
// GitHub has, but none may be there that GitHub does not have.
func (d *description) relaxAnswers() {
	seen := map[*openapi3.Schema]bool{}
	for _, item := range d.Paths.Map() {
		for _, operation := range item.Operations() {
			for _, response := range operation.Responses.Map() {
				if content := response.Value.Content.Get("application/json"); content != nil {
					relax(content.Schema, seen)
				}
			}
		}
	}
}

func relax(ref *openapi3.SchemaRef, seen map[*openapi3.Schema]bool) {
	if ref == nil || seen[ref.Value] {
		return
	}
	schema := ref.Value
	seen[schema] = true
	schema.Required = nil
	flatten(schema)
	if no := false; len(schema.Properties) > 0 && schema.AdditionalProperties.Has == nil && schema.AdditionalProperties.Schema == nil {
		schema.AdditionalProperties.Has = &no
	}
	relax(schema.Items, seen)
	for _, property := range schema.Properties {
		relax(property, seen)
	}
	for _, one := range slices.Concat(schema.OneOf, schema.AnyOf) {
		relax(one, seen)
	}
}

// flatten makes one schema of several that all hold: each would refuse the fields of the others.
func flatten(schema *openapi3.Schema) {
	if len(schema.AllOf) == 0 {
		return
	}
	all := openapi3.Schemas{}
	maps.Copy(all, schema.Properties)
	for _, one := range schema.AllOf {
		flatten(one.Value)
		maps.Copy(all, one.Value.Properties)
	}
	schema.Properties, schema.AllOf = all, nil
}

// checkAnswer tells what is wrong with an answer: that is a bug of the stand-in.
func (d *description) checkAnswer(c *call, a answer) error {
	if a.status >= 300 {
		return nil
	}
	operation := d.Paths.Find(c.route.path).GetOperation(c.route.method)
	response := operation.Responses.Status(a.status)
	if response == nil {
		return fmt.Errorf("answered with %d, which is not described", a.status)
	}
	content := response.Value.Content.Get("application/json")
	if content == nil {
		return nil
	}
	var value any
	if err := remarshal(a, &value); err != nil {
		return err
	}
	if err := content.Schema.Value.VisitJSON(value); err != nil {
		return fmt.Errorf("answered with %d what is not described: %s", a.status, oneLine(err))
	}
	return nil
}
