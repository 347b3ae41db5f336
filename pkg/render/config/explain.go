package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Result states whether the configuration of a ConfigMap applies to an assignment.
type Result struct {
	Config *model.ConfigMap
	// At is the place of the ConfigMap, or of one key of Azure App Configuration.
	At diag.Place
	// Keys are the keys that it sets, in order.
	Keys []string
	// Labels are the labels that it selects, such as "region=west", in order of key.
	Labels []string
	// Misses are the reasons why it does not apply; empty if it applies.
	Misses []Miss
}

// Applies reports whether the configuration applies.
func (r Result) Applies() bool { return len(r.Misses) == 0 }

// Miss is a reason why a ConfigMap does not apply.
type Miss struct {
	// At is the place of the label, or of the ConfigMap if Label is empty.
	At diag.Place `json:"at"`
	// Label is the label that does not match; empty for other reasons.
	Label string `json:"label,omitempty"`
	// Message is a sentence without a subject: the requirement and the actual value.
	Message string `json:"message"`
}

// Keys returns the keys that any ConfigMap sets, in order.
func (c *Configurator) Keys() []string {
	keys := make([]string, len(c.keys))
	for i, key := range c.keys {
		keys[i] = key.Name
	}
	return keys
}

// Explain returns for every ConfigMap whether it applies to a deployment target on a cluster type, and if not, why.
// Platform configuration is first, in the order in which it is merged.
func (c *Configurator) Explain(clusterType *model.ClusterType, target *model.DeploymentTarget) []Result {
	chosen := c.choice.of(clusterType, target)
	var results []Result
	read := map[*model.ConfigMap]bool{}
	for position, layer := range c.layers {
		read[layer.config] = true
		r := layer.result()
		if _, applies := slices.BinarySearch(chosen, position); !applies {
			r.Misses = layer.misses(clusterType, target)
		}
		results = append(results, r)
	}
	for _, config := range c.configs {
		if !read[config] {
			results = append(results, unread(config))
		}
	}
	return results
}

// result returns the result of a layer that applies.
func (l layer) result() Result {
	r := Result{Config: l.config, At: l.config.Name.At}
	for _, entry := range l.entries {
		r.Keys = append(r.Keys, entry.name)
	}
	if l.azure {
		r.At = l.entries[0].origin.At
	}
	for _, condition := range l.conditions {
		r.Labels = append(r.Labels, condition.key+"="+condition.value)
	}
	return r
}

// misses returns the conditions that neither the cluster type nor the target satisfies.
func (l layer) misses(clusterType *model.ClusterType, target *model.DeploymentTarget) []Miss {
	var misses []Miss
	for _, condition := range l.conditions {
		holds, decided := condition.holdsOnClusterType(clusterType)
		if !holds && (decided || !condition.holdsOnTarget(target)) {
			misses = append(misses, Miss{
				condition.at, condition.key,
				fmt.Sprintf("requires %s=%s, but %s", condition.key, condition.value, condition.found(clusterType, target)),
			})
		}
	}
	return misses
}

// found describes the actual value of the label.
func (c condition) found(clusterType *model.ClusterType, target *model.DeploymentTarget) string {
	switch c.key {
	case model.ClusterTypeLabel:
		return "the cluster type is " + clusterType.Name.Value
	case model.DeploymentTargetLabel:
		return "the deployment target is " + target.Name.Value
	case model.WorkloadLabel:
		return "the workload is " + target.Workload
	}
	var found []string
	if value, has := clusterType.Labels[c.key]; has {
		found = append(found, fmt.Sprintf("the cluster type has %s=%s", c.key, value.Value))
	}
	if value, has := target.Labels[c.key]; has {
		found = append(found, fmt.Sprintf("the deployment target has %s=%s", c.key, value.Value))
	}
	if len(found) == 0 {
		return fmt.Sprintf("neither the cluster type nor the deployment target has the label %q", c.key)
	}
	return strings.Join(found, ", and ")
}

// unread returns the result of a ConfigMap that is not platform configuration, has errors or sets no key.
func unread(config *model.ConfigMap) Result {
	r := Result{Config: config, At: config.Name.At}
	switch label, has := config.Labels[model.PlatformConfigLabel]; {
	case config.Broken:
		r.Misses = []Miss{{At: r.At, Message: "has errors"}}
	case strings.HasPrefix(config.Name.Value, azurePrefix):
		r.Misses = []Miss{{At: r.At, Message: "sets no key"}}
	case has:
		r.Misses = []Miss{{label.At, model.PlatformConfigLabel, fmt.Sprintf("is not platform configuration, because its label %s is %q instead of \"true\"",
			model.PlatformConfigLabel, label.Value)}}
	default:
		r.Misses = []Miss{{At: r.At, Message: fmt.Sprintf("is not platform configuration, because the label %s: \"true\" is missing", model.PlatformConfigLabel)}}
	}
	return r
}

// Keys returns the keys that have a value, in order.
func (v *Values) Keys() []string {
	keys := make([]string, len(v.Settings))
	for i, s := range v.Settings {
		keys[i] = s.Key.Name
	}
	return keys
}

// Text returns the value of a key for people: a string unchanged, maps and lists as YAML, "" without a value.
func (v *Values) Text(key string) string {
	s := v.setting(key)
	if s == nil {
		return ""
	}
	if text, isText := s.Value.(string); isText {
		return text
	}
	written, err := yaml.Marshal(s.Value)
	if err != nil {
		return fmt.Sprint(s.Value)
	}
	return string(written)
}

// MergedValue is a config value that was applied on top of those of earlier configs.
type MergedValue struct {
	Origin
	// Merged is true if it was merged into the earlier value, false if it replaced it or is the first.
	Merged bool
}

// Stack returns the values of a key that were merged: the result of Origins, and how each was applied.
func (v *Values) Stack(key string) []MergedValue {
	s := v.setting(key)
	if s == nil {
		return nil
	}
	var stack []MergedValue
	var below merger
	for _, entry := range s.allEntries() {
		merged := len(stack) > 0 && merges(below.value, entry.value)
		stack = append(stack, MergedValue{entry.origin, merged})
		if len(stack) == 1 {
			below.value = entry.value
			continue
		}
		below.add(entry.value)
	}
	return stack
}
