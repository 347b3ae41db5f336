package render

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// azurePrefix begins the names of ConfigMaps that Azure App Configuration writes: their keys say
// what they apply to.
const azurePrefix = "azure-app-config"

// Values is the consolidated platform configuration of an assignment. Assignments to which the same
// configs apply share one Values, so it is read-only.
type Values struct {
	// Data holds strings, and maps and lists for values that are objects.
	Data map[string]any
	// Origins tells for each key where it was set, in the order in which the values were laid over
	// each other: the last one decided, or was merged in last.
	Origins map[string][]Origin
}

// Origin is a config value as it was written.
type Origin struct {
	Config *model.ConfigMap
	At     diag.Place
	// Text is the value as it was written.
	Text string
}

// layer is a ConfigMap, or one key of Azure App Configuration, with what it applies to.
type layer struct {
	config     *model.ConfigMap
	conditions []condition
	entries    []configEntry
}

type configEntry struct {
	key    string
	value  any
	origin Origin
}

// layers returns the platform configuration of a fleet in the order in which it is laid over each
// other: ConfigMaps by name, then Azure's keys, the shortest first.
func layers(configs []*model.ConfigMap, diags *diag.List) []layer {
	var all, azure []layer
	for _, config := range configs {
		if config.Broken {
			continue
		}
		if config.Labels[model.PlatformConfigLabel].Value == "true" {
			all = append(all, layer{config, conditions(config.Labels), entries(config, diags)})
		}
		if strings.HasPrefix(config.Name.Value, azurePrefix) {
			azure = append(azure, azureLayers(config, diags)...)
		}
	}
	slices.SortStableFunc(azure, func(a, b layer) int {
		x, y := a.azureKey(), b.azureKey()
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y), cmp.Compare(a.config.Name.Value, b.config.Name.Value))
	})
	return append(all, azure...)
}

func entries(config *model.ConfigMap, diags *diag.List) []configEntry {
	all := make([]configEntry, 0, len(config.Data))
	for key, text := range config.Data {
		all = append(all, newEntry(config, key, text, diags))
	}
	slices.SortFunc(all, func(a, b configEntry) int { return cmp.Compare(a.key, b.key) })
	return all
}

func newEntry(config *model.ConfigMap, key string, text model.Text, diags *diag.List) configEntry {
	value, duplicateKey := parseConfigValue(text.Value)
	if duplicateKey {
		diags.Warning("duplicate-key", text.At, fmt.Sprintf("the value of %q has a key twice: the last one counts", key))
	}
	return configEntry{key, value, Origin{config, text.At, text.Value}}
}

// azureKey is the key of the one entry as Azure App Configuration has it.
func (l layer) azureKey() string {
	var b strings.Builder
	for _, c := range l.conditions {
		b.WriteString(c.key + "." + c.value + ".")
	}
	return b.String() + l.entries[0].key
}

// azureLayers reads keys such as "region.west.size.large.KEY".
func azureLayers(config *model.ConfigMap, diags *diag.List) []layer {
	var all []layer
	for key, text := range config.Data {
		parts := strings.Split(key, ".")
		last := len(parts) - 1
		if last%2 != 0 || parts[last] == "" || emptyLabel(parts[:last]) {
			diags.Error("azure-key", text.At, fmt.Sprintf("key %q is not of the form label.value.label.value.KEY", key))
			continue
		}
		var conditions []condition
		for i := 0; i < last; i += 2 {
			conditions = append(conditions, condition{parts[i], parts[i+1], text.At})
		}
		all = append(all, layer{config, conditions, []configEntry{newEntry(config, parts[last], text, diags)}})
	}
	return all
}

// emptyLabel reports whether one of the pairs has no label.
func emptyLabel(pairs []string) bool {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == "" {
			return true
		}
	}
	return false
}

// Configurator finds the Values of assignments. It is safe for concurrent use.
type Configurator struct {
	layers []layer
	choice *choice

	mu     sync.Mutex
	shared map[string]*Values
	// applied counts for each layer whether anything uses it.
	applied []bool
}

// NewConfigurator reads the platform configuration of a fleet.
func NewConfigurator(fleet *model.Fleet) (*Configurator, diag.List) {
	var diags diag.List
	c := &Configurator{layers: layers(fleet.ConfigMaps, &diags), shared: map[string]*Values{}}
	all := make([][]condition, len(c.layers))
	for i, layer := range c.layers {
		all[i] = layer.conditions
	}
	c.choice = newChoice(all, fleet.ClusterTypes)
	c.applied = make([]bool, len(c.layers))
	if !fleet.Incomplete {
		warnUnknownLabels(c.layers, fleet, &diags)
	}
	return c, diags
}

// Configure returns the platform configuration of a deployment target on a cluster type.
func (c *Configurator) Configure(clusterType *model.ClusterType, target *model.DeploymentTarget) *Values {
	chosen := c.choice.of(clusterType, target)
	key := positionsKey(chosen)
	c.mu.Lock()
	defer c.mu.Unlock()
	values, ok := c.shared[key]
	if !ok {
		values = c.combine(chosen)
		c.shared[key] = values
	}
	return values
}

// positionsKey identifies a list of positions.
func positionsKey(positions []int) string {
	key := make([]byte, 0, 4*len(positions))
	for _, position := range positions {
		key = binary.BigEndian.AppendUint32(key, uint32(position)) //nolint:gosec // a position in a slice is never that large
	}
	return string(key)
}

func (c *Configurator) combine(chosen []int) *Values {
	values := &Values{Data: map[string]any{}, Origins: map[string][]Origin{}}
	for _, position := range chosen {
		c.applied[position] = true
		for _, entry := range c.layers[position].entries {
			value := entry.value
			if before, ok := values.Data[entry.key]; ok {
				value = merge(before, value)
			}
			values.Data[entry.key] = value
			values.Origins[entry.key] = append(values.Origins[entry.key], entry.origin)
		}
	}
	return values
}

// NoticeUnused says in one notice how many configs no assignment uses. It is asked for when all
// assignments are configured: a rollout is usually partial, so this is no warning.
func (c *Configurator) NoticeUnused() diag.List {
	var diags diag.List
	used, seen := map[*model.ConfigMap]bool{}, map[*model.ConfigMap]bool{}
	for i, layer := range c.layers {
		seen[layer.config] = true
		used[layer.config] = used[layer.config] || c.applied[i]
	}
	var names []string
	for config := range seen {
		if !used[config] {
			names = append(names, config.Name.Value)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	diags.Notice("config-unused", diag.Place{}, fmt.Sprintf("%d of %d platform configs apply to no assignment: %s",
		len(names), len(seen), listed(names)))
	return diags
}

// listed joins names, the first few of them if there are many.
func listed(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
