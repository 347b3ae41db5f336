package config

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// azurePrefix is the prefix of the names of ConfigMaps that Azure App Configuration writes. Their keys contain the
// labels that they select.
const azurePrefix = "azure-app-config"

// Values is the merged platform configuration of an assignment. Assignments to which the same configs apply may share
// one Values, so it is read-only. It is safe for concurrent use.
type Values struct {
	// Settings are in order of key.
	Settings []*Setting

	once sync.Once
	data map[string]any
}

// Data returns the values by key: strings, and maps and lists for values that are objects.
func (v *Values) Data() map[string]any {
	v.once.Do(func() {
		v.data = make(map[string]any, len(v.Settings))
		for _, s := range v.Settings {
			v.data[s.Key.Name] = s.Value
		}
	})
	return v.data
}

// Origins returns where a value is set, in the order in which the values are merged: the last one
// overrides the others.
func (v *Values) Origins(key string) []Origin {
	if s := v.setting(key); s != nil {
		return s.origins()
	}
	return nil
}

// Setting returns the setting of a key, nil if there is none.
func (v *Values) setting(key string) *Setting {
	i, found := slices.BinarySearchFunc(v.Settings, key, func(s *Setting, key string) int { return strings.Compare(s.Key.Name, key) })
	if !found {
		return nil
	}
	return v.Settings[i]
}

// expressible reports whether JSON can express all values.
func (v *Values) expressible() bool {
	return !slices.ContainsFunc(v.Settings, func(s *Setting) bool { return !s.expressible() })
}

// Origin is the source of a config value.
type Origin struct {
	Config *model.ConfigMap
	At     diag.Place
	// Text is the value as written.
	Text string
}

// layer is a ConfigMap, or one key of Azure App Configuration, with the conditions under which it applies.
type layer struct {
	config     *model.ConfigMap
	conditions []condition
	entries    []*configEntry
	// azure is true for a key of Azure App Configuration.
	azure bool
}

type configEntry struct {
	name   string
	value  any
	origin Origin

	// key and alone, the setting of this entry alone, are set by newConfigKeys.
	key   *Key
	alone *Setting
}

// layers returns the platform configuration of a fleet in the order in which it is merged: ConfigMaps by name, then
// Azure's keys, the shortest first.
func layers(configs []*model.ConfigMap, diags *diag.List) []layer {
	var all, azure []layer
	for _, config := range configs {
		if config.Broken {
			continue
		}
		isPlatform, isAzure := config.Labels[model.PlatformConfigLabel].Value == "true", strings.HasPrefix(config.Name.Value, azurePrefix)
		if isPlatform {
			all = append(all, layer{config: config, conditions: conditions(config.Labels), entries: entries(config, diags)})
		}
		if isAzure {
			azure = append(azure, azureLayers(config, diags)...)
		}
		if !isPlatform && !isAzure {
			noticeNearLabel(config, diags)
		}
	}
	slices.SortStableFunc(azure, func(a, b layer) int {
		x, y := a.azureKey(), b.azureKey()
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y), cmp.Compare(a.config.Name.Value, b.config.Name.Value))
	})
	return append(all, azure...)
}

// noticeNearLabel reports a ConfigMap that is not platform configuration but has a label with a similar name.
func noticeNearLabel(config *model.ConfigMap, diags *diag.List) {
	for key, value := range config.Labels {
		if near := diag.Nearest(key, []string{model.PlatformConfigLabel}); near != "" && near != key {
			diags.Notice("near-label", value.At, fmt.Sprintf("ConfigMap %q is not platform configuration, but has the label %q", config.Name.Value, key),
				diag.Hint(fmt.Sprintf("did you mean %q?", near)))
		}
	}
}

func entries(config *model.ConfigMap, diags *diag.List) []*configEntry {
	all := make([]*configEntry, 0, len(config.Data))
	for key, text := range config.Data {
		all = append(all, newEntry(config, key, text, diags))
	}
	slices.SortFunc(all, func(a, b *configEntry) int { return cmp.Compare(a.name, b.name) })
	return all
}

func newEntry(config *model.ConfigMap, key string, text model.Text, diags *diag.List) *configEntry {
	value, duplicateKey := parseConfigValue(text.Value)
	if duplicateKey {
		diags.Warning("duplicate-key", text.At, fmt.Sprintf("the value of %q contains a duplicate key: the last value is used", key))
	}
	return &configEntry{name: key, value: value, origin: Origin{config, text.At, text.Value}}
}

// azureKey returns the key as it is in Azure App Configuration.
func (l layer) azureKey() string {
	var b strings.Builder
	for _, c := range l.conditions {
		b.WriteString(c.key + "." + c.value + ".")
	}
	return b.String() + l.entries[0].name
}

