package template

import (
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
	// probed is the same text made to report what prints "<no value>".
	probed func() *program
	// idle holds machines that are not in use.
	idle sync.Pool
}

// ActionStart begins an action. Rendered text that contains it is rendered again.
const ActionStart = "{{"

// NoValue is what text/template prints for a value that is not there.
const NoValue = "<no value>"

// maxRerenderings is how often rendered text may turn out to be a template again.
const maxRerenderings = 5

// Parse parses the text of a template. A syntax error has the rule "template-syntax"; functions that a
// template may not call have "forbidden-function" or "unknown-function", and all of them are reported. The
// template is nil if there are errors.
func Parse(block model.Block) (*Template, diag.List) {
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
	t.probed = sync.OnceValue(func() *program {
		probed, _ := compileProbes(block.Value) // it was parsed above
		return probed
	})
	return t, nil
}

// Execute renders the template with data: a struct or map of plain values (maps, lists, structs,
// strings, numbers and bools), which it only reads. A result that contains "{{" is rendered again
// with the same data.
//
// The errors in missing do not stop the rendering: they name what was printed as "<no value>", each
// with the rule "no-value". err is nil or an *Error; then the text is empty.
func (t *Template) Execute(data any, bounds Bounds) (text string, missing []*Error, err error) {
	machine, _ := t.idle.Get().(*machine)
	if machine == nil {
		machine = newMachine(t.program)
	}
	text, err = machine.render(data, bounds)
	printsEmpty := machine.printsEmpty
	// A machine that failed can be used again: reset clears everything.
	t.idle.Put(machine)
	if err != nil {
		return "", nil, err
	}
	if printsEmpty || strings.Contains(text, NoValue) {
		missing = t.findMissing(data, bounds)
	}
	return text, missing, nil
}

// findMissing renders once more and checks what each action prints. It finds nothing if
// "<no value>" came from a value or is written in the template itself.
func (t *Template) findMissing(data any, bounds Bounds) []*Error {
	machine := newMachine(t.probed())
	machine.probing = true
	// It rendered without an error before, and a probe costs no steps.
	_, _ = machine.render(data, bounds)
	slices.SortFunc(machine.missing, func(a, b *Error) int {
		return a.compare(b)
	})
	return slices.CompactFunc(machine.missing, func(a, b *Error) bool { return *a == *b })
}

// Actions returns how many actions there are in the text that a template renders, for each time that
// it is rendered again.
func (t *Template) Actions(data any, bounds Bounds) []int {
	machine := newMachine(t.program)
	machine.reset(bounds)
	var counts []int
	text, err := machine.collect(machine.execute, data)
	for err == nil && strings.Contains(text, ActionStart) && len(counts) < maxRerenderings {
		counts = append(counts, strings.Count(text, ActionStart))
		text, err = machine.rerender(text, data)
	}
	return counts
}
