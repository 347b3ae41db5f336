package render

import (
	"fmt"
	"reflect"
	"slices"
)

// rangeFunction is the hidden function that every range passes its value through.
const rangeFunction = "kalypsoRange"

// rangeCheck pays for the sorting that a range over a map begins with, and refuses a map whose order
// text/template takes from the addresses of Go's types: that of keys of several types.
var rangeCheck = prepared(function{name: "range", with: func(r *run) any {
	return func(v any) (any, error) {
		m, ok := v.(map[any]any)
		if ok && mixedKeys(m) {
			return nil, &ExecError{
				Rule:    ruleFailed,
				Message: "range over a map with keys of several types (numbers, bools, texts), which have no order",
				Hint:    "quote the keys of the map",
			}
		}
		if value := reflect.ValueOf(v); value.Kind() == reflect.Map {
			return v, r.handle(times(value.Len(), bytesPerStep/8))
		}
		return v, nil
	}
}, free: true})

func prepared(f function) *function {
	f.prepare()
	return &f
}

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

// listFunctions are sprig's functions on lists. None of them writes into the list that it gets.
func listFunctions(known map[string]any) []function {
	texts := known["toStrings"].(func(any) []string)               // a test calls it
	textOf := known["toString"].(func(any) string)                 // a test calls it
	chunks := known["mustChunk"].(func(int, any) ([][]any, error)) // a test calls it
	slice := known["mustSlice"].(func(any, ...any) (any, error))   // a test calls it
	chunked := func(size int, list any) ([][]any, error) {
		if size < 1 {
			return nil, fmt.Errorf("a chunk of %d items holds nothing", size)
		}
		return chunks(size, list)
	}
	// sprig's sortAlpha sorts a list of strings where it is.
	sorted := func(list any) []string {
		if kind := reflect.Indirect(reflect.ValueOf(list)).Kind(); kind != reflect.Slice && kind != reflect.Array {
			return []string{textOf(list)}
		}
		sorted := slices.Clone(texts(list))
		slices.Sort(sorted)
		return sorted
	}
	// sprig 3 reads the indices of a slice as it reads numbers; see numberFunctions.
	sliced := func(list any, indices ...any) (any, error) {
		for i := range indices {
			indices[i] = integerOf(indices[i])
		}
		return slice(list, indices...)
	}
	functions := []function{
		{name: "slice", implementation: sliced, builds: true},
		{name: "mustSlice", implementation: sliced, builds: true},
		{name: "chunk", implementation: chunked, builds: true},
		{name: "mustChunk", implementation: chunked, builds: true},
		{name: "sortAlpha", implementation: sorted, works: timesOver(2)},
		{name: "has"},
		{name: "mustHas"},
		{name: "first", free: true},
		{name: "mustFirst", free: true},
		{name: "last", free: true},
		{name: "mustLast", free: true},
		{name: "uniq", builds: true, works: eachWithEach},
		{name: "mustUniq", builds: true, works: eachWithEach},
		{name: "without", builds: true, works: eachWithOmitted},
		{name: "mustWithout", builds: true, works: eachWithOmitted},
	}
	for _, name := range []string{
		"append", "compact", "concat", "initial", "list", "mustAppend", "mustCompact", "mustInitial",
		"mustPrepend", "mustPush", "mustRest", "mustReverse", "prepend", "push", "rest", "reverse",
		"tuple",
	} {
		functions = append(functions, function{name: name, builds: true})
	}
	return functions
}

// eachWithEach is the work of comparing every item with every other.
func eachWithEach(a arguments) int { return times(a.weights[0], a.length(0)) }

func eachWithOmitted(a arguments) int { return times(a.weights[0], len(a.values)-1) }
