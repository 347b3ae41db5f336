package diff

import (
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/impact"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// Result is what differs in an environment, or between two.
type Result struct {
	Name string `json:"name"`
	// With is the other of two environments.
	With string `json:"with,omitempty"`
	// Before and After say which states are compared.
	Before  string         `json:"before"`
	After   string         `json:"after"`
	Plan    results.Plan   `json:"plan"`
	Targets []targetImpact `json:"targets"`
	Values  []valuesImpact `json:"values"`
	// LeftOut is how many changes of values are not listed.
	LeftOut int            `json:"leftOut,omitempty"`
	Files   []results.File `json:"files"`
	// Outputs say what has changed of where the result goes.
	Outputs []string `json:"outputs,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// targetImpact is what happens to a deployment target on a cluster type.
type targetImpact struct {
	results.Target
	// Was is the name of its counterpart in the first of two environments.
	Was   string       `json:"was,omitempty"`
	Cause *causeResult `json:"cause,omitempty"`
}

// causeResult is why a target came or went.
type causeResult struct {
	// Why is what is new or gone: environment, deployment-target or cluster-type; else policies.
	Why impact.Why    `json:"why"`
	At  results.Place `json:"at"`
	// Policies schedule it on the side where it is.
	Policies []policyCauseResult `json:"policies"`
}

type policyCauseResult struct {
	Name string        `json:"name"`
	At   results.Place `json:"at"`
	// Misses are the conditions that do not hold on the other side; missing if the policy is not there.
	Misses []results.Miss `json:"misses,omitempty"`
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
	Action gitops.Action `json:"action"`
	// Before and After are the part that differs, if the values are long.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// SetBefore and SetAfter are the ConfigMaps that make up the value, if it is platform configuration.
	SetBefore []setResult `json:"setBefore,omitempty"`
	SetAfter  []setResult `json:"setAfter,omitempty"`
}

type setResult struct {
	ConfigMap string        `json:"configMap"`
	At        results.Place `json:"at"`
}

func (c *comparison) Structured(diags diag.List) any {
	var differences []Result
	for _, d := range c.found {
		differences = append(differences, newDifferenceResult(d))
	}
	return results.NewReport(differences, diags)
}

func newDifferenceResult(d difference) Result {
	change := d.impact.Change
	r := Result{
		Name: d.environment, With: d.with, Before: d.before, After: d.after, Plan: results.NewPlan(change.Plan()), Notes: d.notes, Outputs: d.outputs,
		Targets: []targetImpact{}, Values: []valuesImpact{}, LeftOut: d.impact.Dropped, Files: results.ChangedFiles(change),
	}
	for _, t := range d.impact.Targets {
		r.Targets = append(r.Targets, targetImpact{results.Target{ClusterType: t.ClusterType, Target: t.TargetChange.Target, Action: t.Action, Files: t.Files}, t.Was, newCauseResult(t.Cause)})
	}
	for _, v := range d.impact.Values {
		r.Values = append(r.Values, newValuesImpact(v, change))
	}
	return r
}

func newCauseResult(c *impact.Cause) *causeResult {
	if c == nil {
		return nil
	}
	r := &causeResult{c.Why, results.At(c.At), []policyCauseResult{}}
	for _, p := range c.Policies {
		r.Policies = append(r.Policies, policyCauseResult{p.Name.Value, results.At(p.Name.At), results.NewMisses(p.Misses)})
	}
	return r
}

func newValuesImpact(v impact.Values, change *gitops.Change) valuesImpact {
	r := valuesImpact{}
	for _, i := range v.Targets {
		r.Targets = append(r.Targets, assignedResult{change.Targets[i].ClusterType, change.Targets[i].Target})
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

func newSetResults(origins []render.Origin) []setResult {
	var set []setResult
	for _, o := range origins {
		set = append(set, setResult{o.Config.Name.Value, results.At(o.At)})
	}
	return set
}
