package render

import (
	"errors"
	"fmt"
	"reflect"
)

// lookFunctions are functions of text/template, written once more because its own cost nothing however
// long the texts are that they look at: a comparison of two megabytes in a loop would take minutes.
// What they do, and say, is exactly what text/template's do; a test compares them.
// https://github.com/golang/go/blob/master/src/text/template/funcs.go
func lookFunctions() []function {
	return []function{
		{name: "eq", with: comparing(equalsAny), free: true},
		{name: "ne", with: comparingTwo(func(a, b reflect.Value) (bool, error) { return not(equals(a, b)) }), free: true},
		{name: "lt", with: comparingTwo(less), free: true},
		{name: "le", with: comparingTwo(lessOrEqual), free: true},
		{name: "gt", with: comparingTwo(func(a, b reflect.Value) (bool, error) { return not(lessOrEqual(a, b)) }), free: true},
		{name: "ge", with: comparingTwo(func(a, b reflect.Value) (bool, error) { return not(less(a, b)) }), free: true},
		{name: "index", with: indexing, free: true},
	}
}

var (
	errBadComparison = errors.New("invalid type for comparison")
	errNoComparison  = errors.New("missing argument for comparison")
)

// comparing makes a comparison of one value with others, which pays for the texts.
func comparing(compare func(a reflect.Value, others []reflect.Value) (bool, error)) func(*run) any {
	return func(r *run) any {
		return func(a reflect.Value, others ...reflect.Value) (bool, error) {
			a = held(a)
			bytes := 0
			for i := range others {
				others[i] = held(others[i])
				bytes += min(textLength(a), textLength(others[i]))
			}
			if err := r.enter(bytes); err != nil {
				return false, err
			}
			return compare(a, others)
		}
	}
}

func comparingTwo(compare func(a, b reflect.Value) (bool, error)) func(*run) any {
	return func(r *run) any {
		return func(a, b reflect.Value) (bool, error) {
			a, b = held(a), held(b)
			if err := r.enter(min(textLength(a), textLength(b))); err != nil {
				return false, err
			}
			return compare(a, b)
		}
	}
}

// held returns what an interface holds.
func held(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

// textLength is the length of a text, 0 for anything else.
func textLength(v reflect.Value) int {
	if v.Kind() == reflect.String {
		return v.Len()
	}
	return 0
}

func not(truth bool, err error) (bool, error) { return err == nil && !truth, err }

// basicKind is what values of a kind are compared as; reflect.Invalid is none of these.
func basicKind(v reflect.Value) reflect.Kind {
	switch {
	case v.Kind() == reflect.Bool, v.Kind() == reflect.String:
		return v.Kind()
	case v.CanInt():
		return reflect.Int
	case v.CanUint():
		return reflect.Uint
	case v.CanFloat():
		return reflect.Float64
	case v.CanComplex():
		return reflect.Complex128
	default:
		return reflect.Invalid
	}
}

// equalsAny reports whether a value equals one of the others.
func equalsAny(a reflect.Value, others []reflect.Value) (bool, error) {
	if len(others) == 0 {
		return false, errNoComparison
	}
	for _, other := range others {
		if truth, err := equals(a, other); truth || err != nil {
			return truth, err
		}
	}
	return false, nil
}

func equals(a, b reflect.Value) (bool, error) {
	kind, other := basicKind(a), basicKind(b)
	switch {
	case kind == reflect.Int && other == reflect.Uint:
		return a.Int() >= 0 && uint64(a.Int()) == b.Uint(), nil
	case kind == reflect.Uint && other == reflect.Int:
		return b.Int() >= 0 && uint64(b.Int()) == a.Uint(), nil
	case kind != other && a.IsValid() && b.IsValid():
		return false, incompatible(a, b)
	case kind != other:
		return false, nil
	}
	switch kind {
	case reflect.Bool:
		return a.Bool() == b.Bool(), nil
	case reflect.Int:
		return a.Int() == b.Int(), nil
	case reflect.Uint:
		return a.Uint() == b.Uint(), nil
	case reflect.Float64:
		return a.Float() == b.Float(), nil
	case reflect.Complex128:
		return a.Complex() == b.Complex(), nil
	case reflect.String:
		return a.String() == b.String(), nil
	default:
		return sameThing(a, b)
	}
}

func incompatible(a, b reflect.Value) error {
	return fmt.Errorf("incompatible types for comparison: %v and %v", a.Type(), b.Type())
}

// sameThing compares what is neither text nor number nor truth.
func sameThing(a, b reflect.Value) (bool, error) {
	switch {
	case a.IsValid() && b.IsValid() && a.Kind() != b.Kind():
		return false, fmt.Errorf("non-comparable types %s: %v, %s: %v", a, a.Type(), b.Type(), b)
	case isNil(a) || isNil(b):
		return isNil(a) == isNil(b), nil
	case !b.Type().Comparable():
		return false, fmt.Errorf("non-comparable type %s: %v", b, b.Type())
	default:
		return a.Interface() == b.Interface(), nil
	}
}

// isNil reports whether a value is absent, or nil of its type.
func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice:
		return v.IsNil()
	default:
		return false
	}
}

