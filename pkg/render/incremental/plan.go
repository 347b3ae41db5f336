package incremental

import (
	"text/template/parse"

	"github.com/kalypso-gitops/kalypso/pkg/render/reference"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
)

// plan renders the text of a template piece by piece. Its result is the same as that of Template.Execute; a text without
// a plan, or whose plan fails, is rendered by Execute.
type plan struct {
	template *template.Template
	steps    []step
	// readsManifests is true if a part reads the manifests, so that it is unknown where their values end up.
	readsManifests bool
}

// step adds to the composition. It returns false if the text must be rendered by Template.Execute.
type step interface {
	add(c *composition) bool
}

// composition is the state of rendering a file of an assignment.
type composition struct {
	*Composer
	*reference.Subject
	builder
	// yaml is true if the file must be YAML.
	yaml    bool
	scratch objectScratch
	// blocks counts how often the whole configuration was written.
	blocks int
	// steps are counted as by template.Bounds. removed is the size in bytes of actions that were evaluated, which counts
	// as output.
	steps, removed int
	// printsManifests is true if values of the manifests are in placeholders, readsManifests if they affect anything else.
	printsManifests, readsManifests bool
}

// newPlan returns the plan of a template, or nil if there is none.
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
	if executed < len(declarations) { // unused, but they may fail
		made.steps = append(made.steps, made.newPartStep(declarations, declared))
		made.readsManifests = made.readsManifests || declared.manifests
	}
	return made
}

// directStep returns the step for an action of one of the usual forms, nil for other actions.
func (p *plan) directStep(node parse.Node, declared bool) step {
	switch node := node.(type) {
	case *parse.ActionNode:
		if step := newFieldStep(node.Pipe); step != nil {
			return step
		}
		return newConfigStep(node.Pipe)
	case *parse.RangeNode:
		if declared {
			return nil // the body may use the declared variables
		}
		return p.newRangeStep(node)
	default:
		return nil
	}
}

// compose renders the template.
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
