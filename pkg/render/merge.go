package render

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
	switch later := later.(type) {
	case map[string]any:
		switch earlier := earlier.(type) {
		case map[string]any:
			return mergeMaps(earlier, later)
		case map[any]any:
			return mergeMaps(earlier, anyKeys(later))
		}
	case map[any]any:
		switch earlier := earlier.(type) {
		case map[string]any:
			return mergeMaps(anyKeys(earlier), later)
		case map[any]any:
			return mergeMaps(earlier, later)
		}
	case []any:
		if earlier, ok := earlier.([]any); ok {
			return mergeLists(earlier, later)
		}
	}
	return later
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

func mergeMaps[K comparable](earlier, later map[K]any) map[K]any {
	merged := maps.Clone(earlier)
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

// mergeLists appends later to earlier. A map with a name is merged into every item of that name
// instead, also into one that has just been appended.
func mergeLists(earlier, later []any) []any {
	merged := slices.Clone(earlier)
	byName := map[string][]int{}
	for i, item := range merged {
		if name, named := itemName(item); named {
			byName[nameKey(name)] = append(byName[nameKey(name)], i)
		}
	}
	for _, item := range later {
		name, named := itemName(item)
		found := false
		if named {
			for _, i := range byName[nameKey(name)] {
				if other, ok := itemName(merged[i]); ok && reflect.DeepEqual(name, other) {
					merged[i] = merge(merged[i], item)
					found = true
				}
			}
		}
		if !found {
			if named {
				byName[nameKey(name)] = append(byName[nameKey(name)], len(merged))
			}
			merged = append(merged, item)
		}
	}
	return merged
}

// nameKey is the same for names that are equal, so that only few have to be compared.
func nameKey(name any) string {
	if text, ok := name.(string); ok {
		return "text " + text
	}
	return fmt.Sprintf("%T", name)
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
