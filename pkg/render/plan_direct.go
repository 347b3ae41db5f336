package render

import (
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/mitchellh/hashstructure"
)

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

// fieldStep prints a string of the data: .Workload, .Labels.app or index .Labels "app", as it is or
// through quote.
type fieldStep struct {
	field  func(*data) string
	values func(*data) map[string]string
	key    string
	// indexed says that a key that is not there is an empty string.
	indexed   bool
	quoted    bool
	manifests bool
}

var textFields = map[string]func(*data) string{
	"DeploymentTargetName": func(d *data) string { return d.DeploymentTargetName },
	"Namespace":            func(d *data) string { return d.Namespace },
	"Environment":          func(d *data) string { return d.Environment },
	"Workspace":            func(d *data) string { return d.Workspace },
	"Workload":             func(d *data) string { return d.Workload },
	"ClusterType":          func(d *data) string { return d.ClusterType },
	"Repo":                 func(d *data) string { return d.Repo },
	"Branch":               func(d *data) string { return d.Branch },
	"Path":                 func(d *data) string { return d.Path },
}

var mapFields = map[string]func(*data) map[string]string{
	"Labels":            func(d *data) map[string]string { return d.Labels },
	"ClusterTypeLabels": func(d *data) map[string]string { return d.ClusterTypeLabels },
	"Manifests":         func(d *data) map[string]string { return d.Manifests },
}

func newFieldStep(pipe *parse.PipeNode) step {
	s := &fieldStep{}
	commands := pipe.Cmds
	if len(commands) == 2 && isCall(commands[1], "quote", 0) {
		s.quoted, commands = true, commands[:1]
	}
	if len(commands) != 1 {
		return nil
	}
	arguments := commands[0].Args
	if !s.quoted && isCall(commands[0], "quote", 1) {
		s.quoted, arguments = true, arguments[1:]
	}
	var path []string
	switch first := arguments[0].(type) {
	case *parse.FieldNode:
		path = first.Ident
		if len(arguments) != 1 {
			return nil
		}
	case *parse.IdentifierNode:
		if !isCall(commands[0], "index", 2) || s.quoted && len(arguments) != 3 {
			return nil
		}
		container, isField := arguments[1].(*parse.FieldNode)
		key, isText := arguments[2].(*parse.StringNode)
		if !isField || !isText || len(container.Ident) != 1 {
			return nil
		}
		path, s.indexed = []string{container.Ident[0], key.Text}, true
	}
	switch {
	case len(path) == 1 && textFields[path[0]] != nil && !s.indexed:
		s.field = textFields[path[0]]
	case len(path) == 2 && mapFields[path[0]] != nil:
		s.values, s.key = mapFields[path[0]], path[1]
	default:
		return nil
	}
	var r reads
	r.field(path[0])
	s.manifests = r.manifests
	return s
}

// isCall reports whether a command calls a function with a number of arguments.
func isCall(c *parse.CommandNode, name string, arguments int) bool {
	function, ok := c.Args[0].(*parse.IdentifierNode)
	return ok && function.Ident == name && len(c.Args) == 1+arguments
}

func (s *fieldStep) add(c *composition) bool {
	var text string
	if s.field != nil {
		text = s.field(c.facts)
	} else {
		value, ok := s.values(c.facts)[s.key]
		if !ok && !s.indexed {
			return false // "<no value>", or "" in quotes
		}
		text = value
	}
	c.printsManifests = c.printsManifests || s.manifests
	if s.quoted {
		return isPrintable(text) && c.addHole(`"`+text+`"`)
	}
	switch kind := kindOf(text); {
	case kind == quotedHole && s.manifests:
		return false // these quotes are of the value
	case kind == plainHole && s.manifests && c.typed[text]:
		return c.add(piece{kind: typedHole, text: text})
	case kind != constantPiece:
		return c.add(piece{kind: kind, text: text})
	case isPrintable(text) && len(text) <= maxHole && isQuiet(text) && strings.TrimSpace(text) == text && text != "":
		return c.add(piece{kind: wildHole, text: text})
	default:
		return (text == "" || !s.manifests) && c.addHole(text)
	}
}

// configStep writes the whole configuration: toYaml .ConfigData, stringify .ConfigData or hash
// .ConfigData, the first two with indent or nindent.
type configStep struct {
	form   form
	before string
}

