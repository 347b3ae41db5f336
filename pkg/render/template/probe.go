package template

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// text/template prints "<no value>" for a map key that is not there and for null. Its option
// missingkey=error cannot tell which: it also fails on `default` and `if`, and not on `index`. So the
// text is parsed once more with a probe at the end of every pipeline that prints.

// probe is a printing action that may have no value to print.
type probe struct {
	expression   string
	line, column int
	// path are the fields and keys that lead from the probe's base to the value; empty if the value
	// is computed.
	path []string
}

// probeFunction is the hidden function that probes call. Templates cannot name it.
const probeFunction = "kalypsoProbe"

// compileProbes is compileProgram with probes.
func compileProbes(text string) (*program, []*Error) {
	p, problems := parseProgram(text)
	if len(problems) > 0 {
		return nil, problems
	}
	for _, tree := range p.trees {
		WalkNodes(tree.Root, func(node parse.Node) {
			action, ok := node.(*parse.ActionNode)
			if ok && len(action.Pipe.Decl) == 0 {
				p.addProbe(action, text)
			}
		})
	}
	p.instrument()
	return p, nil
}

func (p *program) addProbe(action *parse.ActionNode, text string) {
	base, path := lookedUp(action.Pipe)
	line, column := position(text, action.Pipe.Position())
	number := len(p.probes)
	expression := action.Pipe.String()
	if manifestKey(path) != "" {
		expression = "." + path[0] // without quote
	}
	p.probes = append(p.probes, probe{expression: expression, line: line, column: column, path: path})
	index := &parse.NumberNode{
		NodeType: parse.NodeNumber, Pos: action.Pipe.Pos,
		IsInt: true, Int64: int64(number), Text: fmt.Sprint(number),
	}
	action.Pipe.Cmds = append(action.Pipe.Cmds, hiddenCall(action.Pipe, probeFunction, index, base))
}

// probe records a printed value that is not there; index is that of the probe.
func (m *machine) probe(index int, base, value any) any {
	if p := m.program.probes[index]; value == nil || isUnset(base, manifestKey(p.path)) {
		m.missing = append(m.missing, p.problem(base))
	}
	return value
}

// ManifestFields are the fields of the data that stand for keys of the manifests of the target, with these keys. They are
// strings, so one without a value prints nothing instead of "<no value>".
var ManifestFields = map[string]string{"Repo": "repo", "Branch": "branch", "Path": "path"}

// manifestKey returns the key of the manifests that a field of the data stands for; empty for any other path.
func manifestKey(path []string) string {
	if len(path) != 1 {
		return ""
	}
	return ManifestFields[path[0]]
}

// isUnset reports whether data has manifests without a key.
func isUnset(data any, key string) bool {
	if value := concrete(reflect.ValueOf(data)); key != "" && value.Kind() == reflect.Struct {
		manifests := value.FieldByName("Manifests")
		return manifests.Kind() == reflect.Map && !mapValue(manifests, key).IsValid()
	}
	return false
}

// emptyFunction is the hidden function that is called with what prints a field of ManifestFields.
const emptyFunction = "kalypsoEmpty"

func (m *machine) noteEmpty(value any) any {
	if text, isText := value.(string); isText && strings.Trim(text, `"'`) == "" {
		m.printsEmpty = true
	}
	return value
}

// Printed returns the words of the command whose result a pipeline prints, and the function that puts it in quotes:
// quote, squote or none. There are no words if the pipeline does more.
func Printed(pipe *parse.PipeNode) (arguments []parse.Node, quote string) {
	commands := pipe.Cmds
	called := func(i int) string {
		function, _ := commands[i].Args[0].(*parse.IdentifierNode)
		if function == nil {
			return ""
		}
		return function.Ident
	}
	if last := len(commands) - 1; called(last) == emptyFunction {
		commands = commands[:last]
	}
	quotes := []string{"quote", "squote"}
	switch last := called(len(commands) - 1); {
	case len(commands) == 2 && len(commands[1].Args) == 1 && slices.Contains(quotes, last):
		return commands[0].Args, last
	case len(commands) == 1 && len(commands[0].Args) == 2 && slices.Contains(quotes, last):
		return commands[0].Args[1:], last
	case len(commands) == 1:
		return commands[0].Args, ""
	}
	return nil, ""
}

// lookedUp returns the value in which a pipeline looks something up, and the path that it follows.
// For a pipeline that does anything else the path is empty.
func lookedUp(pipe *parse.PipeNode) (base parse.Node, path []string) {
	dot := &parse.DotNode{NodeType: parse.NodeDot, Pos: pipe.Pos}
	arguments, _ := Printed(pipe)
	if arguments == nil {
		return dot, nil
	}
	switch first := arguments[0].(type) {
	case *parse.FieldNode:
		return dot, first.Ident
	case *parse.VariableNode:
		return variable(first), first.Ident[1:]
	case *parse.IdentifierNode:
		if len(arguments) != 3 || first.Ident != "index" {
			return dot, nil
		}
		key, isText := arguments[2].(*parse.StringNode)
		if !isText {
			return dot, nil
		}
		switch container := arguments[1].(type) {
		case *parse.FieldNode:
			return dot, append(slices.Clone(container.Ident), key.Text)
		case *parse.VariableNode:
			return variable(container), append(slices.Clone(container.Ident[1:]), key.Text)
		}
	}
	return dot, nil
}

// variable is the variable itself, without the fields that follow it.
func variable(n *parse.VariableNode) parse.Node {
	return &parse.VariableNode{NodeType: parse.NodeVariable, Pos: n.Pos, Ident: n.Ident[:1]}
}

// problem says what is missing, with the nearest key that is there.
func (p probe) problem(base any) *Error {
	hint := diag.DidYouMean(firstMissing(reflect.ValueOf(base), p.path))
	switch key := manifestKey(p.path); {
	case key != "":
		hint = fmt.Sprintf(`set manifests.%s of the deployment target, or add a default in the template: {{ … | default "…" }}`, key)
	case hint == "":
		hint = missingHint
	}
	return &Error{
		Rule:    ruleNoValue,
		Message: fmt.Sprintf("%s has no value", excerpt(p.expression)),
		Hint:    hint,
		Line:    p.line,
		Column:  p.column,
	}
}

// firstMissing follows a path and returns the first step of it that does not exist in the schema, with the keys that
// are there instead.
func firstMissing(value reflect.Value, path []string) (name string, candidates []string) {
	for _, step := range path {
		value = concrete(value)
		switch value.Kind() {
		case reflect.Struct:
			if value = value.FieldByName(step); !value.IsValid() {
				return "", nil
			}
		case reflect.Map:
			next := mapValue(value, step)
			if !next.IsValid() {
				return step, textKeys(value)
			}
			value = next
		default:
			return "", nil
		}
	}
	return "", nil
}

func mapValue(m reflect.Value, key string) reflect.Value {
	if !reflect.TypeOf(key).AssignableTo(m.Type().Key()) {
		return reflect.Value{}
	}
	return m.MapIndex(reflect.ValueOf(key))
}

// textKeys returns the keys of a map that are strings, sorted.
func textKeys(m reflect.Value) []string {
	var keys []string
	for _, key := range m.MapKeys() {
		if key = concrete(key); key.Kind() == reflect.String {
			keys = append(keys, key.String())
		}
	}
	slices.Sort(keys)
	return keys
}
