package jsonschema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxValueNesting is the maximum nesting depth of values.
const maxValueNesting = 200

// Expressible reports whether JSON can express a value of the configuration, so that a schema can check it.
func Expressible(value any) bool {
	var c converter
	c.convert(value, []string{""})
	return len(c.faults) == 0
}

// convertAll converts values for schemas: top-level strings that parse as numbers to numbers, other keys to strings. It
// also returns a violation for each value that JSON cannot express.
func convertAll(values map[string]any) (map[string]any, []Violation) {
	var c converter
	root := make(map[string]any, len(values))
	for key, value := range values {
		if text, isString := value.(string); isString {
			root[key] = topLevel(text)
		} else {
			root[key] = c.convert(value, []string{key})
		}
	}
	return root, c.faults
}

// topLevel converts a top-level string to a number if strconv.Atoi or strconv.ParseFloat parses it as a finite one,
// including hexadecimal. Integers are exact.
func topLevel(text string) any {
	if text == "" || !strings.ContainsRune("+-.0123456789", rune(text[0])) {
		return text
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return text
	}
	if digits := strings.TrimLeft(text, "+-"); strings.Trim(digits, "0123456789") == "" { // beyond 64 bits, written as JSON does
		return json.Number(strings.Trim(text[:len(text)-len(digits)], "+") + strings.TrimLeft(digits, "0"))
	}
	return f
}

type converter struct{ faults []Violation }

// convert returns the value at the path in the form of JSON.
func (c *converter) convert(value any, path []string) any {
	switch value := value.(type) {
	case nil, bool, int, int64, uint64, string:
		return value
	case float64:
		if math.IsInf(value, 0) || math.IsNaN(value) {
			return c.fault(path, fmt.Sprintf("must be a finite number, but is %v", value))
		}
		return value
	}
	if len(path) > maxValueNesting {
		return c.fault(path, fmt.Sprintf("nests deeper than %d levels", maxValueNesting))
	}
	switch value := value.(type) {
	case []any:
		converted := make([]any, len(value))
		for i, item := range value {
			converted[i] = c.convert(item, append(path, strconv.Itoa(i)))
		}
		return converted
	case map[string]any:
		converted := make(map[string]any, len(value))
		for key, member := range value {
			converted[key] = c.convert(member, append(path, key))
		}
		return converted
	case map[any]any:
		// A map may have the keys 1 and "1": strings win, then the type that sorts first.
		rank := func(key any) string {
			if _, isString := key.(string); isString {
				return ""
			}
			return fmt.Sprintf("%T", key)
		}
		named := make(map[string]any, len(value))
		for _, key := range slices.SortedFunc(maps.Keys(value), func(a, b any) int { return cmp.Compare(rank(b), rank(a)) }) {
			name := fmt.Sprint(key)
			if key == nil {
				name = "null"
			}
			named[name] = value[key]
		}
		return c.convert(named, path)
	default:
		return c.fault(path, fmt.Sprintf("has the type %T, which JSON does not support", value))
	}
}

func (c *converter) fault(path []string, message string) any {
	c.faults = append(c.faults, Violation{Path: slices.Clone(path), Message: message})
	return nil
}

// keys are the top-level keys that a schema reads, if known; closed is true if other keys are invalid.
type keys struct {
	names         []string
	closed, known bool
}

func keysOf(root *part) keys {
	additional, isBool := root.AdditionalProperties.(bool)
	closed := isBool && !additional
	names := map[string]bool{}
	seen := map[*part]bool{}
	for all := []*part{root}; len(all) > 0; {
		p := all[len(all)-1]
		all = all[:len(all)-1]
		if p.AdditionalProperties != nil && !(isBool && p == root) || p.readsAllMembers() {
			return keys{}
		}
		if !seen[p] {
			seen[p] = true
			p.addNames(names)
			all = append(all, p.same...)
		}
	}
	if closed {
		return keys{inOrder(root.Properties), true, true}
	}
	return keys{inOrder(names), false, true}
}

// readsAllMembers reports whether the part has keywords that apply to members of any name.
func (p *part) readsAllMembers() bool {
	return p.Bool != nil || p.Enum != nil || p.Const != nil || p.MinProperties != nil || p.MaxProperties != nil ||
		len(p.PatternProperties) > 0 || p.UnevaluatedProperties != nil || len(p.Extensions) > 0
}

func (p *part) addNames(names map[string]bool) {
	need := func(name string, others []string) {
		names[name] = true
		for _, other := range others {
			names[other] = true
		}
	}
	for _, name := range p.Required {
		names[name] = true
	}
	for name := range maps.Keys(p.Properties) {
		names[name] = true
	}
	for name, others := range p.DependentRequired {
		need(name, others)
	}
	for name, dependency := range p.Dependencies {
		others, _ := dependency.([]string)
		need(name, others)
	}
	for name := range p.DependentSchemas {
		names[name] = true
	}
}