func less(a, b reflect.Value) (bool, error) {
	kind, other := basicKind(a), basicKind(b)
	switch {
	case kind == reflect.Invalid || other == reflect.Invalid:
		return false, errBadComparison
	case kind == reflect.Int && other == reflect.Uint:
		return a.Int() < 0 || uint64(a.Int()) < b.Uint(), nil
	case kind == reflect.Uint && other == reflect.Int:
		return b.Int() >= 0 && a.Uint() < uint64(b.Int()), nil
	case kind != other:
		return false, incompatible(a, b)
	}
	switch kind {
	case reflect.Int:
		return a.Int() < b.Int(), nil
	case reflect.Uint:
		return a.Uint() < b.Uint(), nil
	case reflect.Float64:
		return a.Float() < b.Float(), nil
	case reflect.String:
		return a.String() < b.String(), nil
	default:
		return false, errBadComparison
	}
}

func lessOrEqual(a, b reflect.Value) (bool, error) {
	if truth, err := less(a, b); truth || err != nil {
		return truth, err
	}
	return equals(a, b)
}

// indexing makes the function that looks into maps and lists, which pays for the length of the keys.
func indexing(r *run) any {
	return func(item reflect.Value, indexes ...reflect.Value) (reflect.Value, error) {
		item = held(item)
		if !item.IsValid() {
			return reflect.Value{}, errors.New("index of untyped nil")
		}
		for _, index := range indexes {
			index = held(index)
			if err := r.enter(textLength(index)); err != nil {
				return reflect.Value{}, err
			}
			var err error
			if item, err = at(item, index); err != nil {
				return reflect.Value{}, err
			}
		}
		return item, nil
	}
}

// at returns what a map, list or text holds at an index.
func at(item, index reflect.Value) (reflect.Value, error) {
	for item.Kind() == reflect.Pointer || item.Kind() == reflect.Interface {
		if item.IsNil() {
			return reflect.Value{}, errors.New("index of nil pointer")
		}
		item = item.Elem()
	}
	switch item.Kind() {
	case reflect.Array, reflect.Slice, reflect.String:
		i, err := indexWithin(index, item.Len())
		if err != nil {
			return reflect.Value{}, err
		}
		return item.Index(i), nil
	case reflect.Map:
		key, err := asKey(index, item.Type().Key())
		if err != nil {
			return reflect.Value{}, err
		}
		if value := item.MapIndex(key); value.IsValid() {
			return value, nil
		}
		return reflect.Zero(item.Type().Elem()), nil
	default:
		return reflect.Value{}, fmt.Errorf("can't index item of type %s", item.Type())
	}
}

func indexWithin(index reflect.Value, length int) (int, error) {
	var i int64
	switch {
	case !index.IsValid():
		return 0, errors.New("cannot index slice/array with nil")
	case index.CanInt():
		i = index.Int()
	case index.CanUint():
		i = int64(index.Uint()) // what is beyond an int64 is out of range as it is
	default:
		return 0, fmt.Errorf("cannot index slice/array with type %s", index.Type())
	}
	if i < 0 || int(i) < 0 || int(i) >= length {
		return 0, fmt.Errorf("index out of range: %d", i)
	}
	return int(i), nil
}

// asKey turns an index into a key of a map.
func asKey(index reflect.Value, typ reflect.Type) (reflect.Value, error) {
	isInteger := func(t reflect.Type) bool { v := reflect.Zero(t); return v.CanInt() || v.CanUint() }
	switch {
	case !index.IsValid() && typ.Kind() == reflect.Interface:
		return reflect.Zero(typ), nil
	case !index.IsValid():
		return reflect.Value{}, fmt.Errorf("value is nil; should be of type %s", typ)
	case index.Type().AssignableTo(typ):
		return index, nil
	case isInteger(index.Type()) && isInteger(typ):
		return index.Convert(typ), nil
	default:
		return reflect.Value{}, fmt.Errorf("value has type %s; should be %s", index.Type(), typ)
	}
}
