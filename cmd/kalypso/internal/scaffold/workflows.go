package scaffold

import (
	"fmt"
	"slices"
)

// WorkflowFolder is where GitHub looks for workflows.
const WorkflowFolder = ".github/workflows"

// Place is a kind of branch that workflows belong on.
type Place string

// The places that have workflows.
const (
	// OfControlPlane is the base branch of the control plane.
	OfControlPlane Place = "control-plane"
	// OfEnvironment is the branch of an environment in the control plane.
	OfEnvironment Place = "environment"
	// OfGitOps is the branch of an environment in the GitOps repository.
	OfGitOps Place = "gitops"
	// OfApplication is the registered branch of an application repository.
	OfApplication Place = "application"
)

// Places are all of them.
func Places() []Place { return []Place{OfControlPlane, OfEnvironment, OfGitOps, OfApplication} }

// workflowsOf lists the workflows of a place. Where one belongs on several kinds of branches GitHub reads it from the
// branch of the event: pushes and pull requests from theirs, all else from the default one.
func workflowsOf(place Place) []string {
	return map[Place][]string{
		OfControlPlane: {
			"cd.yaml", "check-promote.yaml", "ci.yaml", "preview-comment.yaml", "preview-workload.yaml", "preview.yaml", "render.yaml",
		},
		OfEnvironment: {"preview.yaml", "render.yaml"},
		OfGitOps:      {"gitops-merged.yaml"},
		OfApplication: {"notify.yaml", "validate-workload.yaml"},
	}[place]
}

// Workflows are the workflows of a place, by the names of their files.
func (f Fleet) Workflows(place Place) (Files, error) {
	if !slices.Contains(Places(), place) {
		return nil, fmt.Errorf("there are no workflows of %q", place)
	}
	files := Files{}
	for _, name := range workflowsOf(place) {
		text, err := execute("workflows/"+name, f.data())
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}
