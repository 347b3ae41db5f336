package github

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	gh "github.com/google/go-github/v53/github"
)

// Dispatch starts the workflow in a file of .github/workflows as it is on a branch. If it is unknown whether it was
// started it is started again, and thus perhaps twice: nothing on GitHub distinguishes a run from one that somebody else
// started with the same inputs, what is started must be fit to run twice anyhow, and one that was lost would never be
// made up for.
func (r *Repository) Dispatch(ctx context.Context, workflow, branch string, inputs map[string]string) error {
	op := operation{act: fmt.Sprintf("start the workflow %q on %q", workflow, branch), need: "actions: write"}
	file := strings.TrimPrefix(workflow, workflows)
	if !isWorkflow(file) {
		return r.explain(op, &Error{
			Kind: Invalid, Message: "that is not the name of a workflow file",
			Hint: "name a .yml or .yaml file in " + workflows + ", without the folder",
		})
	}
	given := make(map[string]any, len(inputs))
	for name, value := range inputs {
		given[name] = value
	}
	_, err := r.client.api.Actions.CreateWorkflowDispatchEventByFileName(mayRepeat(ctx), r.owner, r.name, url.PathEscape(file), // go-github does not escape it
		gh.CreateWorkflowDispatchEventRequest{Ref: branch, Inputs: given})
	if err == nil {
		return nil
	}
	e := r.client.wire.classify(op, err)
	if hint := hintDispatch(e, file, branch, inputs); hint != "" {
		e.Hint = hint
	}
	return r.explain(op, e)
}

// workflows is the folder that GitHub looks for workflows in.
const workflows = ".github/workflows/"

// isWorkflow reports whether a name is that of a file that GitHub takes for a workflow. It becomes part of a URL.
func isWorkflow(file string) bool {
	return !strings.ContainsAny(file, `/\`) && (strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml"))
}

// hintDispatch says what to do about a workflow that GitHub does not start. It is empty if that is as for any request.
func hintDispatch(e *Error, file, branch string, inputs map[string]string) string {
	file = workflows + file
	said := strings.ToLower(e.Message)
	switch {
	case e.Status == http.StatusNotFound:
		return fmt.Sprintf("either there is no %s on the default branch, or the token must not start it: %s",
			file, strings.TrimPrefix(e.Hint, hidden))
	case e.Status != http.StatusUnprocessableEntity && e.Status != http.StatusForbidden:
		return ""
	case strings.Contains(said, "disabled workflow"):
		return fmt.Sprintf("enable %s on the page “Actions” of the repository", file)
	case e.Status != http.StatusUnprocessableEntity:
		return ""
	case strings.Contains(said, "no ref found"):
		return fmt.Sprintf("there is no branch %q", branch)
	case strings.Contains(said, "trigger"):
		return fmt.Sprintf("write “workflow_dispatch” into “on” of %s on %s", file, branch)
	case strings.Contains(said, "input"):
		return fmt.Sprintf("the inputs of workflow_dispatch in %s on %s must be: %s", file, branch,
			strings.Join(slices.Sorted(maps.Keys(inputs)), ", "))
	}
	return ""
}
