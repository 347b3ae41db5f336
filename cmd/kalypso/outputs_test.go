package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/promotion"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// TestActionHasTheOutputs keeps the outputs of action.yml those of the program. TestActionReference has them in the docs.
func TestActionHasTheOutputs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../action.yml")
	require.NoError(t, err)
	var action struct {
		Outputs map[string]struct{ Value string } `json:"outputs"`
	}
	require.NoError(t, yaml.Unmarshal(text, &action))
	rendered, err := actions.StepOutputs(nil)
	require.NoError(t, err)
	promoted := promotion.Outputs(&promotion.Checked{CheckResult: promote.CheckResult{Snapshot: &promote.Snapshot{}}}, nil)
	names := map[string]bool{"path": true} // of the program, which the action sets itself
	for _, o := range promoted {
		names[o.Name] = true
		assert.Equal(t, "${{ steps.run.outputs."+o.Name+" }}", action.Outputs[o.Name].Value, o.Name)
	}
	for _, o := range rendered {
		names[o.Name] = true
		assert.Equal(t, "${{ steps.run.outputs."+o.Name+" }}", action.Outputs[o.Name].Value, o.Name)
	}
	assert.Len(t, action.Outputs, len(names))
}

// TestDryOutputs tell a workflow whether there is something for people to approve.
func TestDryOutputs(t *testing.T) {
	t.Parallel()
	for action, want := range map[promote.Action]string{
		promote.ActionPromoted: "true", promote.ActionProposed: "true", promote.ActionUnchanged: "false", promote.ActionWaiting: "false",
		promote.ActionRefused: "false", promote.ActionNotPromotable: "false", promote.ActionDeclined: "false",
	} {
		outputs := promotion.Outputs(nil, []promote.Outcome{{Environment: "dev", Action: action, DryRun: true}})
		assert.Contains(t, outputs, actions.Output{Name: "changed", Value: want}, action)
		assert.Contains(t, outputs, actions.Output{Name: "actions", Value: "none"}, "nothing was done")
	}
}
