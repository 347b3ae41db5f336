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

func (c *call) dispatchWorkflow() (answer, error) {
	asked, err := decode[struct {
		Ref    string
		Inputs map[string]string
	}](c)
	if err != nil {
		return answer{}, err
	}
	workflow := path.Base(c.values["workflow_id"])
	if err := c.repo.checkDispatch(workflow, asked.Ref, asked.Inputs); err != nil {
		return answer{}, err
	}
	c.repo.events = append(c.repo.events, Dispatch{
		Workflow: workflow, Ref: asked.Ref, Inputs: asked.Inputs, Author: c.login(),
	})
	return empty()
}

// checkDispatch refuses to start a workflow that GitHub would not start. It must be on the default branch to be known at
// all; what counts then is how it is on the branch that is asked for.
func (r *Repo) checkDispatch(name, ref string, inputs map[string]string) error {
	const no = http.StatusUnprocessableEntity
	tips, err := r.branches.tips()
	if err != nil {
		return err
	}
	listed := slices.Contains(r.options.Workflows, name)
	known, err := r.workflow(tips[r.options.DefaultBranch], name)
	switch {
	case err != nil:
		return err
	case known == nil && !listed:
		return notFound()
	case tips[ref] == "":
		return refuse(no, "No ref found for: "+ref)
	case listed:
		return nil
	}
	asked, err := r.workflow(tips[ref], name)
	switch {
	case err != nil:
		return err
	case asked == nil || !asked.dispatched:
		return refuse(no, "Workflow does not have 'workflow_dispatch' trigger")
	}
	if strange := asked.strange(inputs); len(strange) > 0 {
		return refuse(no, fmt.Sprintf("Unexpected inputs provided: [%s]", strings.Join(strange, ", ")))
	}
	if missing := asked.missing(inputs); missing != "" {
		return refuse(no, fmt.Sprintf("Required input '%s' not provided", missing))
	}
	return nil
}
