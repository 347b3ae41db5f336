package template

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

// OrDefault returns the bounds with defaults for fields that are zero.
func (b Bounds) OrDefault() Bounds {
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
}

func (m *meter) reset(bounds Bounds) { m.bounds, m.steps = bounds.OrDefault(), 0 }

// spend counts steps, and fails when there are no more.
func (m *meter) spend(steps int) error {
	if steps > m.bounds.Steps-m.steps {
		m.steps = m.bounds.Steps
		return &Error{
			Rule:    ruleTooLong,
			Message: fmt.Sprintf("the template takes more than %d steps", m.bounds.Steps),
			Hint:    "shorten the loops or simplify the template",
		}
	}
	m.steps += steps
	return nil
}

// handle counts bytes that a function reads or makes. Sizes are floats, which cannot overflow.
func (m *meter) handle(bytes float64) error {
	return m.spend(int(min(bytes/bytesPerStep, math.MaxInt32)))
}

// admit fails if a function is about to make, or has made, more than the bound.
func (m *meter) admit(function string, bytes float64) error {
	if bytes <= float64(m.bounds.Bytes) {
		return nil
	}
	return &Error{
		Rule:    ruleTooLarge,
		Message: fmt.Sprintf("%s returns a value of more than %d bytes", function, m.bounds.Bytes),
	}
}

// size is how large a value is when it is written out in full.
type size struct {
	nodes, bytes float64
	depth        int
}

// measure adds up a value and all that is in it, until there are more bytes than the limit: a list that
// holds itself twice, thirty times over, is small in memory only.
func measure(v reflect.Value, limit float64) size {
	var s size
	s.add(v, 0, limit)
	return s
}

func (s *size) add(v reflect.Value, depth int, limit float64) {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	s.nodes++
	s.bytes += nodeWeight
	s.depth = max(s.depth, depth)
	switch v.Kind() {
	case reflect.String:
		s.bytes += float64(v.Len())
	case reflect.Pointer:
		if s.bytes <= limit {
			s.add(v.Elem(), depth+1, limit)
		}
	case reflect.Map:
		for entry := v.MapRange(); s.bytes <= limit && entry.Next(); {
			s.add(entry.Key(), depth+1, limit)
			s.add(entry.Value(), depth+1, limit)
		}
	case reflect.Slice, reflect.Array:
		for i := 0; s.bytes <= limit && i < v.Len(); i++ {
			s.add(v.Index(i), depth+1, limit)
		}
	case reflect.Struct:
		for i := 0; s.bytes <= limit && i < v.NumField(); i++ {
			s.add(v.Field(i), depth+1, limit)
		}
	}
}
