package incremental

import (
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"go.yaml.in/yaml/v3"
)

// blockEntry reports whether lines of YAML are exactly one entry of a block mapping with that key, whatever
// entries precede and follow them. indent is the column of the key.
func blockEntry(lines, key string) (indent int, ok bool) {
	indent = len(lines) - len(strings.TrimLeft(lines, " "))
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
