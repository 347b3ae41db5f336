package main

import (
	"slices"
	"strings"
)

// forPeople are the keys of a description that no program needs.
var forPeople = []string{"deprecated", "description", "example", "examples", "externalDocs", "summary", "tags"}

// named are the keys whose value has names for keys: there, "description" is a name like any other.
var named = []string{"properties", "headers"}

// plain returns a part of a description without what is for people, what refusals look like, and the
// extensions of vendors.
func plain(part any) any {
	switch part := part.(type) {
	case object:
		kept := object{}
		for key, value := range part {
			switch fields, _ := value.(object); {
			case slices.Contains(forPeople, key) || strings.HasPrefix(key, "x-"):
			case slices.Contains(named, key) && fields != nil:
				kept[key] = each(fields, plain)
			case key == "responses" && fields != nil:
				kept[key] = each(successes(fields), plain)
			default:
				kept[key] = plain(value)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(part))
		for i, value := range part {
			kept[i] = plain(value)
		}
		return kept
	}
	return part
}

func each(fields object, change func(any) any) object {
	changed := object{}
	for name, value := range fields {
		changed[name] = change(value)
	}
	return changed
}

// successes are the answers of an operation with a status of 2xx.
func successes(responses object) object {
	kept := object{}
	for status, response := range responses {
		if strings.HasPrefix(status, "2") {
			kept[status] = response
		}
	}
	return kept
}
