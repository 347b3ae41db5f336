package incremental

import (
	"text/template/parse"

	"github.com/kalypso-gitops/kalypso/pkg/render/reference"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
)

// plan renders the text of a template piece by piece. It renders nothing that it is not sure of, and
// then gives the same as Template.Execute, which is the reference; a text for which there is no plan,
// or of which something goes wrong, is left to that.
type plan struct {
	template *template.Template
	steps    []step
	// readsManifests says that a part reads the manifests, so that it is not known what becomes of them.
	readsManifests bool
}

// step adds to the composition. It fails if the text has to be rendered in the usual way.
type step interface {
	add(c *composition) bool
}

// composition is a file of an assignment in the making.
type composition struct {
	*Composer
	*reference.Subject
	builder
	// yaml says that the file must be YAML.
	yaml    bool
	scratch objectScratch
	// blocks counts how often the whole configuration was written.
	blocks int
	// steps is what was done, as Bounds counts it, and removed how many bytes of actions were there before
	// these were evaluated: they count as output.
	steps, removed int
	// printsManifests says that there are holes with values of the manifests, readsManifests that these
	// had a part in anything else.
	printsManifests, readsManifests bool
}

// newPlan makes the plan of a template, or nil.
func newPlan(t *template.Template) *plan {
	made := &plan{template: t}
	var declarations []parse.Node
	var declared reads
	executed := 0 // declarations that a part executes
	for _, node := range t.Nodes() {
		text, isText := node.(*parse.TextNode)
		if isText {
			made.steps = append(made.steps, constantStep(text.Text))
			continue
		}
		reads, ok := readsOf(node)
		if !ok {
			return nil
		}
		action, isAction := node.(*parse.ActionNode)
		if isAction && len(action.Pipe.Decl) > 0 {
			declarations, declared = append(declarations, node), declared.and(reads)
			continue
		}
		next := made.directStep(node, len(declarations) > 0)
		if next == nil {
			reads = reads.and(declared)
			next = made.newPartStep(append(declarations[:len(declarations):len(declarations)], node), reads)
			made.readsManifests = made.readsManifests || reads.manifests
			executed = len(declarations)
		}
		made.steps = append(made.steps, next)
	}
	if executed < len(declarations) { // nothing uses them, but they may fail
		made.steps = append(made.steps, made.newPartStep(declarations, declared))
		made.readsManifests = made.readsManifests || declared.manifests
	}
	return made
}

// directStep returns the step for an action of one of the usual forms, nil for all else.
func (p *plan) directStep(node parse.Node, declared bool) step {
	switch node := node.(type) {
	case *parse.ActionNode:
		if step := newFieldStep(node.Pipe); step != nil {
			return step
		}
		return newConfigStep(node.Pipe)
	case *parse.RangeNode:
		if declared {
			return nil // the body may use what was declared
		}
		return p.newRangeStep(node)
	default:
		return nil
	}
}

// compose adds what the template renders.
func (p *plan) compose(c *composition) bool {
	c.readsManifests = c.readsManifests || p.readsManifests
	start, steps := c.size+c.removed, c.steps
	for _, step := range p.steps {
		if !step.add(c) {
			return false
		}
	}
	return c.size+c.removed-start <= c.bounds.Bytes && c.steps-steps <= c.bounds.Steps
}

// constantStep is text of the template.
type constantStep string

func (s constantStep) add(c *composition) bool { return c.builder.add(piece{text: string(s)}) }
