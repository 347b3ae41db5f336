package template

import (
	"fmt"
	"math"
	"reflect"
	"slices"
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
				Message: "range over a map with keys of several types (numbers, bools, texts), which have no order",
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
			return nil, fmt.Errorf("a chunk of %d items holds nothing", size)
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
