package github

import "context"

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
