package render

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Template is a text that was parsed once and is executed any number of times, from any number of
// goroutines at once.
type Template struct {
	block   model.Block
	program *program
	// plan renders the text in pieces; nil if that cannot be done.
	plan *plan
	// probed is the same text made to report what prints "<no value>".
	probed func() *program
	// idle holds machines that have nothing to do.
	idle sync.Pool
}

// actionStart begins an action. Rendered text that contains it is rendered again.
const actionStart = "{{"

// noValue is what text/template prints for a value that is not there.
const noValue = "<no value>"

// maxRerenderings is how often rendered text may turn out to be a template again.
const maxRerenderings = 5

// Rules of the templates.
const (
	ruleSyntax            = "template-syntax"
	ruleForbiddenFunction = "forbidden-function"
	ruleUnknownFunction   = "unknown-function"
	ruleUnknownTemplate   = "unknown-template"
	ruleUnknownField      = "unknown-field"
	ruleNoValue           = "no-value"
	ruleFailed            = "template-failed"
	ruleCycle             = "template-cycle"
)

// ParseTemplate parses the text of a template. A syntax error has the rule "template-syntax"; functions
// that a template may not call have "forbidden-function" or "unknown-function", and all of them are
// reported. The template is nil if there are errors.
func ParseTemplate(block model.Block) (*Template, diag.List) {
	t := &Template{block: block}
	parsed, problems := compileProgram(block.Value)
	if len(problems) > 0 {
		var list diag.List
		for _, problem := range problems {
			list = append(list, t.Diagnose(diag.Error, problem))
		}
		return nil, list
	}
	t.program = parsed
	t.plan = newPlan(parsed)
	t.probed = sync.OnceValue(func() *program {
		probed, _ := compileProbes(block.Value) // it was parsed a moment ago
		return probed
	})
	return t, nil
}

// Execute renders the template with data: a struct or map of plain values (maps, lists, structs,
// strings, numbers and bools), which it only reads. A result that contains "{{" is rendered again
// with the same data.
//
// The errors in missing do not stop the rendering: they name what was printed as "<no value>", each
// with the rule "no-value". err is nil or an *ExecError; then the text is empty.
func (t *Template) Execute(data any, bounds Bounds) (text string, missing []*ExecError, err error) {
	machine, _ := t.idle.Get().(*machine)
	if machine == nil {
		machine = newMachine(t.program)
	}
	text, err = machine.render(data, bounds)
	// A machine that failed is as good as new: nothing of a run survives the next reset.
	t.idle.Put(machine)
	if err != nil {
		return "", nil, err
	}
	if strings.Contains(text, noValue) {
		missing = t.findMissing(data, bounds)
	}
	return text, missing, nil
}

// findMissing renders once more and watches what each action prints. It finds nothing if
// "<no value>" came from a value or is written in the template itself.
func (t *Template) findMissing(data any, bounds Bounds) []*ExecError {
	machine := newMachine(t.probed())
	machine.run.probing = true
	// It rendered a moment ago, and a probe costs no steps.
	_, _ = machine.render(data, bounds)
	slices.SortFunc(machine.run.missing, func(a, b *ExecError) int {
		return a.compare(b)
	})
	return slices.CompactFunc(machine.run.missing, func(a, b *ExecError) bool { return *a == *b })
}

// machine executes one program. Only one goroutine may use it at a time.
type machine struct {
	run *run
	// execute renders the first level, the text of the template itself.
	execute func(data any) error
}

func newMachine(p *program) *machine {
	r := &run{}
	return &machine{run: r, execute: p.link(r)}
}

// render executes the program, and what comes out again as long as it contains a template.
func (m *machine) render(data any, bounds Bounds) (string, error) {
	m.run.reset(bounds)
	text, err := m.run.collect(m.execute, data)
	for level := 1; err == nil && strings.Contains(text, actionStart); level++ {
		if level > maxRerenderings {
			return "", cycleError(text)
		}
		text, err = m.run.rerender(text, data)
	}
	return text, err
}

// rerender renders text that came out of a rendering.
func (r *run) rerender(text string, data any) (string, error) {
	compile := compileProgram
	if r.probing {
		compile = compileProbes
	}
	program, problems := compile(text)
	if len(problems) > 0 {
		return "", problems[0].inRendered(text)
	}
	first := len(r.missing)
	result, err := r.collect(program.link(r), data)
	for i := first; i < len(r.missing); i++ {
		r.missing[i] = r.missing[i].inRendered(text)
	}
	if err != nil {
		return "", asExecError(err).inRendered(text)
	}
	return result, nil
}

func cycleError(text string) *ExecError {
	_, piece, _ := strings.Cut(text, actionStart)
	piece = actionStart + piece
	if end := strings.Index(piece, "}}"); end >= 0 {
		piece = piece[:end+2]
	}
	return &ExecError{
		Rule:    ruleCycle,
		Message: fmt.Sprintf("the result still contains %s after it was rendered again %d times", excerpt(piece), maxRerenderings),
		Hint:    "a value that holds a template must not lead back to itself",
	}
}

func outputTooLarge(bounds Bounds) *ExecError {
	return &ExecError{
		Rule:    ruleTooLarge,
		Message: fmt.Sprintf("the result is larger than %d bytes", bounds.Bytes),
	}
}
