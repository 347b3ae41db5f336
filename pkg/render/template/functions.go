package template

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/Masterminds/sprig/v3"
	"github.com/mitchellh/hashstructure"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// function is one function that templates may call. All of them are pure: what they give depends on
// their arguments alone, on any machine, and they write into nothing.
type function struct {
	guard
	name string
	// value is the implementation, typ its type with an error as second result.
	value reflect.Value
	typ   reflect.Type
	// hidden makes the implementation of a function that no template can name. It costs nothing by itself.
	hidden func(*meter) any
}

// guard says what a function costs and how much it can make. A zero guard pays for the size of all
// arguments and of the result.
type guard struct {
	// looks marks functions that do the same small work whatever they get, but for texts among their
	// arguments, which they may read or copy.
	looks bool
	// builds marks functions that put their arguments into a map or list without copying what is in
	// them. Such a value can be far larger in print than in memory, so it is measured when it is made.
	builds bool
	// cost is how often the arguments are gone through, or how much more is done with them than reading;
	// 0 stands for 1.
	cost float64
	// works returns the bytes' worth of work beyond that.
	works func(arguments) float64
	// makes returns an upper bound of the bytes that the result will have; nil if that is no more than
	// a few times the arguments. It keeps the function from allocating what it may not return.
	makes func(arguments) float64
}

// builtins are the functions of text/template that are used as they are. They make nothing.
var builtins = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"and": true, "call": true, "eq": true, "ge": true, "gt": true, "index": true, "le": true, "len": true,
		"lt": true, "ne": true, "not": true, "or": true,
	}
})

// catalogue holds the functions that templates may call, by name.
var catalogue = sync.OnceValue(newCatalogue)

func newCatalogue() map[string]*function {
	implementations := sprig.TxtFuncMap()
	replaceFunctions(implementations)
	all := make(map[string]*function)
	guarded := func(g guard, names string) {
		for _, name := range strings.Fields(names) {
			value := reflect.ValueOf(implementations[name])
			all[name] = &function{guard: g, name: name, value: value, typ: withError(value.Type())}
		}
	}
	guarded(guard{looks: true}, `add add1 add1f addf all any atoi biggest ceil coalesce default dig div divf duration
		durationRound empty first float64 floor get hasKey hello int int64 kindIs kindOf last max maxf min minf mod mul
		mulf mustFirst mustLast plural round sub subf ternary typeIs typeIsLike typeOf`)
	guarded(guard{builds: true}, `append chunk compact concat dict initial list mustAppend mustChunk mustCompact
		mustInitial mustPrepend mustPush mustRest mustReverse mustSlice omit pick pluck prepend push rest reverse slice
		tuple values`)
	guarded(guard{}, `abbrev abbrevboth adler32sum b32dec b32enc b64dec b64enc base camelcase cat clean contains
		deepEqual dir ext fail fromJson has hasPrefix hasSuffix html initials isAbs js kebabcase keys lower mustFromJson
		mustHas mustToJson mustToPrettyJson mustToRawJson nospace print println quote regexQuoteMeta sha1sum sha256sum
		sha512sum snakecase squote substr swapcase title toDecimal toJson toPrettyJson toRawJson toString toStrings trim
		trimAll trimPrefix trimSuffix trimall trunc unquote untitle upper urlJoin urlParse urlquery`)
	guarded(guard{cost: 3}, `deepCopy hash merge mergeOverwrite mustDeepCopy mustMerge mustMergeOverwrite sortAlpha`)
	guarded(guard{cost: 4}, "stringify toYaml")
	guarded(guard{cost: 60}, "semver semverCompare") // both read versions with regular expressions
	guarded(guard{builds: true, works: eachWithEach}, "mustUniq uniq")
	guarded(guard{builds: true, works: eachWithOmitted}, "mustWithout without")
	guarded(guard{works: matching}, "mustRegexFind mustRegexFindAll mustRegexMatch mustRegexSplit regexFind regexFindAll regexMatch regexSplit")
	guarded(guard{works: matching, makes: replacedMatches},
		"mustRegexReplaceAll mustRegexReplaceAllLiteral regexReplaceAll regexReplaceAllLiteral")
	guarded(guard{makes: indentedSize}, "indent nindent")
	guarded(guard{makes: joinedSize}, "join")
	guarded(guard{makes: formattedSize}, "printf")
	guarded(guard{makes: repeatedSize}, "repeat")
	guarded(guard{makes: replacedSize}, "replace")
	guarded(guard{makes: sequenceSize}, "seq until")
	guarded(guard{makes: untilStepSize}, "untilStep")
	guarded(guard{makes: splitSize}, "split splitList splitn")
	guarded(guard{makes: wrappedSize}, "wrap wrapWith")
	return all
}

// replaceFunctions adds our own functions to those of sprig, and puts some in the place of sprig's.
func replaceFunctions(all map[string]any) {
	maps.Copy(all, map[string]any{"toYaml": yamltext.ToYAML, "stringify": yamltext.Stringify, "hash": hashText})
	maps.Copy(all, textFunctions())
	maps.Copy(all, printFunctions())
	maps.Copy(all, jsonFunctions())
	maps.Copy(all, numberFunctions())
	maps.Copy(all, listFunctions(all))
	maps.Copy(all, mapFunctions(all))
	for _, name := range []string{"Find", "FindAll", "ReplaceAll", "ReplaceAllLiteral", "Split"} {
		all["regex"+name] = all["mustRegex"+name] // sprig's regexFind panics on what is no expression
	}
}

// functionNames returns the names of all functions that templates may call, sorted.
func functionNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(builtins())), maps.Keys(catalogue()))
	slices.Sort(names)
	return names
}

