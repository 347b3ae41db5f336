package template

import (
	"errors"
	"math"
	"reflect"
	"strconv"
)

// numberFunctions are sprig's functions on numbers. The in-cluster operator has sprig 2.22, which
// reads "010" as ten and "5.5" as no integer; sprig 3 reads them as eight and as five. What reads
// numbers the old way is therefore written here.
func numberFunctions() map[string]any {
	return map[string]any{
		"int":   func(v any) int { return int(integerOf(v)) },
		"int64": integerOf,
		"add":   func(values ...any) int64 { return foldIntegers(0, values, func(a, b int64) int64 { return a + b }) },
		"add1":  func(v any) int64 { return integerOf(v) + 1 },
		"sub":   func(a, b any) int64 { return integerOf(a) - integerOf(b) },
		"mul": func(a any, values ...any) int64 {
			return foldIntegers(integerOf(a), values, func(a, b int64) int64 { return a * b })
		},
		"div":     quotient,
		"mod":     remainder,
		"max":     largest,
		"biggest": largest,
		"min": func(a any, values ...any) int64 {
			return foldIntegers(integerOf(a), values, func(a, b int64) int64 { return min(a, b) })
		},
	}
}

// integerOf reads any value as an integer; what is none is 0.
func integerOf(v any) int64 {
	value := reflect.Indirect(reflect.ValueOf(v))
	switch {
	case !value.IsValid():
		return 0
	case value.Kind() == reflect.String:
		n, err := strconv.ParseInt(value.String(), 10, 64)
		if err != nil {
			return 0
		}
		return n
	case value.CanInt():
		return value.Int()
	case value.CanUint():
		return int64(min(value.Uint(), math.MaxInt64)) // within range now
	case value.CanFloat():
		return truncated(value.Float())
	case value.Kind() == reflect.Bool && value.Bool():
		return 1
	default:
		return 0
	}
}

// truncated turns a float into an integer. Go leaves it to the processor what becomes of one that is
// too large or no number; this is what amd64 does.
func truncated(f float64) int64 {
	if f >= math.MinInt64 && f < math.MaxInt64 {
		return int64(f)
	}
	return math.MinInt64
}

func foldIntegers(start int64, values []any, fold func(a, b int64) int64) int64 {
	for _, v := range values {
		start = fold(start, integerOf(v))
	}
	return start
}

func largest(a any, values ...any) int64 {
	return foldIntegers(integerOf(a), values, func(a, b int64) int64 { return max(a, b) })
}

var errDivisionByZero = errors.New("division by zero")

func quotient(a, b any) (int64, error) {
	divisor := integerOf(b)
	if divisor == 0 {
		return 0, errDivisionByZero
	}
	return integerOf(a) / divisor, nil
}

func remainder(a, b any) (int64, error) {
	divisor := integerOf(b)
	if divisor == 0 {
		return 0, errDivisionByZero
	}
	return integerOf(a) % divisor, nil
}

// listSize is what the integers from start until stop take as a list.
func listSize(start, stop, step float64) float64 {
	switch {
	case step == 0:
		return 0
	case math.Abs(stop)+math.Abs(step) >= math.MaxInt64:
		return math.Inf(1) // sprig's loop would step over its end, and begin again at the other end of the integers
	default:
		return nodeWeight * (1 + math.Abs((stop-start)/step))
	}
}

func untilStepSize(a arguments) float64 { return listSize(a[0].number(), a[1].number(), a[2].number()) }

// sequenceSize is what until and seq take on their way to a list or text: (stop), (start, stop) or (start, step, stop).
func sequenceSize(a arguments) float64 {
	switch last := len(a) - 1; last {
	case -1:
		return 0
	case 0:
		return listSize(0, a[last].number(), 1)
	case 1:
		return listSize(a[0].number(), a[last].number(), 1)
	default:
		return listSize(a[0].number(), a[last].number(), a[1].number())
	}
}
