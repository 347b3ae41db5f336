package incremental

import (
	"slices"
	"strconv"
	"text/template/parse"

	"github.com/kalypso-gitops/kalypso/pkg/render/config"
)

// configStep writes the whole configuration: toYaml .ConfigData or stringify .ConfigData, possibly with indent or
// nindent.
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

// configCall returns the function that is called with .ConfigData as its only argument, and the commands that follow.
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
	return c.builder.add(piece{text: s.before}) && c.addEntries(s.form)
}

// addEntries writes all settings in a form.
func (c *composition) addEntries(f form) bool {
	settings := c.Values.Settings
	if len(settings) == 0 || c.blocks > 0 {
		return false // "{}", or duplicate keys
	}
	c.blocks++
	if order, known := c.orders.of(f.writer); !known {
		return false
	} else if order != nil {
		settings = slices.Clone(settings)
		slices.SortFunc(settings, func(a, b *config.Setting) int { return order[a.Key.Number] - order[b.Key.Number] })
	}
	for i, s := range settings {
		entry := entryOf(s, f)
		if !entry.usable || !c.addSegment(entry, i == 0 && entry.Leading && f.writer != inRange) {
			return false
		}
	}
	return true
}

func (c *composition) addSegment(f *writtenEntry, trimmed bool) bool {
	c.steps += f.steps
	if f.nested == nil {
		text := f.Text
		if trimmed {
			text = f.Lines()
		}
		kind := entryPiece
		if c.yaml && !f.Entry {
			kind = constantPiece // the proof must read it
		}
		return c.add(piece{kind: kind, trimmed: trimmed, text: text, segment: &f.Segment})
	}
	first, size := len(c.pieces), c.size
	if !f.nested.compose(c) || len(c.pieces) == first {
		return false
	}
	c.removed += max(0, len(f.Text)-(c.size-size))
	if trimmed {
		p := &c.pieces[first]
		p.text = p.text[1:] // the line break, which is not part of an action
		c.size--
	}
	return true
}

// hashStep prints the hash of the configuration.
type hashStep struct{}

func (hashStep) add(c *composition) bool {
	var sum uint64
	for _, s := range c.Values.Settings {
		part, ok := hashOf(s)
		if !ok {
			return false
		}
		sum ^= part
	}
	return c.builder.addPlaceholder(strconv.FormatUint(sum, 10), false)
}
