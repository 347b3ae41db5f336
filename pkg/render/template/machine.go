package template

import (
	"errors"
	"fmt"
	"strings"
)

// machine executes one program, and what comes out of it as long as that contains a template. text/template knows it as
// the writer of the output. Only one goroutine may use it at a time.
type machine struct {
	meter
	// execute renders the first level, the text of the template itself.
	execute func(data any) error
	// program is what is executed now; a rendered text that is rendered again has its own.
	program *program
	output  []byte
	// into takes the output in pieces instead, if it is not nil.
	into Sink
	// depth is how many templates have been entered and not left.
	depth int
	// probing asks the probes to record what has no value.
	probing bool
	missing []*Error
	// printsEmpty reports that a field of ManifestFields was printed as an empty string.
	printsEmpty bool
}

func newMachine(p *program) *machine {
	m := &machine{}
	m.execute = p.link(m)
	return m
}

// reset prepares the machine for an execution. What was compiled before stays.
func (m *machine) reset(bounds Bounds) {
	m.meter.reset(bounds)
	m.missing, m.printsEmpty = nil, false
}

// render executes the program, and what comes out again as long as it contains a template.
func (m *machine) render(data any, bounds Bounds) (string, error) {
	m.reset(bounds)
	text, err := m.collect(m.execute, data)
	for level := 1; err == nil && strings.Contains(text, ActionStart); level++ {
		if level > maxRerenderings {
			return "", cycleError(text)
		}
		text, err = m.rerender(text, data)
	}
	return text, err
}

// rerender renders text that came out of a rendering.
func (m *machine) rerender(text string, data any) (string, error) {
	compile := compileProgram
	if m.probing {
		compile = compileProbes
	}
	program, problems := compile(text)
	if len(problems) > 0 {
		return "", problems[0].inRendered(text)
	}
	first := len(m.missing)
	result, err := m.collect(program.link(m), data)
	for i := first; i < len(m.missing); i++ {
		m.missing[i] = m.missing[i].inRendered(text)
	}
	if err != nil {
		return "", asError(err).inRendered(text)
	}
	return result, nil
}

// maxIdleOutput is the largest output buffer that is kept for the next execution.
const maxIdleOutput = 64 << 10

// collect returns what execute writes.
func (m *machine) collect(execute func(data any) error, data any) (text string, err error) {
	defer func() {
		// text/template gives its own bugs, and those of methods of the data, back as panics.
		if problem := recover(); problem != nil {
			text, err = "", &Error{Rule: ruleFailed, Message: excerpt(fmt.Sprint(problem))}
		}
	}()
	if cap(m.output) > maxIdleOutput {
		m.output = nil
	}
	m.output, m.depth = m.output[:0], 0
	if err := execute(data); err != nil {
		return "", err
	}
	return string(m.output), nil
}

// Write takes a piece of output. A mark is an empty piece.
func (m *machine) Write(p []byte) (int, error) {
	if len(p) == 0 {
		mark, ok := m.program.marks.find(p)
		if !ok {
			return 0, nil
		}
		return 0, m.pass(mark)
	}
	if m.into != nil {
		return len(p), m.addPiece(p)
	}
	if len(p) > m.bounds.Bytes-len(m.output) {
		return 0, outputTooLarge(m.bounds)
	}
	m.output = append(m.output, p...)
	return len(p), nil
}

// Sink takes a piece of output: a text of the template if fixed, else what an action prints. It reports whether to continue.
type Sink func(text string, fixed bool) bool

// errStopped ends an execution whose output is not wanted.
var errStopped = errors.New("the output is not wanted")

func (m *machine) addPiece(p []byte) error {
	text, fixed := m.program.texts[&p[0]]
	if fixed = fixed && len(text) == len(p); !fixed {
		text = string(p)
	}
	if !m.into(text, fixed) {
		return errStopped
	}
	return nil
}

// pass counts a mark.
func (m *machine) pass(passed mark) error {
	if passed.kind == leaveMark {
		m.depth--
		return nil
	}
	if passed.kind == enterMark {
		m.depth++
		if m.depth > maxCallDepth {
			return &Error{
				Rule:    ruleTooLong,
				Message: fmt.Sprintf("%s calls itself more than %d levels deep", passed, maxCallDepth),
				Hint:    "add a condition that ends the recursion",
			}
		}
	}
	if m.spend(passed.steps) != nil {
		return &Error{
			Rule:    ruleTooLong,
			Message: fmt.Sprintf("the template takes more than %d steps, the last in %s", m.bounds.Steps, passed),
			Hint:    "shorten the loops",
			Line:    passed.line,
		}
	}
	return nil
}

func cycleError(text string) *Error {
	_, piece, _ := strings.Cut(text, ActionStart)
	piece = ActionStart + piece
	if end := strings.Index(piece, "}}"); end >= 0 {
		piece = piece[:end+2]
	}
	return &Error{
		Rule:    ruleCycle,
		Message: fmt.Sprintf("the result still contains %s after %d more rounds of rendering", excerpt(piece), maxRerenderings),
		Hint:    "remove the template action that refers back to itself",
	}
}

func outputTooLarge(bounds Bounds) *Error {
	return &Error{
		Rule:    ruleTooLarge,
		Message: fmt.Sprintf("the result is larger than %d bytes", bounds.Bytes),
	}
}
