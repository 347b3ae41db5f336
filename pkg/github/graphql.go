package github

import (
	"context"
	"net/http"
)

// ask sends a query or a mutation to the GraphQL API, which alone knows of auto-merge, and decodes the data of the
// answer. It may be sent twice.
func (r *Repository) ask(ctx context.Context, op operation, query string, variables map[string]any, data any) error {
	request, err := r.client.api.NewRequest(http.MethodPost, r.client.graphQL, map[string]any{"query": query, "variables": variables})
	if err != nil {
		return r.explain(op, err)
	}
	answer := struct {
		Data   any                              `json:"data"`
		Errors []struct{ Type, Message string } `json:"errors"`
	}{Data: data}
	if _, err := r.client.api.Do(mayRepeat(ctx), request, &answer); err != nil {
		return r.explain(op, err)
	}
	if len(answer.Errors) == 0 {
		return nil
	}
	first := answer.Errors[0]
	e := &Error{Kind: Invalid, Message: "GitHub answers: " + r.client.wire.secrets.Line(first.Message)}
	switch first.Type {
	case "FORBIDDEN", "INSUFFICIENT_SCOPES":
		e.Kind = Denied
		r.client.wire.lack(e, op.need)
	case "NOT_FOUND":
		e.Kind = NotFound
		r.client.wire.lack(e, op.need)
	case "RATE_LIMITED":
		e.Kind, e.Hint = RateLimited, hintLater(RateLimited)
	}
	return r.explain(op, e)
}

// Login returns the login of the token's owner: that of a person, or NAME[bot] of a GitHub App, which includes the
// GITHUB_TOKEN of a workflow. It sends one request and keeps the answer. It uses the GraphQL API, because the REST API
// does not return the login to tokens of Apps.
func (r *Repository) Login(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.login != "" {
		return r.login, nil
	}
	op := operation{act: "read the login of the token's owner"}
	var data struct {
		Viewer struct{ Login string }
	}
	if err := r.ask(reading(ctx), op, "query { viewer { login } }", nil, &data); err != nil {
		return "", err
	}
	if data.Viewer.Login == "" {
		return "", r.explain(op, incomplete())
	}
	r.login = data.Viewer.Login
	return r.login, nil
}
