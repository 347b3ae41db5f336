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
func (g *registry) graphql(r *http.Request, request Request) answer {
	asked, err := parseGraphql(request)
	if err != nil {
		g.violate(fmt.Sprintf("%s: %v", request, err))
		return ok(object{"errors": []object{{"message": err.Error()}}})
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	token := g.authenticate(r)
	if token == nil {
		panic(refuse(http.StatusUnauthorized, "This endpoint requires you to be authenticated."))
	}
	field, result := "viewer", object{"login": token.Login}
	if asked.Query != viewerQuery {
		field, result = "disablePullRequestAutoMerge", object{"clientMutationId": nil}
		if asked.Query == enableMutation {
			field = "enablePullRequestAutoMerge"
		}
		if problem := g.setAutoMerge(token, asked); problem != nil {
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

// setAutoMerge makes a pull request merge itself later, or not. GitHub refuses that for one that could be
// merged now. The problem is an error in GraphQL's form.
func (g *registry) setAutoMerge(token *Token, asked graphqlRequest) (problem object) {
	id := asked.Variables.ID
	repo, i := g.findPull(id)
	if i == nil || repo.options.Private && !token.reaches(repo) {
		return object{"type": "NOT_FOUND", "message": "Could not resolve to a node with the global id of '" + id + "'"}
	}
	repo.sync()
	if !token.reaches(repo) || !token.has("pull_requests=write") || !token.has("contents=write") {
		return object{
			"type": "FORBIDDEN", "message": "Resource not accessible by integration",
			"extensions": object{"saml_failure": false},
		}
	}
	method, why := "", ""
	if asked.Query == enableMutation {
		method = strings.ToLower(asked.Variables.Method)
		why = repo.noAutoMerge(i, method, asked.Variables.Head)
	} else if i.AutoMerge == "" {
		why = "Can't disable auto-merge for this pull request"
	}
	if why != "" {
		return object{"type": "UNPROCESSABLE", "message": why}
	}
	i.AutoMerge = method
	return nil
}
