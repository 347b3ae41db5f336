package jsonschema

import (
	"cmp"
	"slices"
)

// Violation is one way in which values break a schema.
type Violation struct {
	// Path leads to the offending value: keys and list indexes from the top, for example ["DATABASE", "port"]. It is
	// empty if the values as a whole are at fault; for a missing key it leads to the object that lacks it.
	Path []string
	// Message says what is required and what was found: lower case, one line, no full stop.
	Message string
	// Keyword is the part of the schema that objects, as a JSON Pointer such as "/properties/REGION/enum". It is empty
	// where no single keyword is at fault.
	Keyword string
}

// sorted sorts violations and leaves each only once.
func sorted(list []Violation) []Violation {
	slices.SortFunc(list, compareViolations)
	return slices.CompactFunc(list, func(a, b Violation) bool {
		return slices.Equal(a.Path, b.Path) && a.Message == b.Message
	})
}

func compareViolations(a, b Violation) int {
	return cmp.Or(slices.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Keyword, b.Keyword))
}
