package model

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// manifest decodes one entry of a template: a text or an object.
func (d *decoder) manifest(n *yaml.Node, path string) Manifest {
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

func (d *decoder) block(n *yaml.Node, path string) Block {
	block := Block{Text: d.text(n, path), Indent: -1}
	if n.Style&yaml.LiteralStyle == 0 {
		return block
	}
	// The library does not tell the indentation; the first line of the block that has text does.
	for i := n.Line; i < len(d.lines); i++ {
		line := d.lines[i]
		for column := range len(line) {
			if line[column] != ' ' {
				block.Indent = column
				return block
			}
		}
	}
	return block
}

// value decodes any node to what sigs.k8s.io/yaml would make of it, except that strings become
// Blocks, which know their places.
func (d *decoder) value(n *yaml.Node, path string) any {
	n = target(n)
	switch n.Kind {
	case yaml.MappingNode:
		entries := d.entries(n, path)
		object := make(map[string]any, len(entries))
		for _, e := range entries {
			object[e.name] = d.value(e.value, join(path, e.name))
		}
		return object
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = d.value(item, fmt.Sprintf("%s[%d]", path, i))
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
