package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// merge merges a later config value into an earlier one: maps merge by key, lists append (items that are maps with the
// same name merge), anything else is replaced. Neither argument is changed, because all assignments share them.
func merge(earlier, later any) any {
	m := merger{value: earlier}
	m.add(later)
	return m.value
}

// merger merges a sequence of values as merge does, but copies the first only once, because many configs may add to
// one value.
type merger struct {
	value any
	// own is true if the value is a copy that may be changed.
	own bool
	// named are the positions of the items with names in an own list, by nameKey; nil before the first use.
	named map[string][]int
}

func (m *merger) add(later any) {
	switch later := later.(type) {
	case map[string]any:
		switch earlier := m.value.(type) {
		case map[string]any:
			m.value, m.own = mergeMaps(earlier, later, m.own), true
			return
		case map[any]any:
			m.value, m.own = mergeMaps(earlier, anyKeys(later), m.own), true
			return
		}
	case map[any]any:
		switch earlier := m.value.(type) {
		case map[string]any:
			m.value, m.own = mergeMaps(anyKeys(earlier), later, true), true
			return
		case map[any]any:
			m.value, m.own = mergeMaps(earlier, later, m.own), true
			return
		}
	case []any:
		if earlier, ok := m.value.([]any); ok {
			m.addItems(earlier, later)
			return
		}
	}
	*m = merger{value: later}
}

// merges reports whether merge combines two values, rather than replacing the earlier one.
func merges(earlier, later any) bool {
	switch later.(type) {
	case map[string]any, map[any]any:
		switch earlier.(type) {
		case map[string]any, map[any]any:
			return true
		}
	case []any:
		_, both := earlier.([]any)
		return both
	}
	return false
}

// mergeMaps merges a map into another one, which it may change if that is owned.
func mergeMaps[K comparable](earlier, later map[K]any, owned bool) map[K]any {
	merged := earlier
	if !owned {
		merged = maps.Clone(earlier)
	}
	if merged == nil {
		merged = map[K]any{}
	}
	for key, value := range later {
		if before, ok := merged[key]; ok {
			value = merge(before, value)
		}
		merged[key] = value
	}
	return merged
}

// anyKeys converts a map with string keys, so that it can be merged with one that has other keys.
func anyKeys(m map[string]any) map[any]any {
	converted := make(map[any]any, len(m))
	for key, value := range m {
		converted[key] = value
	}
	return converted
}

// addItems appends items to a list. A map with a name is merged into every item of that name instead,
// also into one that has just been appended.
func (m *merger) addItems(list, later []any) {
	if !m.own {
		list, m.own, m.named = slices.Clone(list), true, nil
	}
	for _, item := range later {
		if !m.mergeNamed(list, item) {
			list = append(list, item)
			m.name(item, len(list)-1)
		}
	}
	m.value = list
}

// mergeNamed merges an item into all items that have its name.
func (m *merger) mergeNamed(list []any, item any) (found bool) {
	name, named := itemName(item)
	if !named {
		return false
	}
	if m.named == nil {
		m.named = map[string][]int{}
		for i, item := range list {
			m.name(item, i)
		}
	}
	for _, i := range m.named[nameKey(name)] {
		if other, ok := itemName(list[i]); ok && reflect.DeepEqual(name, other) {
			list[i] = merge(list[i], item)
			found = true
		}
	}
	return found
}

// name records the position of an item that has a name, if names are in use.
func (m *merger) name(item any, position int) {
	if name, named := itemName(item); named && m.named != nil {
		m.named[nameKey(name)] = append(m.named[nameKey(name)], position)
	}
}

// nameKey returns the same key for equal names, so that only few have to be compared. A name that is a map or list may
// itself change when items are merged.
func nameKey(name any) string {
	switch name.(type) {
	case map[string]any, map[any]any, []any:
		return fmt.Sprintf("%T", name)
	default:
		return fmt.Sprintf("%T %v", name, name)
	}
}

// itemName returns the name of a list item that is a map. A null name counts as none.
func itemName(item any) (any, bool) {
	var name any
	switch item := item.(type) {
	case map[string]any:
		name = item["name"]
	case map[any]any:
		name = item["name"]
	}
	return name, name != nil
}