// azureLayers reads keys such as "region.west.size.large.KEY".
func azureLayers(config *model.ConfigMap, diags *diag.List) []layer {
	var all []layer
	for key, text := range config.Data {
		parts := strings.Split(key, ".")
		last := len(parts) - 1
		if last%2 != 0 || parts[last] == "" || emptyLabel(parts[:last]) {
			diags.Error("azure-key", text.At, fmt.Sprintf("key %q does not have the form label.value.label.value.KEY", key))
			continue
		}
		if label := repeatedLabel(parts[:last]); label != "" {
			diags.Error("azure-key", text.At, fmt.Sprintf("key %q contains the label %q twice", key, label), diag.Hint("use each label once"))
			continue
		}
		var conditions []condition
		for i := 0; i < last; i += 2 {
			conditions = append(conditions, condition{parts[i], parts[i+1], text.At})
		}
		all = append(all, layer{config, conditions, []*configEntry{newEntry(config, parts[last], text, diags)}, true})
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

// repeatedLabel returns the first label that occurs twice in pairs, or "" if there is none.
func repeatedLabel(pairs []string) string {
	seen := map[string]bool{}
	for i := 0; i < len(pairs); i += 2 {
		if seen[pairs[i]] {
			return pairs[i]
		}
		seen[pairs[i]] = true
	}
	return ""
}

// Configurator returns the Values of assignments. It is safe for concurrent use.
type Configurator struct {
	configs []*model.ConfigMap
	layers  []layer
	choice  *choice
	keys    []*Key
	// applied is true for each layer that an assignment uses.
	applied []atomic.Bool
	// slots has unused lists with a nil element for each key.
	slots sync.Pool

	// period counts the calls of expire.
	period atomic.Int32

	mu sync.Mutex
	// shared are Values by the positions of their layers, at most maxShared.
	shared map[string]*Values
}

// maxShared is the maximum number of Values that are cached. Assignments are in order of cluster type, so those that
// share Values are near each other.
const maxShared = 4096

// NewConfigurator reads the platform configuration of a fleet.
func NewConfigurator(fleet *model.Fleet) (*Configurator, diag.List) {
	var diags diag.List
	c := &Configurator{configs: fleet.ConfigMaps, layers: layers(fleet.ConfigMaps, &diags), shared: map[string]*Values{}}
	all := make([][]condition, len(c.layers))
	for i, layer := range c.layers {
		all[i] = layer.conditions
	}
	c.choice = newChoice(all)
	c.keys = newConfigKeys(c.layers)
	c.applied = make([]atomic.Bool, len(c.layers))
	c.slots.New = func() any { return make([]*Setting, len(c.keys)) }
	if !fleet.Incomplete {
		warnUnknownLabels(c.layers, fleet, &diags)
		noticeNearClusterLabels(c.layers, fleet, &diags)
	}
	return c, diags
}

// Configure returns the platform configuration of a deployment target on a cluster type.
func (c *Configurator) Configure(clusterType *model.ClusterType, target *model.DeploymentTarget) *Values {
	chosen := c.choice.of(clusterType, target)
	key := positionsKey(chosen)
	c.mu.Lock()
	values, ok := c.shared[key]
	c.mu.Unlock()
	if ok {
		return values
	}
	values = c.combine(chosen)
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, ok := c.shared[key]; ok {
		return other
	}
	if len(c.shared) >= maxShared {
		clear(c.shared)
	}
	c.shared[key] = values
	return values
}

// Forget removes a cluster type from the cache.
func (c *Configurator) Forget(clusterType *model.ClusterType) { c.choice.forget(clusterType) }

// Expire removes cached settings that were not used since the last but one call. It is called periodically, because the
// settings of a cluster type are not needed after its last assignment.
func (c *Configurator) Expire() {
	c.mu.Lock()
	clear(c.shared)
	c.mu.Unlock()
	since := c.period.Add(1) - 1
	for _, layer := range c.layers {
		for _, entry := range layer.entries {
			entry.alone.expire(since)
		}
	}
}

// positionsKey identifies a list of positions.
func positionsKey(positions []int) string {
	key := make([]byte, 0, 4*len(positions))
	for _, position := range positions {
		key = binary.BigEndian.AppendUint32(key, uint32(position)) // a position in a slice is never that large
	}
	return string(key)
}

// combine merges the chosen layers.
func (c *Configurator) combine(chosen []int) *Values {
	slots, _ := c.slots.Get().([]*Setting)
	period := c.period.Load()
	var used []int
	var deep map[int][]*configEntry // to merge into settings of maxDepth
	for _, position := range chosen {
		c.applied[position].Store(true)
		for _, entry := range c.layers[position].entries {
			number := entry.key.Number
			switch before := slots[number]; {
			case before == nil:
				slots[number] = entry.alone
				used = append(used, number)
			case before.depth < maxDepth:
				slots[number] = before.with(entry)
				slots[number].used.Store(period)
			default:
				if deep == nil {
					deep = map[int][]*configEntry{}
				}
				deep[number] = append(deep[number], entry)
			}
		}
	}
	for number, entries := range deep {
		slots[number] = slots[number].withAll(entries)
	}
	slices.Sort(used)
	values := &Values{Settings: make([]*Setting, len(used))}
	for i, number := range used {
		values.Settings[i], slots[number] = slots[number], nil
	}
	c.slots.Put(slots) //nolint:staticcheck // allocating a slice header is cheaper than a list
	return values
}

// NoticeUnused reports in one notice the configs that no assignment uses. Call it after all assignments are configured.
// It is not a warning, because rollouts are usually partial.
func (c *Configurator) NoticeUnused() diag.List {
	var diags diag.List
	used, seen := map[*model.ConfigMap]bool{}, map[*model.ConfigMap]bool{}
	for i, layer := range c.layers {
		seen[layer.config] = true
		used[layer.config] = used[layer.config] || c.applied[i].Load()
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
	diags.Notice("config-unused", diag.Place{}, fmt.Sprintf("%d of %d platform ConfigMaps are unused: %s",
		len(names), len(seen), listed(names)))
	return diags
}

// listed joins names, at most the first few.
func listed(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// newConfigKeys numbers all keys that the layers set, and sets the key of every entry.
func newConfigKeys(layers []layer) []*Key {
	byName := map[string]*Key{}
	for _, layer := range layers {
		for _, entry := range layer.entries {
			if byName[entry.name] == nil {
				byName[entry.name] = &Key{Name: entry.name}
			}
			entry.key = byName[entry.name]
			entry.alone = newSetting(entry)
		}
	}
	keys := make([]*Key, 0, len(byName))
	for number, name := range slices.Sorted(maps.Keys(byName)) {
		byName[name].Number = number
		keys = append(keys, byName[name])
	}
	return keys
}
