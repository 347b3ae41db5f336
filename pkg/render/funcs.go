package render

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/Masterminds/sprig/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// function is one function that templates may call. All of them are pure: what they give depends on
// their arguments alone, on any machine, and they write into nothing.
type function struct {
	name string
	// implementation is a Go function as text/template wants it; nil for sprig's of the same name.
	implementation any
	// with makes the implementation for one run, if it needs that.
	with func(*run) any
	// free functions do the same small work whatever they get, but for texts among their arguments, which
	// they may read or copy. All others pay for the size of all their arguments and of their result.
	free bool
	// builds marks functions that put their arguments into a map or list without copying what is in
	// them. Such a value can be far larger in print than in memory, so it is weighed when it is made.
	builds bool
	// makes returns an upper bound of the bytes that the result will have; nil if that is no more than
	// a few times the arguments. It keeps the function from allocating what it may not return.
	makes func(arguments) int
	// works returns the bytes' worth of work beyond reading the arguments and making the result.
	works func(arguments) int

	// typ is the type of the implementation with an error as second result, and value its value. Both
	// are set by newCatalogue.
	typ   reflect.Type
	value reflect.Value
}

// builtins are the functions of text/template that are used as they are. They make nothing.
var builtins = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"and": true, "call": true, "len": true, "not": true, "or": true,
	}
})

// catalogue holds the functions that templates may call, by name.
var catalogue = sync.OnceValue(newCatalogue)

func newCatalogue() map[string]*function {
	known := sprig.TxtFuncMap()
	all := make(map[string]*function)
	for _, group := range [][]function{
		ownFunctions(), lookFunctions(), printFunctions(), textFunctions(), numberFunctions(), listFunctions(known),
		mapFunctions(known), choiceFunctions(), jsonFunctions(), regexFunctions(),
	} {
		for _, f := range group {
			if f.implementation == nil && f.with == nil {
				f.implementation = known[f.name]
			}
			f.prepare()
			all[f.name] = &f
		}
	}
	return all
}

// named makes functions that are sprig's own and pay for what they read and make.
func named(names ...string) []function {
	functions := make([]function, len(names))
	for i, name := range names {
		functions[i].name = name
	}
	return functions
}

func ownFunctions() []function {
	return []function{
		{name: "toYaml", implementation: yamlText, works: writingYAML},
		{name: "stringify", implementation: stringifiedYAML, works: writingYAML},
		{name: "hash", implementation: hashText, works: timesOver(2)},
		{name: "unquote", implementation: unquote},
	}
}

// writingYAML is the work of setting up the YAML library, and of what it does with each value, which
// grows with the depth that the value lies in.
func writingYAML(a arguments) int {
	return plus(8*bytesPerStep, times(a.weights[0], 4+a.depths[0]/4))
}

// timesOver makes the work of functions that go over all they get so many more times than once, or do
// so much more with it than reading.
func timesOver(n int) func(arguments) int {
	return func(a arguments) int {
		sum := 0
		for _, w := range a.weights {
			sum = plus(sum, times(n, w))
		}
		return sum
	}
}

// functionNames returns the names of all functions that templates may call, sorted.
func functionNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(builtins())), maps.Keys(catalogue()))
	slices.Sort(names)
	return names
}

// lookUpFunction returns the function of a name, nil for one that text/template brings.
func lookUpFunction(name string) (*function, *ExecError) {
	if f, ok := catalogue()[name]; ok {
		return f, nil
	}
	if builtins()[name] {
		return nil, nil
	}
	if why, ok := forbiddenFunctions()[name]; ok {
		return nil, &ExecError{
			Rule:    ruleForbiddenFunction,
			Message: fmt.Sprintf("function %q is not allowed: %s", name, why.reason),
			Hint:    why.hint,
		}
	}
	hint := helmHint(name)
	if hint == "" {
		hint = diag.DidYouMean(name, functionNames())
	}
	return nil, &ExecError{
		Rule:    ruleUnknownFunction,
		Message: fmt.Sprintf("function %q is not known", name),
		Hint:    hint,
	}
}

var errorType = reflect.TypeFor[error]()

func (f *function) prepare() {
	if f.implementation == nil {
		return
	}
	f.value = reflect.ValueOf(f.implementation)
	f.typ = counted(f.value.Type())
}

// counted returns the function type with an error as its second result.
func counted(t reflect.Type) reflect.Type {
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	return reflect.FuncOf(in, []reflect.Type{t.Out(0), errorType}, t.IsVariadic())
}

// bind returns the function for one run: it pays there for what it does.
func (f *function) bind(r *run) any {
	value, typ := f.value, f.typ
	if f.with != nil {
		value = reflect.ValueOf(f.with(r))
		typ = counted(value.Type())
	}
	if f.free && f.with != nil {
		return value.Interface()
	}
	call := r.call
	if f.free {
		call = r.callFree
	}
	return reflect.MakeFunc(typ, func(in []reflect.Value) []reflect.Value {
		result, err := call(f, value, in)
		if err != nil {
			return []reflect.Value{reflect.Zero(typ.Out(0)), reflect.ValueOf(&err).Elem()}
		}
		return []reflect.Value{result, reflect.Zero(errorType)}
	}).Interface()
}

