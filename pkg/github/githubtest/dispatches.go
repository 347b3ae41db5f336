package githubtest

import (
	"net/http"
	"path"
	"slices"
)

// Dispatch is an event that was sent to start workflows.
type Dispatch struct {
	// Type is the event's of a repository_dispatch, with its payload.
	Type    string
	Payload map[string]any
	// Workflow and Ref are set for a workflow_dispatch, with its inputs.
	Workflow, Ref string
	Inputs        map[string]string
	// Author is whose token it was sent with.
	Author string
}

const payloadLimit = 65_535

func (c *call) dispatch() (answer, error) {
	asked, err := decode[struct {
		Type    string         `json:"event_type"`
		Payload map[string]any `json:"client_payload"`
	}](c)
	if err != nil {
		return answer{}, err
	}
	if len(c.body) > payloadLimit {
		return answer{}, refuse(http.StatusUnprocessableEntity, "Invalid request.\n\nclient_payload is too large.")
	}
	c.repo.events = append(c.repo.events, Dispatch{Type: asked.Type, Payload: asked.Payload, Author: c.login()})
	return empty()
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
	if !slices.Contains(c.repo.options.Workflows, workflow) {
		return answer{}, notFound()
	}
	tips, err := c.repo.branches.tips()
	if err != nil {
		return answer{}, err
	}
	if tips[asked.Ref] == "" {
		return answer{}, refuse(http.StatusUnprocessableEntity, "No ref found for: "+asked.Ref)
	}
	c.repo.events = append(c.repo.events, Dispatch{
		Workflow: workflow, Ref: asked.Ref, Inputs: asked.Inputs, Author: c.login(),
	})
	return empty()
}
