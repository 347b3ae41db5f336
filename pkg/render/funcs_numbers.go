package render

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// numberFunctions are sprig's functions on numbers. The in-cluster operator has sprig 2.22, which
// reads "010" as ten and "5.5" as no integer; sprig 3 reads them as eight and as five. What reads
// numbers the old way is therefore written here.
func numberFunctions() []function {
	return slices.Concat(
		freely(map[string]any{
			"int":     func(v any) int { return int(integerOf(v)) },
			"int64":   integerOf,
			"float64": floatOf,
			"add":     func(values ...any) int64 { return foldIntegers(0, values, func(a, b int64) int64 { return a + b }) },
			"add1":    func(v any) int64 { return integerOf(v) + 1 },
			"sub":     func(a, b any) int64 { return integerOf(a) - integerOf(b) },
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
			"ceil":  func(v any) float64 { return math.Ceil(floatOf(v)) },
			"floor": func(v any) float64 { return math.Floor(floatOf(v)) },
			"round": rounded,
		}),
		freely(map[string]any{
			"atoi": nil, "add1f": nil, "addf": nil, "subf": nil, "divf": nil, "mulf": nil, "maxf": nil, "minf": nil,
			"duration": nil, "durationRound": nil,
		}),
		named("toDecimal"),
		[]function{
			{name: "until", makes: func(a arguments) int {
				return sequenceSize(0, a.number(0), 1)
			}},
			{name: "untilStep", makes: func(a arguments) int {
				return sequenceSize(a.number(0), a.number(1), a.number(2))
			}},
			{name: "seq", makes: seqSize},
		},
	)
}

// freely makes functions whose work does not depend on what they get; nil stands for sprig's own.
func freely(implementations map[string]any) []function {
	functions := make([]function, 0, len(implementations))
	for name, implementation := range implementations {
		functions = append(functions, function{name: name, implementation: implementation, free: true})
	}
	return functions
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

// floatOf reads any value as a float; what is none is 0.
func floatOf(v any) float64 {
	value := reflect.Indirect(reflect.ValueOf(v))
	switch {
	case !value.IsValid():
		return 0
	case value.Kind() == reflect.String:
		f, err := strconv.ParseFloat(value.String(), 64)
		if err != nil {
			return 0
		}
		return f
	case value.CanInt():
		return float64(value.Int())
	case value.CanUint():
		return float64(value.Uint())
	case value.CanFloat():
		return value.Float()
	case value.Kind() == reflect.Bool && value.Bool():
		return 1
	default:
		return 0
	}
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

// rounded rounds to a number of decimal places, up from a fraction of 0.5 or of roundUpFrom.
func rounded(v any, places int, roundUpFrom ...float64) float64 {
	from := 0.5
	if len(roundUpFrom) > 0 {
		from = roundUpFrom[0]
	}
	scale := math.Pow(10, float64(places))
	scaled := scale * floatOf(v)
	if _, fraction := math.Modf(scaled); fraction >= from {
		return math.Ceil(scaled) / scale
	}
	return math.Floor(scaled) / scale
}

// sequenceSize is what the integers from start until stop take as a list. The step of until has the
// sign that it needs.
func sequenceSize(start, stop, step int) int {
	distance, width := uint64(stop-start), uint64(step) // the two's complement is meant
	if stop < start {
		distance = uint64(start - stop) // as above
	}
	if step < 0 {
		width = -width
	}
	if width == 0 {
		return 0
	}
	return times(int(min(distance/width, math.MaxInt-1))+1, nodeWeight) // within range now
}

// seqSize is what seq takes on its way to a text, which is a list first.
func seqSize(a arguments) int {
	switch len(a.values) {
	case 1:
		return sequenceSize(1, a.number(0), 1)
	case 2:
		return sequenceSize(a.number(0), a.number(1), 1)
	case 3:
		return sequenceSize(a.number(0), a.number(2), a.number(1))
	default:
		return 0
	}
}
