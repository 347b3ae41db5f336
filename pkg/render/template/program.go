package template

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// rootName is the name that text/template knows the text of a template by. It is in all its error
// messages and must be nothing that people would call a template of theirs.
const rootName = "(text)"

// program is a parsed text, checked and prepared so that its work can be counted. It is never
// written to after compileProgram.
type program struct {
	// trees are the text itself, under rootName, and the templates that it defines.
	trees map[string]*parse.Tree
	// functions are those that the text calls, by name.
	functions map[string]*function
	marks     marks
	// texts are the texts between the actions, by the address of their first byte, by which the writer
	// of a run tells them from what is printed.
	texts map[*byte]string
	// probes are the printing actions, if the program was made to find "<no value>".
	probes []probe
}

// compileProgram parses a text, checks its functions and puts a mark at the head of every loop.
func compileProgram(text string) (*program, []*Error) {
	p, problems := parseProgram(text)
	if len(problems) > 0 {
		return nil, problems
	}
	p.instrument()
	return p, nil
}

// parseProgram parses a text and checks its functions.
func parseProgram(text string) (*program, []*Error) {
	if strings.Count(text, ":=") > maxVariables {
		return nil, []*Error{{
			Rule:    ruleTooLarge,
			Message: fmt.Sprintf("the template has more than %d variables (:=)", maxVariables),
			Hint:    "reuse a variable by assigning with =",
		}}
	}
	p := &program{trees: make(map[string]*parse.Tree), functions: make(map[string]*function)}
	tree := parse.New(rootName)
	// Functions are checked below: all of them at once, each with its place.
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", p.trees); err != nil {
		return nil, []*Error{syntaxError(err)}
	}
	var problems []*Error
	for _, tree := range p.trees {
		problems = append(problems, p.checkFunctions(tree, text)...)
	}
	slices.SortFunc(problems, func(a, b *Error) int { return a.compare(b) })
	return p, problems
}

// maxVariables is how many variables a text may have: text/template looks for one among all of them.
const maxVariables = 1000

// checkFunctions collects the functions that a tree calls, and returns errors for those that are not allowed. It also
// corrects the positions of nodes for later errors.
func (p *program) checkFunctions(tree *parse.Tree, text string) []*Error {
	var problems []*Error
	refuse := func(node parse.Node, problem *Error) {
		problem.Line, problem.Column = position(text, node.Position())
		problems = append(problems, problem)
	}
	WalkNodes(tree.Root, func(node parse.Node) {
		switch node := node.(type) {
		case *parse.FieldNode:
			node.Pos = chainStart(text, node.Pos, "."+node.Ident[0])
		case *parse.VariableNode:
			node.Pos = chainStart(text, node.Pos, node.Ident[0])
		case *parse.IdentifierNode:
			f, problem := lookUpFunction(node.Ident)
			if problem != nil {
				refuse(node, problem)
			} else if f != nil {
				p.functions[node.Ident] = f
			}
		case *parse.ActionNode:
			if problem := discardedMerge(node.Pipe); problem != nil {
				refuse(node, problem)
			}
		}
	})
	return problems
}

// chainStart returns where a chain such as .Labels.app begins: package parse says where its second
// link does.
func chainStart(text string, offset parse.Pos, first string) parse.Pos {
	if before := text[:offset]; strings.HasSuffix(before, first) && strings.HasPrefix(text[offset:], ".") {
		return offset - parse.Pos(len(first))
	}
	return offset
}

// position turns an offset into a line and column, counted from 1.
func position(text string, offset parse.Pos) (line, column int) {
	before := text[:min(int(offset), len(text))]
	return 1 + strings.Count(before, "\n"), len(before) - strings.LastIndex(before, "\n")
}

// syntaxMessage is "template: (text):LINE: MESSAGE".
var syntaxMessage = regexp.MustCompile(`(?s)^template: ` + regexp.QuoteMeta(rootName) + `:(\d+): (?:template: )?(.*)$`)

