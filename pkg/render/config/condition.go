package config

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// condition is one label of a ConfigMap or ConfigSchema, which the cluster type or the deployment target must have for
// it to apply.
type condition struct {
	key, value string
	at         diag.Place
}

// conditions returns the labels that select assignments, in order of key: all but those of Flux and platform-config.
func conditions(labels map[string]model.Text) []condition {
	var all []condition
	for key, value := range labels {
		if key == model.PlatformConfigLabel || strings.HasPrefix(key, model.FluxLabelPrefix) {
			continue
		}
		all = append(all, condition{key, value.Value, value.At})
	}
	slices.SortFunc(all, func(a, b condition) int { return strings.Compare(a.key, b.key) })
	return all
}

// holdsOnClusterType reports whether the condition holds, if the cluster type alone decides it.
func (c condition) holdsOnClusterType(clusterType *model.ClusterType) (holds, decided bool) {
	switch c.key {
	case model.ClusterTypeLabel:
		return clusterType.Name.Value == c.value, true
	case model.DeploymentTargetLabel, model.WorkloadLabel:
		return false, false
	}
	// A missing label counts as empty, as in the operator.
	holds = clusterType.Labels[c.key].Value == c.value
	return holds, holds
}

// holdsOnTarget reports whether the deployment target satisfies the condition.
func (c condition) holdsOnTarget(target *model.DeploymentTarget) bool {
	switch c.key {
	case model.DeploymentTargetLabel:
		return target.Name.Value == c.value
	case model.WorkloadLabel:
		return target.Workload == c.value
	}
	return target.Labels[c.key].Value == c.value
}

// choice selects the elements of a list of labelled objects that apply to an assignment. It evaluates each cluster type
// once, and for a target only the objects that its labels could select, so that objects that apply nowhere cost little.
type choice struct {
	conditions [][]condition

	mu     sync.Mutex
	byType map[*model.ClusterType]*typeChoice
}

// typeChoice is a choice for one cluster type.
type typeChoice struct {
	// always apply to every target.
	always []int
	// byLabel apply to targets that have the label, if their other conditions hold too.
	byLabel map[atom][]candidate
	// unlabelled must be evaluated for every target: all their open conditions require a label to be missing.
	unlabelled []candidate
}

type atom struct{ key, value string }

type candidate struct {
	position int
	open     []condition
}

func newChoice(conditions [][]condition) *choice {
	return &choice{conditions: conditions, byType: map[*model.ClusterType]*typeChoice{}}
}

// on returns the choice for a cluster type.
func (c *choice) on(clusterType *model.ClusterType) *typeChoice {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.byType[clusterType]
	if found == nil {
		found = c.evaluate(clusterType)
		c.byType[clusterType] = found
	}
	return found
}

// forget removes a cluster type from the cache.
func (c *choice) forget(clusterType *model.ClusterType) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byType, clusterType)
}

func (c *choice) evaluate(clusterType *model.ClusterType) *typeChoice {
	found := &typeChoice{byLabel: map[atom][]candidate{}}
	for position, conditions := range c.conditions {
		open, possible := openConditions(conditions, clusterType)
		if possible {
			found.add(candidate{position, open})
		}
	}
	return found
}

// openConditions returns the conditions that only a target can satisfy; possible is false if the cluster type violates
// another one.
func openConditions(conditions []condition, clusterType *model.ClusterType) (open []condition, possible bool) {
	for _, condition := range conditions {
		switch holds, decided := condition.holdsOnClusterType(clusterType); {
		case !decided:
			open = append(open, condition)
		case !holds:
			return nil, false
		}
	}
	return open, true
}

func (t *typeChoice) add(c candidate) {
	if len(c.open) == 0 {
		t.always = append(t.always, c.position)
		return
	}
	for _, condition := range c.open {
		if condition.value != "" {
			key := atom{condition.key, condition.value}
			t.byLabel[key] = append(t.byLabel[key], c)
			return
		}
	}
	t.unlabelled = append(t.unlabelled, c)
}

// of returns the positions of the objects that apply to an assignment, in order.
func (c *choice) of(clusterType *model.ClusterType, target *model.DeploymentTarget) []int {
	onType := c.on(clusterType)
	chosen := slices.Clone(onType.always)
	try := func(candidates []candidate) {
		for _, candidate := range candidates {
			if !slices.ContainsFunc(candidate.open, func(c condition) bool { return !c.holdsOnTarget(target) }) {
				chosen = append(chosen, candidate.position)
			}
		}
	}
	try(onType.byLabel[atom{model.DeploymentTargetLabel, target.Name.Value}])
	try(onType.byLabel[atom{model.WorkloadLabel, target.Workload}])
	for key, value := range target.Labels {
		if key != model.WorkloadLabel && key != model.DeploymentTargetLabel {
			try(onType.byLabel[atom{key, value.Value}])
		}
	}
	try(onType.unlabelled)
	slices.Sort(chosen)
	return chosen
}

// vocabulary holds the label values that exist in an environment, by key.
type vocabulary map[string]map[string]bool

func (v vocabulary) add(key, value string) {
	if v[key] == nil {
		v[key] = map[string]bool{}
	}
	v[key][value] = true
}

func newVocabulary(fleet *model.Fleet) vocabulary {
	v := vocabulary{}
	for _, c := range fleet.ClusterTypes {
		v.add(model.ClusterTypeLabel, c.Name.Value)
		for key, value := range c.Labels {
			v.add(key, value.Value)
		}
	}
	for _, t := range fleet.Targets {
		v.add(model.DeploymentTargetLabel, t.Name.Value)
		v.add(model.WorkloadLabel, t.Workload)
		for key, value := range t.Labels {
			v.add(key, value.Value)
		}
	}
	return v
}

// warnUnknownLabels warns of configs that can never apply, because they select a label that nothing in the environment
// has.
func warnUnknownLabels(layers []layer, fleet *model.Fleet, diags *diag.List) {
	known := newVocabulary(fleet)
	for _, layer := range layers {
		for _, c := range layer.conditions {
			if c.value == "" || known[c.key][c.value] {
				continue
			}
			var values []string
			for value := range known[c.key] {
				values = append(values, value)
			}
			slices.Sort(values)
			diags.Warning("unknown-label-value", c.at, fmt.Sprintf("ConfigMap %q selects %s=%s, but nothing in the environment has that label",
				layer.config.Name.Value, c.key, c.value), schedule.SuggestValue(fleet, c.key, c.value, values)...)
		}
	}
}
