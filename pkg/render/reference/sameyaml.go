package reference

import (
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
	"go.yaml.in/yaml/v3"
)

// sameShell reports whether a file that is no YAML is the one rendered with placeholders. What a
// shell would make of a string cannot be known, so one that is not plain must not occur.
func (d *placeholders) sameShell(rendered, withPlaceholders string) bool {
	return rendered == d.restorer(shellPlain.MatchString).Replace(withPlaceholders)
}

// sameYAML reports whether rendered YAML differs from the one with placeholders in nothing but the
// values that these stand for. probed returns the YAML with placeholders that stay one value only if a
// function escapes them.
func (d *placeholders) sameYAML(rendered, withPlaceholders string, probed func() string) bool {
	if rendered == withPlaceholders {
		return true
	}
	a, errA := verify.AllDocuments(rendered)
	b, errB := verify.AllDocuments(withPlaceholders)
	if errA != nil || errB != nil {
		return false
	}
	c := &comparison{restore: d.restorer(anyText), rendered: strings.Split(rendered, "\n"), expected: strings.Split(withPlaceholders, "\n")}
	if slices.EqualFunc(a, b, c.sameNode) {
		return true
	}
	p, errP := verify.AllDocuments(probed())
	c.escaped = map[*yaml.Node]bool{}
	return errP == nil && slices.EqualFunc(b, p, c.findEscaped) && slices.EqualFunc(a, b, c.sameNode)
}

// comparison compares two YAML texts.
type comparison struct {
	restore *strings.Replacer
	// rendered and expected are their lines.
	rendered, expected []string
	// escaped are the expected scalars that stay in double quotes for any printed text.
	escaped map[*yaml.Node]bool
}

// sameNode compares structure and values. A value that a function made of the placeholder, so that
// it cannot be found again, may differ as long as it is still one value.
func (c *comparison) sameNode(rendered, expected *yaml.Node) bool {
	if rendered.Kind != expected.Kind || rendered.Anchor != expected.Anchor {
		return false
	}
	switch rendered.Kind {
	case yaml.AliasNode:
		return rendered.Value == expected.Value
	case yaml.ScalarNode:
		return c.sameScalar(rendered, expected)
	}
	return slices.EqualFunc(rendered.Content, expected.Content, c.sameNode)
}

func (c *comparison) sameScalar(rendered, expected *yaml.Node) bool {
	switch restored := c.restore.Replace(expected.Value); {
	case yamltext.ExplicitTag(rendered) != yamltext.ExplicitTag(expected):
		return false
	case restored != expected.Value:
		return rendered.Value == restored && yamltext.IsText(rendered) ||
			rendered.Style&yaml.DoubleQuotedStyle != 0 && c.escaped[expected] || c.sameBlock(rendered, expected)
	case rendered.Value == expected.Value:
		return true
	default:
		return yamltext.IsText(rendered) || !yamltext.IsText(expected) && rendered.ShortTag() == expected.ShortTag()
	}
}

// findEscaped records the scalars that are in double quotes both in expected and in probed, which has other
// placeholders. It reports whether the two have the same structure.
func (c *comparison) findEscaped(expected, probed *yaml.Node) bool {
	c.escaped[expected] = expected.Style&probed.Style&yaml.DoubleQuotedStyle != 0
	return expected.Kind == probed.Kind && slices.EqualFunc(expected.Content, probed.Content, c.findEscaped)
}

// sameBlock reports whether two scalars are literal blocks with the same indentation whose values are exactly
// their lines. YAML does not interpret the text of such a block, so any printed text stays one string.
func (c *comparison) sameBlock(rendered, expected *yaml.Node) bool {
	if rendered.Style&expected.Style&yaml.LiteralStyle == 0 {
		return false
	}
	by, ok := blockIndent(c.rendered, rendered)
	as, okExpected := blockIndent(c.expected, expected)
	return ok && okExpected && by == as
}

// blockIndent returns the indentation of a literal block in spaces; ok is false if its value differs from its
// lines.
func blockIndent(lines []string, block *yaml.Node) (indent int, ok bool) {
	value := strings.Split(strings.TrimRight(block.Value, "\n"), "\n")
	if len(lines) < block.Line+len(value) {
		return 0, false
	}
	indent = -1
	for i, text := range value {
		line := lines[block.Line+i]
		by := len(line) - len(text)
		switch {
		case text == "" && strings.Trim(line, " ") == "":
		case by < 0 || line != strings.Repeat(" ", by)+text || indent >= 0 && by != indent:
			return 0, false
		default:
			indent = by
		}
	}
	return indent, indent > 0
}