// call calls a function within the bounds of the run.
func (r *run) call(f *function, value reflect.Value, in []reflect.Value) (reflect.Value, error) {
	if err := r.payArguments(f, in, value.Type().IsVariadic()); err != nil {
		return reflect.Value{}, err
	}
	result, err := called(value, in)
	if err != nil {
		return reflect.Value{}, err
	}
	return result, r.payResult(f, result)
}

// callFree calls a function that pays for nothing but the texts among its arguments.
func (r *run) callFree(_ *function, value reflect.Value, in []reflect.Value) (reflect.Value, error) {
	bytes := 0
	for _, argument := range in {
		bytes += textLength(held(argument))
		if argument.Kind() == reflect.Slice && value.Type().IsVariadic() {
			for i := range argument.Len() {
				bytes += textLength(held(argument.Index(i)))
			}
		}
	}
	if err := r.enter(bytes); err != nil {
		return reflect.Value{}, err
	}
	return called(value, in)
}

func called(value reflect.Value, in []reflect.Value) (reflect.Value, error) {
	var out []reflect.Value
	if value.Type().IsVariadic() {
		out = value.CallSlice(in)
	} else {
		out = value.Call(in)
	}
	if len(out) == 2 && !out[1].IsNil() {
		return reflect.Value{}, out[1].Interface().(error) // text/template allows no other second result
	}
	return out[0], nil
}

func (r *run) payArguments(f *function, in []reflect.Value, variadic bool) error {
	given := flatten(in, variadic)
	visited, bytes := r.visited, 0
	for i, argument := range given.values {
		if f.builds && isAddress(argument) {
			return fmt.Errorf("a %T cannot be held by a list or map", argument.Interface())
		}
		w := r.weighArgument(argument)
		given.weights[i], given.depths[i] = w.bytes, w.depth
		bytes = plus(bytes, w.bytes)
		if f.builds && w.depth > 0 {
			r.remember(argument.Interface(), w)
		}
	}
	if f.builds {
		bytes = times(r.visited-visited, nodeWeight)
	}
	if f.works != nil {
		bytes = plus(bytes, f.works(given))
	}
	if err := r.enter(bytes); err != nil || f.makes == nil {
		return err
	}
	return r.admit(f.name, f.makes(given))
}

// isAddress tells what fmt prints as an address once it is inside of something else.
func isAddress(v reflect.Value) bool {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Chan, reflect.Func, reflect.Pointer, reflect.UnsafePointer:
		return true
	default:
		return false
	}
}

func (r *run) payResult(f *function, result reflect.Value) error {
	visited := r.visited
	w := r.weighArgument(result)
	if err := r.admit(f.name, w.bytes-nodeWeight); err != nil {
		return err
	}
	if w.depth > maxValueDepth {
		return &ExecError{
			Rule:    ruleTooLarge,
			Message: fmt.Sprintf("%s makes a value that is nested more than %d deep", f.name, maxValueDepth),
		}
	}
	if !f.builds {
		return r.handle(w.bytes)
	}
	if w.depth > 0 {
		r.remember(result.Interface(), w)
	}
	return r.handle(plus(buildingWork, times(r.visited-visited, nodeWeight)))
}

// buildingWork is that of making a map or list, and of remembering its weight.
const buildingWork = 4 * bytesPerStep

func (r *run) weighArgument(v reflect.Value) weight {
	if v.Kind() == reflect.String {
		return weight{bytes: nodeWeight + v.Len()}
	}
	if !v.IsValid() || !v.CanInterface() {
		return weight{bytes: nodeWeight}
	}
	return r.weigh(v.Interface())
}

// arguments are what a function was called with, the variadic ones one by one.
type arguments struct {
	values []reflect.Value
	// weights says how large each of them is, depths how deep maps and lists nest in it.
	weights, depths []int
}

func flatten(in []reflect.Value, variadic bool) arguments {
	if !variadic {
		return weighed(in)
	}
	last := in[len(in)-1]
	all := append(make([]reflect.Value, 0, len(in)-1+last.Len()), in[:len(in)-1]...)
	for i := range last.Len() {
		all = append(all, last.Index(i))
	}
	return weighed(all)
}

// weighed makes room for the weights of values.
func weighed(values []reflect.Value) arguments {
	room := make([]int, 2*len(values))
	return arguments{values: values, weights: room[:len(values)], depths: room[len(values):]}
}

// text returns a string argument, "" for anything else.
func (a arguments) text(i int) string {
	if v := concrete(a.values[i]); v.Kind() == reflect.String {
		return v.String()
	}
	return ""
}

// number returns an integer argument, 0 for anything else.
func (a arguments) number(i int) int {
	if v := concrete(a.values[i]); v.CanInt() {
		return int(v.Int())
	}
	return 0
}

// length returns the length of a list or map, 0 for anything else.
func (a arguments) length(i int) int {
	switch v := concrete(a.values[i]); v.Kind() {
	case reflect.Array, reflect.Slice, reflect.Map:
		return v.Len()
	default:
		return 0
	}
}
