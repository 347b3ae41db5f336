package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Verdict says whether the configuration of a ConfigMap applies to an assignment.
type Verdict struct {
	Config *model.ConfigMap
	// At is the ConfigMap, or the key of Azure App Configuration that the verdict is about.
	At diag.Place
	// Keys are those that it sets, in order.
	Keys []string
	// Labels are what it asks for: "region=west", in order of key.
	Labels []string
	// Misses are what keeps it from applying; none if it does.
	Misses []Miss
}

// Applies reports whether it does.
func (v Verdict) Applies() bool { return len(v.Misses) == 0 }

// Miss is what keeps a ConfigMap from applying.
type Miss struct {
	// At is the label of the ConfigMap, or the ConfigMap if it is about no label.
	At diag.Place `json:"at"`
	// Label is that which does not match; empty if there is another reason.
	Label string `json:"label,omitempty"`
	// Message says what the ConfigMap wants and what was found, in a sentence without a subject.
	Message string `json:"message"`
}

// Keys are those that the configuration sets anywhere, in order.
func (c *Configurator) Keys() []string {
	keys := make([]string, len(c.keys))
	for i, key := range c.keys {
		keys[i] = key.Name
	}
	return keys
}

// Explain says of every ConfigMap whether it applies to a deployment target on a cluster type, and if not, why. Those
// that can apply come first, in the order in which they are laid over each other.
func (c *Configurator) Explain(clusterType *model.ClusterType, target *model.DeploymentTarget) []Verdict {
	chosen := c.choice.of(clusterType, target)
	var verdicts []Verdict
	read := map[*model.ConfigMap]bool{}
	for position, layer := range c.layers {
		read[layer.config] = true
		v := layer.verdict()
		if _, applies := slices.BinarySearch(chosen, position); !applies {
			v.Misses = layer.misses(clusterType, target)
		}
		verdicts = append(verdicts, v)
	}
	for _, config := range c.configs {
		if !read[config] {
			verdicts = append(verdicts, unread(config))
		}
	}
	return verdicts
}

func (l layer) verdict() Verdict {
	v := Verdict{Config: l.config, At: l.config.Name.At}
	for _, entry := range l.entries {
		v.Keys = append(v.Keys, entry.name)
	}
	if l.azure {
		v.At = l.entries[0].origin.At
	}
	for _, condition := range l.conditions {
		v.Labels = append(v.Labels, condition.key+"="+condition.value)
	}
	return v
}

// misses are the conditions that neither the cluster type nor the target meets.
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

// found says what there is instead.
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

// unread is the verdict on a ConfigMap that carries no platform configuration.
func unread(config *model.ConfigMap) Verdict {
	v := Verdict{Config: config, At: config.Name.At}
	switch label, has := config.Labels[model.PlatformConfigLabel]; {
	case config.Broken:
		v.Misses = []Miss{{At: v.At, Message: "has errors"}}
	case strings.HasPrefix(config.Name.Value, azurePrefix):
		v.Misses = []Miss{{At: v.At, Message: "sets no key"}}
	case has:
		v.Misses = []Miss{{label.At, model.PlatformConfigLabel, fmt.Sprintf("is not platform configuration, because its label %s is %q instead of \"true\"",
			model.PlatformConfigLabel, label.Value)}}
	default:
		v.Misses = []Miss{{At: v.At, Message: fmt.Sprintf("is not platform configuration, because the label %s: \"true\" is missing", model.PlatformConfigLabel)}}
	}
	return v
}

// Keys are those that have a value, in order.
func (v *Values) Keys() []string {
	keys := make([]string, len(v.Settings))
	for i, s := range v.Settings {
		keys[i] = s.Key.Name
	}
	return keys
}

// Text is the value of a key for people: texts as they are, maps and lists as YAML; empty if it has none.
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

// Laid is a config value that was laid over those below it.
type Laid struct {
	Origin
	// Merged says that it was merged into what was below; otherwise it replaced that, if there was anything.
	Merged bool
}

// Stack tells how a value came about: what Origins returns, and what each of them did.
func (v *Values) Stack(key string) []Laid {
	s := v.setting(key)
	if s == nil {
		return nil
	}
	var stack []Laid
	var below merger
	for _, entry := range s.allEntries() {
		merged := len(stack) > 0 && merges(below.value, entry.value)
		stack = append(stack, Laid{entry.origin, merged})
		if len(stack) == 1 {
			below.value = entry.value
			continue
		}
		below.add(entry.value)
	}
	return stack
}
