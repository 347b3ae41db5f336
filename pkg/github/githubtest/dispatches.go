package githubtest

// Dispatch is an event that was sent to start workflows.
type Dispatch struct {
	// Type is the event's of a repository_dispatch.
	Type    string
	Payload map[string]any
	// Workflow and Ref are set for a workflow_dispatch, with its inputs.
	Workflow, Ref string
	Inputs        map[string]string
}
