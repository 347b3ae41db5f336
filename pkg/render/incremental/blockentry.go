package incremental

import (
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
	"go.yaml.in/yaml/v3"
)

// blockEntry reports whether lines of YAML are exactly one entry of a block mapping with that key, whatever
// entries precede and follow them. indent is the column of the key.
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

// isSimpleEntry is blockEntry for the most frequent entries, without reading YAML: plain text, quoted text
// without escapes, or a block of printable lines.
func isSimpleEntry(lines, key string, indent int) bool {
	rest, ok := strings.CutPrefix(lines[indent:], key+": ")
	if !ok || kindOf(key) != plainPlaceholder || strings.Contains(key, ":") {
		return false
	}
	first, block, isBlock := strings.Cut(rest, "\n")
	if !isBlock {
		opened, isOpened := strings.CutPrefix(rest, "'")
		quoted, isClosed := strings.CutSuffix(opened, "'")
		return kindOf(rest) == plainPlaceholder || kindOf(rest) == quotedPlaceholder ||
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

// hasReferences reports whether a node has an anchor or an alias, or contains one.
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
