package template

import (
	"maps"
	"slices"
	"text/template/parse"
)

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
		Message: "the result of " + function.Ident + " is not used, and it does not write into its arguments here",
		Hint:    "assign the result: {{ $merged := " + function.Ident + " … }}",
	}
}
