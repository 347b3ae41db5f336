package model

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// audit checks the structure of a document before anything reads it: duplicate keys, nesting,
// aliases and what they expand to. It reports whether the document may be read.
func audit(d *document, limits Limits, diags *diag.List) bool {
	a := auditor{document: d, limits: limits, diags: diags, expanded: map[*yaml.Node]int{}}
	a.nodes(d.root, 1)
	return !a.failed
}

type auditor struct {
	*document
	limits Limits
	diags  *diag.List
	// expanded holds how many nodes an anchored node stands for, so that the size of nested
	// aliases is known without expanding them.
	expanded map[*yaml.Node]int
	failed   bool
}

func (a *auditor) fail(rule string, n *yaml.Node, message string, options ...diag.Option) int {
	a.diags.Error(rule, a.place(n), message, options...)
	a.failed = true
	return 0
}

// nodes returns how many nodes n stands for once its aliases are expanded.
func (a *auditor) nodes(n *yaml.Node, depth int) int {
	switch {
	case a.failed:
		return 0
	case a.limits.Nesting > 0 && depth > a.limits.Nesting:
		return a.fail("too-deep", n, fmt.Sprintf("nested more than %d levels deep", a.limits.Nesting))
	case n.Kind == yaml.AliasNode:
		return a.alias(n)
	case n.Kind == yaml.MappingNode:
		a.uniqueKeys(n)
	}
	total := 1
	for _, child := range n.Content {
		total += a.nodes(child, depth+1)
		if a.limits.Nodes > 0 && total > a.limits.Nodes {
			return a.fail("too-large", n, fmt.Sprintf("the document has more than %d values once its aliases are expanded", a.limits.Nodes))
		}
	}
	if n.Anchor != "" {
		a.expanded[n] = total
	}
	return total
}

func (a *auditor) alias(n *yaml.Node) int {
	if !a.limits.Aliases {
		return a.fail("yaml-alias", n, fmt.Sprintf("YAML aliases such as *%s are not allowed in an application repository", n.Value),
			diag.Hint("write the value out"))
	}
	size, done := a.expanded[n.Alias]
	if !done {
		return a.fail("invalid-yaml", n, fmt.Sprintf("alias *%s stands inside the value that it names", n.Value))
	}
	return size
}

func (a *auditor) uniqueKeys(mapping *yaml.Node) {
	seen := make(map[string]*yaml.Node, len(mapping.Content)/2)
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if key.Kind != yaml.ScalarNode || isMerge(key) {
			continue
		}
		name, _ := keyText(key)
		if first, ok := seen[name]; ok {
			a.diags.Error("duplicate-key", a.place(key), fmt.Sprintf("key %q is given twice", key.Value),
				diag.See(a.place(first), "first given here"), diag.Hint("remove one of them"))
			continue
		}
		seen[name] = key
	}
}
