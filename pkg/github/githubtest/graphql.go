package githubtest

import (
	_ "embed" // the schema
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

//go:embed graphql.graphql
var graphqlSchema string

// loadSchema reads the schema once.
var loadSchema = sync.OnceValues(func() (*ast.Schema, error) {
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "graphql.graphql", Input: graphqlSchema})
	if err != nil { // never a nil of another type
		return nil, err
	}
	return schema, nil
})

// graphql answers a request to the GraphQL API, which has two mutations and the query of the viewer's login.
func (s *Server) graphql(r *http.Request, request Request) (answer, error) {
	field, variables, err := parseGraphql(request)
	if err != nil {
		s.violate(fmt.Sprintf("%s: %v", request, err))
		return ok(object{"errors": []object{{"message": err.Error()}}})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	token, err := s.authenticate(r)
	if err != nil {
		return answer{}, err
	} else if token == nil {
		return answer{}, refuse(http.StatusUnauthorized, "This endpoint requires you to be authenticated.")
	}
	if field.Name == "viewer" {
		return ok(object{"data": object{field.Alias: selected(object{"login": token.Login}, field.SelectionSet)}})
	}
	input, _ := field.ArgumentMap(variables)["input"].(map[string]any)
	result, problem, err := s.setAutoMerge(token, field.Name == "enablePullRequestAutoMerge", input)
	if err != nil {
		return answer{}, err
	} else if problem != nil {
		problem["path"] = []string{field.Name}
		problem["locations"] = []object{{"line": field.Position.Line, "column": field.Position.Column}}
		return ok(object{"data": object{field.Alias: nil}, "errors": []object{problem}})
	}
	return ok(object{"data": object{field.Alias: selected(result, field.SelectionSet)}})
}

// parseGraphql reads a request and checks it against the schema.
func parseGraphql(request Request) (*ast.Field, map[string]any, error) {
	if request.Method != http.MethodPost {
		return nil, nil, fmt.Errorf("GraphQL is asked with POST")
	}
	var asked struct {
		Query     string
		Variables map[string]any
	}
	if err := json.Unmarshal([]byte(request.Body), &asked); err != nil {
		return nil, nil, fmt.Errorf("read the body: %w", err)
	}
	schema, err := loadSchema()
	if err != nil {
		return nil, nil, err
	}
	document, problems := gqlparser.LoadQueryWithRules(schema, asked.Query, rules.NewDefaultRules())
	if len(problems) > 0 {
		return nil, nil, problems
	}
	if len(document.Operations) != 1 || len(document.Operations[0].SelectionSet) != 1 {
		return nil, nil, fmt.Errorf("the stand-in answers one query or mutation at a time")
	}
	operation := document.Operations[0]
	variables, err := validator.VariableValues(schema, operation, asked.Variables)
	if err != nil {
		return nil, nil, err
	}
	field, plain := operation.SelectionSet[0].(*ast.Field)
	if !plain {
		return nil, nil, fmt.Errorf("the stand-in does not know fragments")
	}
	return field, variables, nil
}

// selected are the fields that were asked for.
func selected(from object, fields ast.SelectionSet) any {
	if from == nil {
		return nil
	}
	found := object{}
	for _, selection := range fields {
		field, plain := selection.(*ast.Field)
		if !plain {
			continue
		}
		value := from[field.Name]
		if below, isObject := value.(object); isObject {
			value = selected(below, field.SelectionSet)
		}
		found[field.Alias] = value
	}
	return found
}
