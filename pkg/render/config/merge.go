package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// merge lays a later config value over an earlier one: maps merge by key, lists append (items that
// are maps with the same name merge), anything else is replaced. Neither argument is changed, as
// they are shared by all assignments.
func merge(earlier, later any) any {
	m := merger{value: earlier}
	m.add(later)
	return m.value
}

// merger lays one value after the other over the first, as merge does, but copies what it has only
// once: many configs may add to one value.
type merger struct {
	value any
	// own says that the value was made here.
	own bool
	// named are the positions of the items that have names in a list that was made here, by nameKey; nil
	// if nobody has asked yet.
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

// merges reports whether merge would make something new of two values.
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

// mergeMaps lays a map over another one, which it may write into if that is owned.
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

// anyKeys makes a map with string keys comparable to one that has numbers or booleans among them.
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

// mergeNamed merges an item into all that have its name.
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

// Name notes the position of an item that has a name, once somebody has asked for names.
func (m *merger) name(item any, position int) {
	if name, named := itemName(item); named && m.named != nil {
		m.named[nameKey(name)] = append(m.named[nameKey(name)], position)
	}
}

// nameKey is the same for names that are equal, so that only few have to be compared. A name that is a
// map or list may itself change when items are merged.
func nameKey(name any) string {
	switch name.(type) {
	case map[string]any, map[any]any, []any:
		return fmt.Sprintf("%T", name)
	default:
		return fmt.Sprintf("%T %v", name, name)
	}
}

// itemName returns the name of a list item that is a map. A name that is null is none.
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
