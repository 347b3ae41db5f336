package githubtest

import (
	"bytes"
	_ "embed" // the documents
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// The documents that the GraphQL API answers. tools/graphql checks them against GitHub's schema; any other one is a
// violation.
var (
	//go:embed graphql/viewer.graphql
	viewerQuery string
	//go:embed graphql/enable.graphql
	enableMutation string
	//go:embed graphql/disable.graphql
	disableMutation string
)

// graphqlRequest is the body of a request to the GraphQL API.
type graphqlRequest struct {
	Query     string `json:"query"`
	Variables struct {
		ID     string `json:"id"`
		Method string `json:"method"`
		Head   string `json:"head"`
	} `json:"variables"`
}

// graphql answers a request to the GraphQL API.
func (s *Server) graphql(r *http.Request, request Request) answer {
	asked, err := parseGraphql(request)
	if err != nil {
		s.violate(fmt.Sprintf("%s: %v", request, err))
		return ok(object{"errors": []object{{"message": err.Error()}}})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	token := s.authenticate(r)
	if token == nil {
		panic(refuse(http.StatusUnauthorized, "This endpoint requires you to be authenticated."))
	}
	field, result := "viewer", object{"login": token.Login}
	if asked.Query != viewerQuery {
		field, result = "disablePullRequestAutoMerge", object{"clientMutationId": nil}
		if asked.Query == enableMutation {
			field = "enablePullRequestAutoMerge"
		}
		if problem := s.setAutoMerge(token, asked); problem != nil {
			problem["path"] = []string{field}
			return ok(object{"data": object{field: nil}, "errors": []object{problem}})
		}
	}
	return ok(object{"data": object{field: result}})
}

// parseGraphql reads a request, and checks the variables as the schema has them.
func parseGraphql(request Request) (graphqlRequest, error) {
	var asked graphqlRequest
	decoder := json.NewDecoder(bytes.NewReader([]byte(request.Body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil || request.Method != http.MethodPost {
		return asked, errors.Join(errors.New("GraphQL is asked with POST"), err)
	}
	asked.Query = strings.TrimSpace(asked.Query) + "\n"
	given := asked.Variables
	var fit bool
	switch asked.Query {
	case viewerQuery:
		fit = given.ID == "" && given.Method == "" && given.Head == ""
	case enableMutation:
		fit = given.ID != "" && slices.Contains([]string{"MERGE", "REBASE", "SQUASH"}, given.Method) && given.Head != ""
	case disableMutation:
		fit = given.ID != "" && given.Method == "" && given.Head == ""
	default:
		return asked, errors.New("the stand-in does not know this document")
	}
	if !fit {
		return asked, fmt.Errorf("these are not the variables of the document: %+v", given)
	}
	return asked, nil
}
