package render

import (
	"fmt"
	"math"
	"reflect"
)

// DefaultSteps and DefaultBytes are the Bounds that a zero Bounds stands for. No manifest of a
// megabyte can be applied to a cluster, and so many steps take well under a second.
const (
	DefaultSteps = 250_000
	DefaultBytes = 1 << 20
)

// Bounds limits the work of one execution of a template. All of it is counted, never timed, so that
// the same input gives the same answer on every machine. A zero field stands for its default.
type Bounds struct {
	// Steps is how much may be done: the body of a range or a named template costs one step each time
	// it is entered, a function one when it is called and one for every 64 bytes that it reads or makes.
	Steps int
	// Bytes is how large the output may become, and any one value that a function makes.
	Bytes int
}

func (b Bounds) orDefault() Bounds {
	if b.Steps <= 0 {
		b.Steps = DefaultSteps
	}
	if b.Bytes <= 0 {
		b.Bytes = DefaultBytes
	}
	return b
}

const (
	// bytesPerStep is what a function may handle for one step.
	bytesPerStep = 64
	// nodeWeight is what a value weighs beside its text: roughly what it takes in memory or in print.
	nodeWeight = 8
	// maxCallDepth is how deep templates may call each other. Go itself stops at 100,000, after
	// hundreds of megabytes of stack.
	maxCallDepth = 1000
	// maxValueDepth is how deep a value that a function makes may be nested: the indentation of
	// something deeper would outgrow every bound before it could be counted.
	maxValueDepth = 100
)

// Rules of the bounds.
const (
	ruleTooLarge = "template-too-large"
	ruleTooLong  = "template-too-long"
)

// meter counts what one execution does. It must be reset before each.
type meter struct {
	bounds Bounds
	steps  int
	// visited counts the values that weigh looked at.
	visited int
	// known holds the weights of maps and lists that functions took or made. Without it a list that
	// holds itself twice, thirty times over, would be walked a billion times. A value never changes
	// once it was made, and being kept here its address is not used again.
	known map[identity]known
}

// identity tells maps and lists apart by where they are.
type identity struct {
	pointer uintptr
	length  int
}

type known struct {
	value any
	weight
}

// weight is how large a value is when it is written out in full.
type weight struct {
	bytes, depth int
}

func (m *meter) reset(bounds Bounds) {
	m.bounds, m.steps, m.visited = bounds.orDefault(), 0, 0
	clear(m.known)
}

// spend counts steps, and fails when there are no more.
func (m *meter) spend(steps int) error {
	if steps > m.bounds.Steps-m.steps {
		m.steps = m.bounds.Steps
		return &ExecError{
			Rule:    ruleTooLong,
			Message: fmt.Sprintf("the template takes more than %d steps", m.bounds.Steps),
			Hint:    "loop over less, or make the template simpler",
		}
	}
	m.steps += steps
	return nil
}

// enter counts the call of a function and the bytes that it reads.
func (m *meter) enter(bytes int) error { return m.spend(1 + bytes/bytesPerStep) }

// handle counts more bytes that a function reads or makes.
func (m *meter) handle(bytes int) error { return m.spend(bytes / bytesPerStep) }

// admit fails if a function is about to make, or has made, more than the bound.
func (m *meter) admit(function string, bytes int) error {
	if bytes <= m.bounds.Bytes {
		return nil
	}
	return &ExecError{
		Rule:    ruleTooLarge,
		Message: fmt.Sprintf("%s makes a value of more than %d bytes", function, m.bounds.Bytes),
	}
}

// weigh returns how large a value is. It fails on what a template could only print as an address.
func (m *meter) weigh(v any) weight {
	m.visited++
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
		return weight{bytes: nodeWeight}
	case string:
		return weight{bytes: nodeWeight + len(v)}
	case map[string]any:
		return m.container(reflect.ValueOf(v), func(add func(weight)) {
			for key, value := range v {
				add(weight{bytes: nodeWeight + len(key)})
				add(m.weigh(value))
			}
		})
	case []any:
		return m.container(reflect.ValueOf(v), func(add func(weight)) {
			for _, item := range v {
				add(m.weigh(item))
			}
		})
	default:
		return m.weighReflected(reflect.ValueOf(v), 0)
	}
}

// container adds up the weights of a map or list, unless it is known already.
func (m *meter) container(v reflect.Value, each func(add func(weight))) weight {
	if len(m.known) > 0 {
		if known, ok := m.known[identity{v.Pointer(), v.Len()}]; ok {
			return known.weight
		}
	}
	sum := weight{bytes: nodeWeight}
	each(func(w weight) {
		sum.bytes = plus(sum.bytes, w.bytes)
		sum.depth = max(sum.depth, w.depth)
	})
	sum.depth++
	return sum
}

// maxReflectedDepth ends the walk into values that hold themselves by pointers.
const maxReflectedDepth = 10_000

// weighReflected weighs what is neither of the usual types.
func (m *meter) weighReflected(v reflect.Value, depth int) weight {
	m.visited++
	if depth > maxReflectedDepth {
		return weight{bytes: math.MaxInt, depth: depth}
	}
	switch v.Kind() {
	case reflect.String:
		return weight{bytes: nodeWeight + v.Len()}
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return weight{bytes: nodeWeight}
		}
		return m.weighReflected(v.Elem(), depth+1)
	case reflect.Map:
		return m.container(v, func(add func(weight)) {
			for iterator := v.MapRange(); iterator.Next(); {
				add(m.weighReflected(iterator.Key(), depth+1))
				add(m.weighReflected(iterator.Value(), depth+1))
			}
		})
	case reflect.Slice:
		return m.container(v, func(add func(weight)) {
			for i := range v.Len() {
				add(m.weighReflected(v.Index(i), depth+1))
			}
		})
	case reflect.Struct:
		sum := weight{bytes: nodeWeight, depth: 1}
		for i := range v.NumField() {
			w := m.weighReflected(v.Field(i), depth+1)
			sum = weight{bytes: plus(sum.bytes, w.bytes), depth: max(sum.depth, w.depth+1)}
		}
		return sum
	default:
		return weight{bytes: nodeWeight}
	}
}

// remember keeps the weight of a map or list, so that it is not walked again.
func (m *meter) remember(v any, w weight) {
	value := reflect.ValueOf(v)
	if kind := value.Kind(); (kind != reflect.Map && kind != reflect.Slice) || value.Len() == 0 {
		return
	}
	if m.known == nil {
		m.known = make(map[identity]known)
	}
	m.known[identity{value.Pointer(), value.Len()}] = known{value: v, weight: w}
}

// plus and times are sums and products of sizes, which never overflow: an absurd size stays absurd.
func plus(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

func times(a, b int) int {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > math.MaxInt/b {
		return math.MaxInt
	}
	return a * b
}
