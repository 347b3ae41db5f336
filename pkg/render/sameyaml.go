package render

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sameShell reports whether a file that is no YAML is the one rendered with placeholders. What a
// shell would make of a string cannot be known, so one that is not plain must not occur.
func (d *disguise) sameShell(rendered, disguised string) bool {
	return rendered == d.restorer(shellInert.MatchString).Replace(disguised)
}

// sameYAML reports whether rendered YAML differs from the one with placeholders in nothing but the
// values that these stand for.
func (d *disguise) sameYAML(rendered, disguised string) bool {
	if rendered == disguised {
		return true
	}
	a, errA := allDocuments(rendered)
	b, errB := allDocuments(disguised)
	if errA != nil || errB != nil {
		return false
	}
	restore := d.restorer(anyText)
	return slices.EqualFunc(a, b, func(a, b *yaml.Node) bool { return sameNode(a, b, restore) })
}

// sameNode compares structure and values. A value that a function made of the placeholder, so that
// it cannot be found again, may differ as long as it is still one value.
func sameNode(rendered, expected *yaml.Node, restore *strings.Replacer) bool {
	if rendered.Kind != expected.Kind || rendered.Anchor != expected.Anchor {
		return false
	}
	switch rendered.Kind {
	case yaml.AliasNode:
		return rendered.Value == expected.Value
	case yaml.ScalarNode:
		return sameScalar(rendered, expected, restore)
	}
	return slices.EqualFunc(rendered.Content, expected.Content, func(a, b *yaml.Node) bool { return sameNode(a, b, restore) })
}

func sameScalar(rendered, expected *yaml.Node, restore *strings.Replacer) bool {
	switch restored := restore.Replace(expected.Value); {
	case explicitTag(rendered) != explicitTag(expected):
		return false
	case restored != expected.Value:
		return rendered.Value == restored && isText(rendered)
	case rendered.Value == expected.Value:
		return true
	default:
		return isText(rendered) || !isText(expected) && rendered.ShortTag() == expected.ShortTag()
	}
}

// isText reports whether every reader takes a scalar for a string.
func isText(n *yaml.Node) bool {
	return !isPlainScalar(n) || explicitTag(n) == "!!str" || readsAsText(n.Value)
}

// isPlainScalar reports whether a scalar is neither in quotes nor a block.
func isPlainScalar(n *yaml.Node) bool {
	const others = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Style&others == 0
}

func explicitTag(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle != 0 {
		return n.ShortTag()
	}
	return ""
}
