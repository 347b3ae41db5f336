package yamldoc

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Check looks at the structure of a document before anything reads it: duplicate keys, nesting,
// aliases and what they expand to. It reports whether the document may be read.
func (d *Document) Check(limits Limits, diags *diag.List) bool {
	a := auditor{Document: d, limits: limits, diags: diags, anchored: map[*yaml.Node]extent{}}
	a.measure(d.Root, 0)
	return !a.failed
}

// extent is the size of a value after its aliases are expanded.
type extent struct {
	nodes int
	// levels is how many maps and lists lie within each other; 0 for a scalar.
	levels int
}

type auditor struct {
	*Document
	limits Limits
	diags  *diag.List
	// anchored holds the extent of the values that have an anchor, so that the extent of nested
	// aliases is known without expanding them.
	anchored map[*yaml.Node]extent
	failed   bool
}

func (a *auditor) fail(rule string, n *yaml.Node, message string, options ...diag.Option) extent {
	a.diags.Error(rule, a.Place(n), message, options...)
	a.failed = true
	return extent{}
}

// measure returns the extent of n, which lies in that many maps and lists.
func (a *auditor) measure(n *yaml.Node, outer int) extent {
	total := extent{nodes: 1}
	switch n.Kind {
	case yaml.AliasNode:
		return a.alias(n, outer)
	case yaml.MappingNode:
		a.uniqueKeys(n)
		total.levels = 1
	case yaml.SequenceNode:
		total.levels = 1
	}
	if a.tooDeep(outer + total.levels) {
		return a.tooDeepAt(n)
	}
	for _, child := range n.Content {
		inner := a.measure(child, outer+1)
		if a.failed {
			return total
		}
		total = extent{total.nodes + inner.nodes, max(total.levels, inner.levels+1)}
		if a.limits.Nodes > 0 && total.nodes > a.limits.Nodes {
			return a.fail("too-large", n, fmt.Sprintf("the document has more than %d values once its aliases are expanded", a.limits.Nodes))
		}
	}
	if n.Anchor != "" {
		a.anchored[n] = total
	}
	return total
}

func (a *auditor) tooDeep(levels int) bool { return a.limits.Nesting > 0 && levels > a.limits.Nesting }

func (a *auditor) tooDeepAt(n *yaml.Node) extent {
	return a.fail("too-deep", n, fmt.Sprintf("nested more than %d levels deep", a.limits.Nesting))
}

func (a *auditor) alias(n *yaml.Node, outer int) extent {
	if !a.limits.Aliases {
		return a.fail("yaml-alias", n, fmt.Sprintf("YAML aliases such as *%s are not allowed in an application repository", n.Value),
			diag.Hint("write the value out"))
	}
	named, done := a.anchored[n.Alias]
	if !done {
		return a.fail("invalid-yaml", n, fmt.Sprintf("alias *%s is inside the value that it refers to", n.Value))
	}
	if a.tooDeep(outer + named.levels) {
		return a.tooDeepAt(n)
	}
	return named
}

func (a *auditor) uniqueKeys(mapping *yaml.Node) {
	seen := make(map[string]*yaml.Node, len(mapping.Content)/2)
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key := Deref(mapping.Content[i])
		if key.Kind != yaml.ScalarNode || IsMerge(key) {
			continue
		}
		name, _ := KeyText(key)
		at := a.Place(mapping.Content[i])
		if first, ok := seen[name]; ok {
			if Enough(a.diags) {
				a.failed = true
				return
			}
			a.diags.Error("duplicate-key", at, fmt.Sprintf("duplicate key %q", key.Value),
				diag.See(a.Place(first), "first defined here"), diag.Hint("remove one of them"))
			continue
		}
		seen[name] = mapping.Content[i]
	}
}

// MostReported is how many diagnostics of one severity are kept for one file: a file of the size
// that is allowed could have hundreds of thousands.
const MostReported = 100

// Enough reports whether a document has as many diagnostics as are reported.
func Enough(diags *diag.List) bool { return len(*diags) > 3*MostReported }
