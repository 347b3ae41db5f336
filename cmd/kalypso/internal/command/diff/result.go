package diff

import (
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/impact"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
)

// Result is what differs in an environment, or between two.
type Result struct {
	Name string `json:"name"`
	// With is the other of two environments.
	With string `json:"with,omitempty"`
	// Before and After say which states are compared.
	Before  string          `json:"before"`
	After   string          `json:"after"`
	Plan    results.Plan    `json:"plan"`
	Targets []impact.Target `json:"targets"`
	Values  []valuesImpact  `json:"values"`
	// LeftOut is how many changes of values are not listed.
	LeftOut int                 `json:"leftOut,omitempty"`
	Files   []change.FileChange `json:"files"`
	// Outputs say what has changed of where the result goes.
	Outputs []string `json:"outputs,omitempty"`
	Notes   []string `json:"notes,omitempty"`

	impact *impact.Impact
	// blind says that the state before does not compile.
	blind bool
}

// valuesImpact is what changes on the same targets.
type valuesImpact struct {
	Targets []assignedResult `json:"targets"`
	Changes []valueImpact    `json:"changes"`
}

type assignedResult struct {
	ClusterType string `json:"clusterType"`
	Target      string `json:"deploymentTarget"`
}

// valueImpact is what happens to a value.
type valueImpact struct {
	// Key is missing where File is given.
	Key string `json:"key,omitempty"`
	// File is one of which it is not known what changes in it.
	File   string        `json:"file,omitempty"`
	Action change.Action `json:"action"`
	// Before and After are the part that differs, if the values are long.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// SetBefore and SetAfter are the ConfigMaps that make up the value, if it is platform configuration.
	SetBefore []setResult `json:"setBefore,omitempty"`
	SetAfter  []setResult `json:"setAfter,omitempty"`
}

type setResult struct {
	ConfigMap string     `json:"configMap"`
	At        diag.Place `json:"at"`
}

func (c *comparison) structured(diags diag.List) any { return results.NewReport(c.found, diags) }

func (d Result) differs() bool { return !d.impact.Change.Empty() || len(d.Outputs) > 0 }

// setImpact fills in what is different.
func (d *Result) setImpact(found *impact.Impact) {
	d.impact, d.Plan, d.LeftOut = found, results.NewPlan(found.Change.Plan()), found.Dropped
	d.Targets, d.Values = append([]impact.Target{}, found.Targets...), []valuesImpact{}
	d.Files = append([]change.FileChange{}, found.Change.Files...)
	for _, v := range found.Values {
		d.Values = append(d.Values, newValuesImpact(v, found.Change))
	}
}

func newValuesImpact(v impact.Values, diff *change.Change) valuesImpact {
	r := valuesImpact{}
	for _, i := range v.Targets {
		r.Targets = append(r.Targets, assignedResult{diff.Targets[i].ClusterType, diff.Targets[i].Target})
	}
	for _, value := range v.Changes {
		result := valueImpact{Action: value.Action, Before: value.Old, After: value.New, SetBefore: newSetResults(value.Before), SetAfter: newSetResults(value.After)}
		if value.WholeFile {
			result.File = value.Key
		} else {
			result.Key = value.Key
		}
		r.Changes = append(r.Changes, result)
	}
	return r
}

func newSetResults(origins []config.Origin) []setResult {
	var set []setResult
	for _, o := range origins {
		set = append(set, setResult{o.Config.Name.Value, o.At})
	}
	return set
}
