package config

import (
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

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

// warnUnknownLabels warns of configs that can apply to nothing, because nothing in the environment
// has a label that they ask for.
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
			diags.Warning("unknown-label-value", c.at, fmt.Sprintf("ConfigMap %q asks for %s=%s, which nothing in the environment has",
				layer.config.Name.Value, c.key, c.value), diag.Hint(diag.DidYouMean(c.value, values)))
		}
	}
}
