package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// shownAlternatives is how many alternatives are explained, each in so many characters.
const (
	shownAlternatives      = 3
	shownAlternativeLength = 120
)

// alternatives explains a value that matches none of several schemas. If only one of them can be
// meant, its own failures say more than all of them together.
func (e *explainer) alternatives(failure *jsonschema.ValidationError, keyword string) []finding {
	var groups [][]finding
	for _, cause := range failure.Causes {
		if found := e.findings(cause); len(found) > 0 {
			slices.SortFunc(found, func(a, b finding) int { return compareViolations(a.Violation, b.Violation) })
			groups = append(groups, found)
		}
	}
	here := failure.InstanceLocation
	if joined, ok := e.joined(failure, keyword, groups); ok {
		return []finding{joined}
	}
	meant := withoutWrong(groups, func(f finding) bool {
		return f.types != nil && slices.Equal(f.Path, here)
	})
	if len(meant) > 1 {
		if selector, ok := e.selector(failure, keyword, meant); ok {
			return []finding{selector}
		}
		meant = withoutWrong(meant, func(f finding) bool {
			return f.values != nil && len(f.Path) > len(here)
		})
	}
	if len(meant) == 1 {
		return meant[0]
	}
	return []finding{noneOf(failure, keyword, groups)}
}

// withoutWrong drops the alternatives with a failure that shows that they are not meant, unless
// that would drop all.
func withoutWrong(groups [][]finding, wrong func(finding) bool) [][]finding {
	var kept [][]finding
	for _, group := range groups {
		if !slices.ContainsFunc(group, wrong) {
			kept = append(kept, group)
		}
	}
	if kept == nil {
		return groups
	}
	return kept
}

// selector finds the member, often named "kind" or "type", by whose constant values the
// alternatives are told apart, if the value has none of the constants.
func (e *explainer) selector(failure *jsonschema.ValidationError, keyword string, groups [][]finding) (finding, bool) {
	for _, candidate := range groups[0] {
		if candidate.values == nil || len(candidate.Path) <= len(failure.InstanceLocation) {
			continue
		}
		if values := valuesInAll(groups, candidate.Path); values != nil {
			f := failedAt(failure, keyword, "")
			f.Path = candidate.Path
			return e.wrongValue(f, values), true
		}
	}
	return finding{}, false
}

// valuesInAll gathers the values that the alternatives allow at a path, nil unless all of them
// name some.
func valuesInAll(groups [][]finding, path []string) []any {
	var values []any
	for _, group := range groups {
		i := slices.IndexFunc(group, func(f finding) bool { return f.values != nil && slices.Equal(f.Path, path) })
		if i < 0 {
			return nil
		}
		values = append(values, group[i].values...)
	}
	return values
}

// joined makes one finding of alternatives that all just name types, or all just name values.
func (e *explainer) joined(failure *jsonschema.ValidationError, keyword string, groups [][]finding) (finding, bool) {
	var types []string
	var values []any
	for _, group := range groups {
		f := group[0]
		if len(group) > 1 || !slices.Equal(f.Path, failure.InstanceLocation) || f.types == nil && f.values == nil {
			return finding{}, false
		}
		for _, name := range f.types {
			if !slices.Contains(types, name) {
				types = append(types, name)
			}
		}
		values = append(values, f.values...)
	}
	f := failedAt(failure, keyword, "")
	switch {
	case types != nil && values == nil:
		f.Message, f.types = e.wrongType(types, f.Path), types
		return f, true
	case values != nil && types == nil:
		return e.wrongValue(f, values), true
	default:
		return finding{}, false
	}
}

// noneOf lists why each alternative fails.
func noneOf(failure *jsonschema.ValidationError, keyword string, groups [][]finding) finding {
	var reasons []string
	for _, group := range groups[:min(len(groups), shownAlternatives)] {
		reasons = append(reasons, reason(group, len(failure.InstanceLocation)))
	}
	if len(groups) > shownAlternatives {
		reasons = append(reasons, fmt.Sprintf("and %d more", len(groups)-shownAlternatives))
	}
	message := fmt.Sprintf("matches none of the %s", diag.Plural(len(failure.Causes), "alternative"))
	if len(failure.Causes) == 1 {
		message = "does not match the only alternative"
	}
	if len(reasons) > 0 {
		message += ": " + strings.Join(reasons, "; ")
	}
	return failedAt(failure, keyword, message)
}

// reason sums up why one alternative fails, seen from a place so many keys deep.
func reason(group []finding, depth int) string {
	text := group[0].Message
	if below := group[0].Path[depth:]; len(below) > 0 {
		text = shorten(strings.Join(below, "."), shownLength) + " " + text
	}
	text = shorten(text, shownAlternativeLength)
	if len(group) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(group)-1)
	}
	return oneLine(text)
}
