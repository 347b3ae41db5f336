package model

import (
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"
)

// manifest decodes one entry of a template: a text or an object.
func (d *decoder) manifest(n *yaml.Node, path *trail) Manifest {
	m := Manifest{At: d.place(n)}
	switch n.Kind {
	case yaml.MappingNode:
		m.Object, _ = d.value(n, path).(map[string]any)
	case yaml.ScalarNode:
		m.Text = d.block(n, path)
	default:
		d.wrongType(n, path, "a text or an object")
	}
	return m
}

func (d *decoder) block(n *yaml.Node, path *trail) Block {
	block := Block{Text: d.text(n, path), Indent: -1}
	if n.Style&yaml.LiteralStyle != 0 {
		block.Indent = d.indent(n)
	}
	return block
}

// indent returns how many columns the lines of a literal block are indented. The library does not
// tell; the first line that has text does, less the blanks that belong to the value. It is -1 if
// that line is not where it belongs, as with a tag on a line before the block.
func (d *decoder) indent(n *yaml.Node) int {
	first := firstText(strings.SplitSeq(n.Value, "\n"))
	written := firstText(d.content.after(n.Line))
	blanks := len(written) - len(first)
	if first == "" || blanks < 0 || strings.Trim(written[:blanks], " ") != "" || written[blanks:] != first {
		return -1
	}
	return blanks
}

// firstText returns the first line that is not blank.
func firstText(lines iter.Seq[string]) string {
	for line := range lines {
		if strings.Trim(line, " ") != "" {
			return line
		}
	}
	return ""
}

// value decodes any node to what sigs.k8s.io/yaml would make of it, except that strings become
// Blocks, which know their places.
func (d *decoder) value(n *yaml.Node, path *trail) any {
	n = target(n)
	switch n.Kind {
	case yaml.MappingNode:
		entries := d.entries(n, path)
		object := make(map[string]any, len(entries))
		for _, e := range entries {
			object[e.name] = d.value(e.value, path.key(e.name))
		}
		return object
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			if full(d.diags) {
				break
			}
			list[i] = d.value(item, path.item(i))
		}
		return list
	default:
		value, ok := resolve(n)
		if !ok {
			d.wrongTag(n, path)
		}
		if _, isString := value.(string); isString {
			return d.block(n, path)
		}
		return value
	}
}