func syntaxError(err error) *Error {
	match := syntaxMessage.FindStringSubmatch(err.Error())
	if match == nil {
		return &Error{Rule: ruleSyntax, Message: excerpt(err.Error())}
	}
	line, _ := strconv.Atoi(match[1])
	message := match[2]
	// An action that is never closed is noticed at the end of its line or later.
	if before, start, ok := strings.Cut(message, " started at "+rootName+":"); ok {
		message = before
		line, _ = strconv.Atoi(start)
	}
	return &Error{Rule: ruleSyntax, Message: excerpt(message), Hint: syntaxHint(message), Line: line}
}

// syntaxHint helps with the mistakes that people make most.
func syntaxHint(message string) string {
	switch {
	case strings.Contains(message, "bad character U+002D"):
		return `read a name that contains "-" with {{ index .Labels "the-name" }}`
	case strings.Contains(message, "unclosed action"), strings.Contains(message, `unexpected "}" in`):
		return `close every "{{" with "}}"`
	case strings.Contains(message, "unexpected EOF"):
		return "close every if, range, with, define and block with {{ end }}"
	case strings.Contains(message, "undefined variable"):
		return `define a variable with {{ $name := … }} before its use; it is valid until the next {{ end }}`
	default:
		return ""
	}
}

// marks tells the empty texts that instrument puts into the trees, by the address of their first
// byte. text/template writes them like any other text, which is how the writer of a run comes to
// count loops that call nothing and print nothing.
type marks map[*byte]mark

type mark struct {
	kind markKind
	line int
	// steps is what it costs to pass: more for a longer body.
	steps int
	// name is the template that is entered.
	name string
}

type markKind int

const (
	loopMark markKind = iota
	enterMark
	leaveMark
)

// find returns the mark that an empty text is.
func (m marks) find(p []byte) (mark, bool) {
	if cap(p) == 0 {
		return mark{}, false
	}
	found, ok := m[&p[:1][0]]
	return found, ok
}

func (m marks) add(node parse.Node, mark mark) *parse.TextNode {
	text := make([]byte, 0, 1)
	m[&text[:1][0]] = mark
	return &parse.TextNode{NodeType: parse.NodeText, Pos: node.Position(), Text: text}
}

// instrument puts marks at the head of every loop and around every template, and has every value
// that is looped over checked.
func (p *program) instrument() {
	p.marks, p.texts = make(marks), make(map[*byte]string)
	for name, tree := range p.trees {
		WalkNodes(tree.Root, func(node parse.Node) {
			switch node := node.(type) {
			case *parse.TextNode:
				if len(node.Text) > 0 {
					p.texts[&node.Text[0]] = string(node.Text)
				}
			case *parse.ActionNode:
				if _, path := lookedUp(node.Pipe); manifestKey(path) != "" {
					node.Pipe.Cmds = append(node.Pipe.Cmds, hiddenCall(node.Pipe, emptyFunction))
				}
			case *parse.PipeNode:
				p.countTexts(node)
			case *parse.RangeNode:
				head := p.marks.add(node, mark{kind: loopMark, line: node.Line, steps: bodySteps(node.List)})
				node.List.Nodes = slices.Insert(node.List.Nodes, 0, parse.Node(head))
				node.Pipe.Cmds = append(node.Pipe.Cmds, hiddenCall(node.Pipe, rangeFunction))
				p.functions[rangeFunction] = rangeCheck
			}
		})
		body := tree.Root
		steps := 1 // the text itself is gone through once
		if name != rootName {
			steps = bodySteps(body)
		}
		enter := p.marks.add(body, mark{kind: enterMark, name: name, steps: steps})
		leave := p.marks.add(body, mark{kind: leaveMark})
		body.Nodes = append(append([]parse.Node{enter}, body.Nodes...), leave)
	}
}

// countTexts has the texts counted that text/template's own functions compare or look up, which cost nothing
// there however long they are. One side of a comparison is enough; a text of the template is short.
func (p *program) countTexts(pipe *parse.PipeNode) {
	for i, command := range slices.Backward(pipe.Cmds) {
		function, ok := command.Args[0].(*parse.IdentifierNode)
		if !ok || !slices.Contains([]string{"eq", "ge", "gt", "index", "le", "lt", "ne"}, function.Ident) {
			continue
		}
		p.functions[readFunction] = textRead
		for j := 2; j < len(command.Args); j++ {
			switch argument := command.Args[j].(type) {
			case *parse.FieldNode, *parse.VariableNode, *parse.ChainNode, *parse.PipeNode, *parse.DotNode:
				command.Args[j] = &parse.PipeNode{
					NodeType: parse.NodePipe, Pos: argument.Position(), Line: pipe.Line,
					Cmds: []*parse.CommandNode{hiddenCall(argument, readFunction, argument)},
				}
			}
		}
		if i > 0 {
			pipe.Cmds = slices.Insert(pipe.Cmds, i, hiddenCall(command, readFunction))
		}
	}
}

