package githubtest

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
)

// Dispatch is a workflow that was started.
type Dispatch struct {
	Workflow, Ref string
	Inputs        map[string]string
	// Author is whose token it was sent with.
	Author string
}

// String is a line for people.
func (d Dispatch) String() string {
	line := d.Workflow + " on " + d.Ref
	for i, name := range slices.Sorted(maps.Keys(d.Inputs)) {
		if i == 0 {
			line += ":"
		}
		line += fmt.Sprintf(" %s=%s", name, d.Inputs[name])
	}
	return line
}

func (c *call) dispatchWorkflow() answer {
	asked := decode[struct {
		Ref    string
		Inputs map[string]string
	}](c)
	workflow := path.Base(c.values["workflow_id"])
	c.repo.checkDispatch(workflow, asked.Ref, asked.Inputs)
	c.repo.events = append(c.repo.events, Dispatch{Workflow: workflow, Ref: asked.Ref, Inputs: asked.Inputs, Author: c.login()})
	return answer{status: http.StatusNoContent}
}

// checkDispatch refuses to start a workflow that GitHub would not start. It must be on the default branch to be known at
// all; what counts then is how it is on the branch that is asked for.
func (r *Repo) checkDispatch(name, ref string, inputs map[string]string) {
	const no = http.StatusUnprocessableEntity
	tips := r.branches.tips()
	listed := slices.Contains(r.options.Workflows, name)
	switch {
	case !listed && r.workflow(tips[r.options.DefaultBranch], name) == nil:
		panic(notFound())
	case tips[ref] == "":
		panic(refuse(no, "No ref found for: "+ref))
	case listed:
		return
	}
	asked := r.workflow(tips[ref], name)
	if asked == nil || !asked.dispatched {
		panic(refuse(no, "Workflow does not have 'workflow_dispatch' trigger"))
	}
	if unexpected := asked.unexpected(inputs); len(unexpected) > 0 {
		panic(refuse(no, fmt.Sprintf("Unexpected inputs provided: [%s]", strings.Join(unexpected, ", "))))
	}
	if missing := asked.missing(inputs); missing != "" {
		panic(refuse(no, fmt.Sprintf("Required input '%s' not provided", missing)))
	}
}
