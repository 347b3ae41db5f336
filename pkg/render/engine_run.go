package render

import (
	"errors"
	"fmt"
)

// run is the state of one execution. text/template knows it as the writer of the output, the
// functions of the template as what they report their work to.
type run struct {
	meter
	// program is what is executed now; a rendered text that is rendered again has its own.
	program *program
	output  []byte
	// into takes the output in pieces instead, if it is not nil.
	into *rope
	// tenant says that the printed text may contain strings of an application.
	tenant bool
	// depth is how many templates have been entered and not left.
	depth int
	// probing asks the probes to record what has no value.
	probing bool
	missing []*ExecError
}

// reset prepares the run for an execution. What was compiled before stays.
func (r *run) reset(bounds Bounds) {
	r.meter.reset(bounds)
	r.missing = nil
}

// maxIdleOutput is the largest output buffer that is kept for the next execution.
const maxIdleOutput = 64 << 10

// collect returns what execute writes.
func (r *run) collect(execute func(data any) error, data any) (text string, err error) {
	defer func() {
		// text/template gives its own bugs, and those of methods of the data, back as panics.
		if problem := recover(); problem != nil {
			text, err = "", &ExecError{Rule: ruleFailed, Message: excerpt(fmt.Sprint(problem))}
		}
	}()
	if cap(r.output) > maxIdleOutput {
		r.output = nil
	}
	r.output, r.depth = r.output[:0], 0
	if err := execute(data); err != nil {
		return "", err
	}
	return string(r.output), nil
}

// Write takes a piece of output. A mark is an empty piece.
func (r *run) Write(p []byte) (int, error) {
	if len(p) == 0 {
		mark, ok := r.program.marks.find(p)
		if !ok {
			return 0, nil
		}
		return 0, r.pass(mark)
	}
	if r.into != nil {
		return len(p), r.addPiece(p)
	}
	if len(p) > r.bounds.Bytes-len(r.output) {
		return 0, outputTooLarge(r.bounds)
	}
	r.output = append(r.output, p...)
	return len(p), nil
}

// errUnsure ends an execution in pieces.
var errUnsure = errors.New("not to be rendered in pieces")

func (r *run) addPiece(p []byte) error {
	text, ok := r.program.texts[&p[0]]
	if ok && len(text) == len(p) {
		ok = r.into.add(piece{text: text})
	} else {
		ok = r.into.addHole(string(p), r.tenant)
	}
	if !ok || r.into.size > r.bounds.Bytes {
		return errUnsure
	}
	return nil
}

// pass counts a mark.
func (r *run) pass(m mark) error {
	if m.kind == leaveMark {
		r.depth--
		return nil
	}
	if m.kind == enterMark {
		r.depth++
		if r.depth > maxCallDepth {
			return &ExecError{
				Rule:    ruleTooLong,
				Message: fmt.Sprintf("%s calls itself more than %d deep", m, maxCallDepth),
				Hint:    "a template that calls itself needs a condition that ends it",
			}
		}
	}
	if r.spend(m.steps) != nil {
		return &ExecError{
			Rule:    ruleTooLong,
			Message: fmt.Sprintf("the template takes more than %d steps, the last of them in %s", r.bounds.Steps, m),
			Hint:    "loop over less",
			Line:    m.line,
		}
	}
	return nil
}
