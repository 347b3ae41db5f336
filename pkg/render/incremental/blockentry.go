package incremental

import (
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
	"go.yaml.in/yaml/v3"
)

// blockEntry reports whether lines of YAML are exactly one entry of a block mapping with that key, and
// stay what they are whatever entries stand around them.
func blockEntry(lines, key string) (indent int, ok bool) {
	indent = len(lines) - len(strings.TrimLeft(lines, " "))
	if isSimpleEntry(lines, key, indent) {
		return indent, true
	}
	for i, line := range strings.Split(lines, "\n") {
		content := strings.TrimLeft(line, " ")
		if i > 0 && content != "" && len(line)-len(content) <= indent {
			return 0, false
		}
	}
	roots, flaw := verify.AllDocuments(lines + "\n")
	if flaw != nil || len(roots) != 1 {
		return 0, false
	}
	root := roots[0]
	if root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0 || len(root.Content) != 2 || root.Column != indent+1 ||
		root.Content[0].Value != key || root.Content[0].Line != 1 || hasReferences(root) || len(verify.DuplicateKeys(root)) > 0 {
		return 0, false
	}
	return indent, true
}

// isSimpleEntry is blockEntry for the entries that are most frequent, without reading YAML: a text
// that needs no quotes or has nothing special between them, or a block of printable lines.
func isSimpleEntry(lines, key string, indent int) bool {
	rest, ok := strings.CutPrefix(lines[indent:], key+": ")
	if !ok || kindOf(key) != plainHole || strings.Contains(key, ":") {
		return false
	}
	first, block, isBlock := strings.Cut(rest, "\n")
	if !isBlock {
		opened, isOpened := strings.CutPrefix(rest, "'")
		quoted, isClosed := strings.CutSuffix(opened, "'")
		return kindOf(rest) == plainHole || kindOf(rest) == quotedHole ||
			isOpened && isClosed && yamltext.IsPrintable(quoted) && !strings.Contains(quoted, "'")
	}
	if first != "|" && first != "|-" {
		return false
	}
	depth := len(block) - len(strings.TrimLeft(block, " "))
	if depth <= indent {
		return false
	}
	for line := range strings.SplitSeq(block, "\n") {
		content, deepEnough := strings.CutPrefix(line, block[:depth])
		if line != "" && (!deepEnough || !yamltext.IsVisible(content)) {
			return false
		}
	}
	return true
}

// hasReferences reports whether there is an anchor or an alias.
func hasReferences(n *yaml.Node) bool {
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		return true
	}
	for _, child := range n.Content {
		if hasReferences(child) {
			return true
		}
	}
	return false
}
