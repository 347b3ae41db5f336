package template

import (
	"sync"
	"text/template/parse"
)

// Nodes returns the text and the actions of the template itself, in order. The pipeline of a
// range ends with a call that checks what is looped over.
func (t *Template) Nodes() []parse.Node {
	nodes := t.program.trees[rootName].Root.Nodes
	return nodes[1 : len(nodes)-1] // without the marks
}

// Defines reports whether the text defines templates.
func (t *Template) Defines() bool { return len(t.program.trees) > 1 }

// Part is some nodes of a template that are executed by themselves, any number of times and from any number of
// goroutines at once.
type Part struct {
	program *program
	tree    *parse.Tree
	// idle holds machines that are not in use.
	idle sync.Pool
}

// Part returns nodes of the template as a part.
func (t *Template) Part(nodes []parse.Node) *Part {
	root := &parse.ListNode{NodeType: parse.NodeList, Nodes: nodes}
	return &Part{program: t.program, tree: &parse.Tree{Name: rootName, ParseName: rootName, Root: root}}
}

// Execute hands the output of the part to a sink. It returns the steps that it took, as Bounds counts them; ok is false
// if anything is wrong, which only Template.Execute describes.
func (p *Part) Execute(data any, bounds Bounds, into Sink) (steps int, ok bool) {
	m, _ := p.idle.Get().(*machine)
	if m == nil {
		m = p.machine()
	}
	defer p.idle.Put(m)
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	m.reset(bounds)
	m.depth, m.into = 1, into // the text itself
	err := m.execute(data)
	return m.steps, err == nil && !m.printsEmpty
}

func (p *Part) machine() *machine {
	m := &machine{program: p.program}
	part, _ := p.program.linkTemplates(m).AddParseTree("(part)", p.tree) // the name is new
	m.execute = func(data any) error { return part.Execute(m, data) }
	return m
}