// lookUpFunction returns the function of a name, nil for a built-in function of text/template.
func lookUpFunction(name string) (*function, *Error) {
	if f, ok := catalogue()[name]; ok {
		return f, nil
	}
	if builtins()[name] {
		return nil, nil
	}
	if why, ok := forbiddenFunctions()[name]; ok {
		return nil, &Error{
			Rule:    ruleForbiddenFunction,
			Message: fmt.Sprintf("function %q is not allowed: %s", name, why.reason),
			Hint:    why.hint,
		}
	}
	hint := helmHint(name)
	if hint == "" {
		hint = diag.DidYouMean(name, functionNames())
	}
	return nil, &Error{
		Rule:    ruleUnknownFunction,
		Message: fmt.Sprintf("unknown function %q", name),
		Hint:    hint,
	}
}

var errorType = reflect.TypeFor[error]()

// withError returns the function type with an error as its second result.
func withError(t reflect.Type) reflect.Type {
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	return reflect.FuncOf(in, []reflect.Type{t.Out(0), errorType}, t.IsVariadic())
}

// bind returns the function for one execution: it pays there for what it does.
func (f *function) bind(m *meter) any {
	if f.hidden != nil {
		return f.hidden(m)
	}
	return reflect.MakeFunc(f.typ, func(in []reflect.Value) []reflect.Value {
		result, err := m.call(f, in)
		if err != nil {
			return []reflect.Value{reflect.Zero(f.typ.Out(0)), reflect.ValueOf(&err).Elem()}
		}
		return []reflect.Value{result, reflect.Zero(errorType)}
	}).Interface()
}

// call calls a function within the bounds of the run.
func (m *meter) call(f *function, in []reflect.Value) (reflect.Value, error) {
	if err := m.payArguments(f, in); err != nil {
		return reflect.Value{}, err
	}
	call := f.value.Call
	if f.typ.IsVariadic() {
		call = f.value.CallSlice
	}
	out := call(in)
	if len(out) == 2 && !out[1].IsNil() {
		return reflect.Value{}, out[1].Interface().(error) // text/template allows no other second result
	}
	if f.looks {
		return out[0], nil
	}
	return out[0], m.payResult(f, out[0])
}

func (m *meter) payArguments(f *function, in []reflect.Value) error {
	given, err := m.arguments(f, in)
	if err != nil {
		return err
	}
	bytes := 0.0
	for _, a := range given {
		bytes += a.bytes
	}
	bytes *= max(f.cost, 1)
	if f.works != nil {
		bytes += f.works(given)
	}
	if err := m.handle(bytesPerStep + bytes); err != nil || f.makes == nil {
		return err
	}
	return m.admit(f.name, f.makes(given))
}

// arguments measures what a function is called with, as far as it looks at it.
func (m *meter) arguments(f *function, in []reflect.Value) (arguments, error) {
	if last := len(in) - 1; f.typ.IsVariadic() {
		more := in[last]
		in = slices.Clone(in[:last])
		for i := range more.Len() {
			in = append(in, more.Index(i))
		}
	}
	affordable := float64(m.bounds.Steps-m.steps) * bytesPerStep
	given := make(arguments, len(in))
	for i, v := range in {
		v = concrete(v)
		given[i].Value = v
		switch {
		case f.builds && isAddress(in[i]):
			return nil, fmt.Errorf("a list or map cannot contain a %T", in[i].Interface())
		case f.looks:
			given[i].bytes = float64(len(given[i].text()))
		case f.builds:
			given[i].bytes = float64(len(given[i].text()) + nodeWeight*given[i].length())
		default:
			given[i].size = measure(v, affordable)
		}
	}
	return given, nil
}

// isAddress reports whether fmt prints a value as an address once it is inside of something else.
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

// bytesPerBuiltNode is what it costs to go through the result of a function that builds.
const bytesPerBuiltNode = 2

func (m *meter) payResult(f *function, result reflect.Value) error {
	made := measure(result, float64(m.bounds.Bytes+nodeWeight))
	if err := m.admit(f.name, made.bytes-nodeWeight); err != nil {
		return err
	}
	if made.depth > maxValueDepth {
		return &Error{
			Rule:    ruleTooLarge,
			Message: fmt.Sprintf("%s returns a value nested more than %d levels deep", f.name, maxValueDepth),
		}
	}
	if f.builds {
		return m.handle(bytesPerBuiltNode * made.nodes)
	}
	return m.handle(made.bytes)
}

// arguments are what a function was called with, the variadic ones one by one.
type arguments []argument

type argument struct {
	reflect.Value
	size
}

// text returns a string argument, "" for anything else.
func (a argument) text() string {
	if a.Kind() == reflect.String {
		return a.String()
	}
	return ""
}

// number returns an integer argument, 0 for anything else.
func (a argument) number() float64 {
	if a.CanInt() {
		return float64(a.Int())
	}
	return 0
}

// length returns the length of a list or map, 0 for anything else.
func (a argument) length() int {
	switch a.Kind() {
	case reflect.Array, reflect.Slice, reflect.Map:
		return a.Len()
	default:
		return 0
	}
}

// concrete returns what interfaces and pointers lead to.
func concrete(value reflect.Value) reflect.Value {
	for value.Kind() == reflect.Interface || value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	return value
}

// hashText is the template function hash: hashstructure's hash of a value, decimal. Fleets have it in
// the names of objects, so it must never change.
func hashText(v any) (string, error) {
	hash, err := hashstructure.Hash(v, nil)
	if err != nil {
		return "", err
	}
	return strconv.FormatUint(hash, 10), nil
}