func newConfigStep(pipe *parse.PipeNode) step {
	function, rest := configCall(pipe)
	var writer formWriter
	switch function {
	case "toYaml":
		writer = inYAML
	case "stringify":
		writer = inStringified
	case "hash":
		if len(rest) > 0 {
			return nil
		}
		return hashStep{}
	default:
		return nil
	}
	s := &configStep{form: form{writer: writer}}
	if len(rest) == 0 {
		return s
	}
	if len(rest) > 1 || !isCall(rest[0], "indent", 1) && !isCall(rest[0], "nindent", 1) {
		return nil
	}
	by, ok := rest[0].Args[1].(*parse.NumberNode)
	if !ok || !by.IsInt || by.Int64 < 0 || by.Int64 > 40 {
		return nil
	}
	s.form.indent = int(by.Int64)
	if isCall(rest[0], "nindent", 1) {
		s.before = "\n"
	}
	return s
}

// configCall returns the function that is called with .ConfigData alone, and what follows.
func configCall(pipe *parse.PipeNode) (function string, rest []*parse.CommandNode) {
	first := pipe.Cmds[0]
	if len(first.Args) == 2 && isConfigData(first.Args[1]) {
		if called, ok := first.Args[0].(*parse.IdentifierNode); ok {
			return called.Ident, pipe.Cmds[1:]
		}
	}
	if len(first.Args) == 1 && isConfigData(first.Args[0]) && len(pipe.Cmds) > 1 {
		if called, ok := pipe.Cmds[1].Args[0].(*parse.IdentifierNode); ok && len(pipe.Cmds[1].Args) == 1 {
			return called.Ident, pipe.Cmds[2:]
		}
	}
	return "", nil
}

func isConfigData(node parse.Node) bool {
	switch node := node.(type) {
	case *parse.FieldNode:
		return len(node.Ident) == 1 && node.Ident[0] == "ConfigData"
	case *parse.VariableNode:
		return len(node.Ident) == 2 && node.Ident[0] == "$" && node.Ident[1] == "ConfigData"
	default:
		return false
	}
}

func (s *configStep) add(c *composition) bool {
	return c.rope.add(piece{text: s.before}) && c.addEntries(s.form)
}

// addEntries writes all settings in a form.
func (c *composition) addEntries(f form) bool {
	settings := c.values.settings
	if len(settings) == 0 || c.blocks > 0 {
		return false // "{}", or keys that are there twice
	}
	c.blocks++
	if order := f.order(); order != nil {
		if order(settings[0].key) == unknownOrder {
			return false
		}
		settings = slices.Clone(settings)
		slices.SortFunc(settings, func(a, b *setting) int { return order(a.key) - order(b.key) })
	}
	for i, s := range settings {
		fragment := s.fragment(f)
		if !fragment.usable || !c.addFragment(fragment, i == 0 && fragment.leading && f.writer != inRange) {
			return false
		}
	}
	return true
}

// order is the one in which the form's writer writes keys; nil for that of bytes.
func (f form) order() func(*configKey) int {
	switch f.writer {
	case inYAML, inStringified:
		return func(k *configKey) int { return k.byYAML }
	case inConfigMap:
		return func(k *configKey) int { return k.byJSON }
	default:
		return nil
	}
}

func (c *composition) addFragment(f *fragment, trimmed bool) bool {
	c.steps += f.steps
	if f.nested == nil {
		text := f.text
		if trimmed {
			text = f.lines()
		}
		kind := entryPiece
		if c.yaml && !f.entry {
			kind = constantPiece // the file has to be read with it
		}
		return c.add(piece{kind: kind, trimmed: trimmed, text: text, fragment: f})
	}
	first, size := len(c.pieces), c.size
	if !f.nested.compose(c) || len(c.pieces) == first {
		return false
	}
	c.removed += max(0, len(f.text)-(c.size-size))
	if trimmed {
		p := &c.pieces[first]
		p.text = p.text[1:] // the line break, which is text and not of an action
		c.size--
	}
	return true
}

// hashStep prints the hash of the configuration.
type hashStep struct{}

func (hashStep) add(c *composition) bool {
	var sum uint64
	for _, s := range c.values.settings {
		part, ok := s.hash()
		if !ok {
			return false
		}
		sum ^= part
	}
	return c.rope.addHole(strconv.FormatUint(sum, 10))
}

// hash returns what the setting has in the hash of a map that holds it: hashstructure lays those of
// all entries over each other by exclusive or.
func (s *setting) hash() (sum uint64, ok bool) {
	if s.like != nil {
		return s.like.hash()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hashed {
		s.hashed = true
		sum, err := hashstructure.Hash(map[string]any{s.key.name: s.value}, nil)
		s.sum, s.hashable = sum, err == nil
	}
	return s.sum, s.hashable
}