// readFunction is the hidden function that pays for a text that is only looked at.
const readFunction = "kalypsoRead"

var textRead = &function{hidden: func(m *meter) any {
	return func(v reflect.Value) (reflect.Value, error) {
		if text := concrete(v); text.Kind() == reflect.String {
			return v, m.handle(float64(text.Len()))
		}
		return v, nil
	}
}}

// bodySteps is what it costs to go through a body once, beside what it calls.
func bodySteps(body *parse.ListNode) int {
	const nodesPerStep = 4
	nodes := 0
	WalkNodes(body, func(parse.Node) { nodes++ })
	return 1 + nodes/nodesPerStep
}

// hiddenCall makes a call of a function that no template can name, to follow in a pipeline.
func hiddenCall(at parse.Node, name string, arguments ...parse.Node) *parse.CommandNode {
	function := parse.NewIdentifier(name).SetPos(at.Position())
	return &parse.CommandNode{
		NodeType: parse.NodeCommand,
		Pos:      at.Position(),
		Args:     append([]parse.Node{function}, arguments...),
	}
}

// link makes the program executable: its functions count what they do in the run.
func (p *program) link(m *machine) func(data any) error {
	root := p.linkTemplates(m).Lookup(rootName)
	return func(data any) error {
		m.program = p
		if err := root.Execute(m, data); err != nil {
			return p.readError(err, data)
		}
		return nil
	}
}

// linkTemplates makes all templates of the program executable.
func (p *program) linkTemplates(m *machine) *template.Template {
	bound := make(template.FuncMap, len(p.functions)+2)
	for name, f := range p.functions {
		bound[name] = f.bind(&m.meter)
	}
	bound[probeFunction], bound[emptyFunction] = m.probe, m.noteEmpty
	all := template.New(rootName).Funcs(bound)
	for name, tree := range p.trees {
		// It cannot fail: the name is new and the tree was parsed.
		_, _ = all.AddParseTree(name, tree)
	}
	return all
}

// defined returns the names of the templates that the text defines, sorted.
func (p *program) defined() []string {
	names := slices.Sorted(maps.Keys(p.trees))
	return slices.DeleteFunc(names, func(name string) bool { return name == rootName })
}

// WalkNodes calls visit for a node and everything below it.
func WalkNodes(node parse.Node, visit func(parse.Node)) {
	each := func(nodes []parse.Node) {
		for _, n := range nodes {
			WalkNodes(n, visit)
		}
	}
	branch := func(b *parse.BranchNode) {
		WalkNodes(b.Pipe, visit)
		WalkNodes(b.List, visit)
		if b.ElseList != nil {
			WalkNodes(b.ElseList, visit)
		}
	}
	visit(node)
	switch node := node.(type) {
	case *parse.ListNode:
		each(node.Nodes)
	case *parse.ActionNode:
		WalkNodes(node.Pipe, visit)
	case *parse.PipeNode:
		for _, command := range node.Cmds {
			each(command.Args)
		}
	case *parse.ChainNode:
		WalkNodes(node.Node, visit)
	case *parse.IfNode:
		branch(&node.BranchNode)
	case *parse.RangeNode:
		branch(&node.BranchNode)
	case *parse.WithNode:
		branch(&node.BranchNode)
	case *parse.TemplateNode:
		if node.Pipe != nil {
			WalkNodes(node.Pipe, visit)
		}
	}
}

// String names the mark for messages.
func (m mark) String() string {
	if m.kind == loopMark {
		return fmt.Sprintf("the range in line %d", m.line)
	}
	if m.name == rootName {
		return "the template"
	}
	return fmt.Sprintf("template %q", m.name)
}
