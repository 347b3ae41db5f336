package githubtest

import (
	"cmp"
	_ "embed" // the schema
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
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

// graphql answers a request to the GraphQL API, which has one mutation.
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
	input, _ := field.ArgumentMap(variables)["input"].(map[string]any)
	result, problem, err := s.enableAutoMerge(token, input)
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
	if len(document.Operations) != 1 || document.Operations[0].Operation != ast.Mutation ||
		len(document.Operations[0].SelectionSet) != 1 {
		return nil, nil, fmt.Errorf("the stand-in answers one mutation at a time")
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

// enableAutoMerge makes a pull request merge itself later. GitHub refuses that for one that could be merged
// now. The problem is an error in GraphQL's form.
func (s *Server) enableAutoMerge(token *Token, input map[string]any) (result, problem object, err error) {
	id, _ := input["pullRequestId"].(string)
	repo, i := s.findPull(id)
	if i == nil || repo.options.Private && !token.reaches(repo) {
		return nil, object{"type": "NOT_FOUND", "message": "Could not resolve to a node with the global id of '" + id + "'"}, nil
	}
	if err := repo.sync(); err != nil {
		return nil, nil, err
	}
	if !token.reaches(repo) || !token.has("pull_requests=write") || !token.has("contents=write") {
		return nil, object{
			"type": "FORBIDDEN", "message": "Resource not accessible by integration",
			"extensions": object{"saml_failure": false},
		}, nil
	}
	method, _ := input["mergeMethod"].(string)
	method = strings.ToLower(cmp.Or(method, "MERGE")) // the default of the schema
	expected, _ := input["expectedHeadOid"].(string)
	if why := repo.noAutoMerge(i, method, expected); why != "" {
		return nil, object{"type": "UNPROCESSABLE", "message": why}, nil
	}
	i.AutoMerge = method
	repo.touch(i)
	by := object{"login": token.Login}
	return object{
		"actor": by, "clientMutationId": input["clientMutationId"],
		"pullRequest": object{
			"id": id, "number": i.Number, "url": fmt.Sprintf("%s/pull/%d", repo.web(), i.Number), "state": "OPEN",
			"headRefOid": i.HeadCommit, "autoMergeRequest": object{
				"enabledAt": orNull(i.Updated), "enabledBy": by, "mergeMethod": strings.ToUpper(method),
			},
		},
	}, nil, nil
}

// findPull finds a pull request by its global id.
func (s *Server) findPull(id string) (*Repo, *item) {
	for _, repo := range s.repos {
		for _, i := range repo.items {
			if i.pull && i.nodeID(repo) == id {
				return repo, i
			}
		}
	}
	return nil, nil
}

// noAutoMerge says why a pull request may not merge itself, or nothing.
func (r *Repo) noAutoMerge(i *item, method, expected string) string {
	mergeable := ""
	if i.Open {
		mergeable = r.mergeableState(i)
	}
	switch {
	case !r.options.AllowAutoMerge:
		return "Pull request Auto merge is not allowed for this repository"
	case !i.Open:
		return "Pull request is closed"
	case expected != "" && expected != i.HeadCommit:
		return "Head branch was modified. Review and try the merge again."
	case !r.allows(method):
		return "Pull request Merge method " + method + " merging is not allowed on this repository"
	case mergeable != "blocked" && mergeable != "behind" && mergeable != "unknown":
		return "Pull request Pull request is in " + mergeable + " status"
	}
	return ""
}
