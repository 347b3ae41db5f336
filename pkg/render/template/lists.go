package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// rangeFunction is the hidden function that every range passes its value through.
const rangeFunction = "kalypsoRange"

// rangeCheck pays for the sorting that a range over a map begins with, and refuses a map whose order
// text/template takes from the addresses of Go's types: that of keys of several types.
var rangeCheck = &function{hidden: func(m *meter) any {
	return func(v any) (any, error) {
		mixed, ok := v.(map[any]any)
		if ok && mixedKeys(mixed) {
			return nil, &Error{
				Rule:    ruleFailed,
				Message: "range over a map with keys of several types (numbers, booleans, strings), which have no order",
				Hint:    "quote the keys of the map",
			}
		}
		if value := reflect.ValueOf(v); value.Kind() == reflect.Map {
			return v, m.handle(float64(nodeWeight * value.Len()))
		}
		return v, nil
	}
}}

func mixedKeys(m map[any]any) bool {
	var first reflect.Type
	for key := range m {
		switch t := reflect.TypeOf(key); {
		case first == nil:
			first = t
		case first != t:
			return true
		}
	}
	return false
}

// listFunctions are the functions on lists that do something else than sprig's.
func listFunctions(known map[string]any) map[string]any {
	texts := known["toStrings"].(func(any) []string)               // a test calls it
	textOf := known["toString"].(func(any) string)                 // a test calls it
	chunks := known["mustChunk"].(func(int, any) ([][]any, error)) // a test calls it
	slice := known["mustSlice"].(func(any, ...any) (any, error))   // a test calls it
	chunked := func(size int, list any) ([][]any, error) {
		if size < 1 {
			return nil, fmt.Errorf("chunk size %d is not above 0", size)
		}
		return chunks(size, list)
	}
	// sprig's sortAlpha sorts a list of strings where it is.
	sorted := func(list any) []string {
		if kind := reflect.Indirect(reflect.ValueOf(list)).Kind(); kind != reflect.Slice && kind != reflect.Array {
			return []string{textOf(list)}
		}
		return slices.Sorted(slices.Values(texts(list)))
	}
	// sprig 3 reads the indices of a slice as it reads numbers; see numberFunctions.
	sliced := func(list any, indices ...any) (any, error) {
		for i := range indices {
			indices[i] = integerOf(indices[i])
		}
		return slice(list, indices...)
	}
	return map[string]any{"chunk": chunked, "mustChunk": chunked, "slice": sliced, "mustSlice": sliced, "sortAlpha": sorted}
}

// eachWithEach is the work of comparing every item with every other.
func eachWithEach(a arguments) float64 {
	return measure(a[0].Value, math.Inf(1)).bytes * float64(a[0].length())
}

func eachWithOmitted(a arguments) float64 {
	return measure(a[0].Value, math.Inf(1)).bytes * float64(len(a)-1)
}

// mapFunctions are the functions on maps that do something else than sprig's: sprig gives keys and values
// in a random order, and merges into the first map.
func mapFunctions(known map[string]any) map[string]any {
	copyOf := known["mustDeepCopy"].(func(any) (any, error)) // a test calls it
	merging := func(name string) any {
		merge := known[name].(func(map[string]any, ...map[string]any) (any, error)) // a test calls it
		return mergingCopies(merge, copyOf)
	}
	return map[string]any{
		"keys": sortedKeys, "values": valuesByKey,
		"merge": merging("mustMerge"), "mustMerge": merging("mustMerge"),
		"mergeOverwrite": merging("mustMergeOverwrite"), "mustMergeOverwrite": merging("mustMergeOverwrite"),
	}
}

// sortedKeys returns the keys of the maps in order, one map after the other.
func sortedKeys(all ...map[string]any) []string {
	keys := []string{}
	for _, m := range all {
		keys = append(keys, slices.Sorted(maps.Keys(m))...)
	}
	return keys
}

// valuesByKey returns the values of a map in the order of its keys.
func valuesByKey(m map[string]any) []any {
	values := make([]any, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		values = append(values, m[key])
	}
	return values
}

// mergingCopies keeps a merge from writing into its arguments: sprig's writes into the first and puts
// pieces of the others into it.
func mergingCopies(
	merge func(map[string]any, ...map[string]any) (any, error), copyOf func(any) (any, error),
) func(map[string]any, ...map[string]any) (any, error) {
	return func(into map[string]any, from ...map[string]any) (any, error) {
		copies := []map[string]any{}
		for _, m := range append([]map[string]any{into}, from...) {
			copied := map[string]any{}
			if m != nil {
				c, err := copyOf(m)
				if err != nil {
					return nil, err
				}
				copied = c.(map[string]any) // a copy has the type of what was copied
			}
			copies = append(copies, copied)
		}
		return merge(copies[0], copies[1:]...)
	}
}

// discardedMerge refuses `{{ $_ := merge $a $b }}`, which elsewhere is written for what it does to $a.
func discardedMerge(pipe *parse.PipeNode) *Error {
	if len(pipe.Decl) != 1 || pipe.Decl[0].Ident[0] != "$_" {
		return nil
	}
	last := pipe.Cmds[len(pipe.Cmds)-1].Args[0]
	function, ok := last.(*parse.IdentifierNode)
	if !ok || !slices.Contains([]string{"merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"}, function.Ident) {
		return nil
	}
	return &Error{
		Rule:    ruleForbiddenFunction,
		Message: "the result of " + function.Ident + " is not used, and it does not modify its arguments here",
		Hint:    "assign the result: {{ $merged := " + function.Ident + " … }}",
	}
}

// jsonFunctions are sprig's functions on JSON. sprig's toJson gives "" for what it cannot write, such
// as the maps with keys of any type that YAML makes; here these are written, and the rest is an error.
func jsonFunctions() map[string]any {
	plain := func(v any) (string, error) { return jsonText(v, true, "") }
	pretty := func(v any) (string, error) { return jsonText(v, true, "  ") }
	raw := func(v any) (string, error) { return jsonText(v, false, "") }
	return map[string]any{
		"toJson": plain, "mustToJson": plain,
		"toPrettyJson": pretty, "mustToPrettyJson": pretty,
		"toRawJson": raw, "mustToRawJson": raw,
	}
}

func jsonText(v any, escapeHTML bool, indent string) (string, error) {
	v, err := withTextKeys(v)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// withTextKeys returns the value with all its maps keyed by text, as JSON wants them.
func withTextKeys(v any) (any, error) {
	value := reflect.ValueOf(v)
	switch kind := value.Kind(); {
	case kind == reflect.Map && !value.IsNil():
		copied := make(map[string]any, value.Len())
		for entry := value.MapRange(); entry.Next(); {
			name := fmt.Sprint(entry.Key().Interface())
			if _, twice := copied[name]; twice {
				return nil, fmt.Errorf("duplicate key %q, once as a string and once as a number or boolean", name)
			}
			member, err := withTextKeys(entry.Value().Interface())
			if err != nil {
				return nil, err
			}
			copied[name] = member
		}
		return copied, nil
	case kind == reflect.Slice && !value.IsNil():
		copied := make([]any, value.Len())
		for i := range copied {
			item, err := withTextKeys(value.Index(i).Interface())
			if err != nil {
				return nil, err
			}
			copied[i] = item
		}
		return copied, nil
	default:
		return v, nil
	}
}
