package render

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

// maxValueNesting is how deep objects and lists of values may nest that are checked.
const maxValueNesting = 200

// Instance is a set of configuration values in the form in which schemas see them. It is immutable
// and safe for concurrent use as long as nobody changes the values that it was made of.
type Instance struct {
	root map[string]any
	// source are the values as given, to show them as they were written.
	source map[string]any
	// values and bytes measure what there is to check: values and keys, and the text in them.
	values, bytes int
	// depth is how deep the values nest.
	depth int
	// faults are the values that JSON, and with it a schema, cannot express.
	faults []Violation
}

// NewInstance converts values for Schema.CheckInstance. Top-level strings that read as numbers
// become numbers, all other values are kept; keys that are no strings are written as strings.
// What needs no conversion is shared with the given values, not copied.
func NewInstance(values map[string]any) *Instance {
	in := &Instance{root: make(map[string]any, len(values)), source: values, values: 1}
	for key, value := range values {
		in.count(key)
		if text, isString := value.(string); isString {
			in.count(text)
			in.root[key] = topLevel(text)
			continue
		}
		converted, _ := in.convert(value, valuePath{key: key})
		in.root[key] = converted
	}
	in.faults = sortViolations(in.faults)
	return in
}

func (in *Instance) count(text string) {
	in.values++
	in.bytes += len(text)
}

// valuePath is where the conversion is: a list from the innermost key outwards.
type valuePath struct {
	up  *valuePath
	key string
}

func (p valuePath) keys() []string {
	var keys []string
	if p.up != nil {
		keys = p.up.keys()
	}
	return append(keys, p.key)
}

func (p valuePath) depth() int {
	n := 1
	for at := p.up; at != nil; at = at.up {
		n++
	}
	return n
}

// topLevel returns what a top-level string stands for: a number if strconv.Atoi or
// strconv.ParseFloat reads it as a finite one, hexadecimal included. Whole numbers stay exact.
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
	if digits := strings.TrimLeft(text, "+-"); strings.Trim(digits, "0123456789") == "" {
		return bigInteger(text, digits)
	}
	return f
}

// bigInteger writes a whole number beyond 64 bits as JSON does: no plus sign, no leading zeros.
func bigInteger(text, digits string) json.Number {
	digits = "0" + strings.TrimLeft(digits, "0")
	if len(digits) > 1 {
		digits = digits[1:]
	}
	if text[0] == '-' {
		digits = "-" + digits
	}
	return json.Number(digits)
}

// convert returns the value as JSON has it and whether it differs from the given one.
func (in *Instance) convert(value any, at valuePath) (converted any, changed bool) {
	in.values++
	switch value := value.(type) {
	case nil, bool, int, int64, uint64:
		return value, false
	case string:
		in.bytes += len(value)
		return value, false
	case float64:
		if math.IsInf(value, 0) || math.IsNaN(value) {
			return in.fault(at, fmt.Sprintf("must be a finite number, but is %v", value))
		}
		return value, false
	}
	depth := at.depth()
	if depth > maxValueNesting {
		return in.fault(at, fmt.Sprintf("nests deeper than %d levels", maxValueNesting))
	}
	in.depth = max(in.depth, depth)
	switch value := value.(type) {
	case []any:
		return in.convertList(value, at)
	case map[string]any:
		return in.convertMap(value, at)
	case map[any]any:
		return in.convertAnyMap(value, at)
	default:
		return in.fault(at, fmt.Sprintf("has the type %T, which JSON does not know", value))
	}
}

func (in *Instance) fault(at valuePath, message string) (any, bool) {
	in.faults = append(in.faults, Violation{Path: at.keys(), Message: message})
	return nil, true
}

func (in *Instance) convertList(list []any, at valuePath) (any, bool) {
	var copied []any
	for i, item := range list {
		converted, changed := in.convert(item, valuePath{&at, strconv.Itoa(i)})
		if changed && copied == nil {
			copied = slices.Clone(list)
		}
		if copied != nil {
			copied[i] = converted
		}
	}
	if copied == nil {
		return list, false
	}
	return copied, true
}

func (in *Instance) convertMap(members map[string]any, at valuePath) (any, bool) {
	var copied map[string]any
	for key, value := range members {
		in.count(key)
		converted, changed := in.convert(value, valuePath{&at, key})
		if !changed {
			continue
		}
		if copied == nil {
			copied = maps.Clone(members)
		}
		copied[key] = converted
	}
	if copied == nil {
		return members, false
	}
	return copied, true
}

func (in *Instance) convertAnyMap(members map[any]any, at valuePath) (any, bool) {
	copied := make(map[string]any, len(members))
	var others []any
	for key, value := range members {
		name, isString := key.(string)
		if !isString {
			others = append(others, key)
			continue
		}
		in.count(name)
		copied[name], _ = in.convert(value, valuePath{&at, name})
	}
	// The key 1 may stand beside the key "1": strings win, then the type that sorts first.
	slices.SortFunc(others, func(a, b any) int { return cmp.Compare(fmt.Sprintf("%T", a), fmt.Sprintf("%T", b)) })
	for _, key := range others {
		name := keyText(key)
		if _, taken := copied[name]; taken {
			continue
		}
		in.count(name)
		copied[name], _ = in.convert(members[key], valuePath{&at, name})
	}
	return copied, true
}

// keyText writes a key that is no string as JSON would.
func keyText(key any) string {
	if key == nil {
		return "null"
	}
	return fmt.Sprint(key)
}
