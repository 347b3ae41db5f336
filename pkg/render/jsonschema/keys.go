package jsonschema

import "maps"

// keys are the top-level keys that a schema looks at, if it does not look at any; closed says that there may be no others.
type keys struct {
	names         []string
	closed, known bool
}

func keysOf(root *part) keys {
	additional, isBool := root.AdditionalProperties.(bool)
	closed := isBool && !additional
	names := map[string]bool{}
	seen := map[*part]bool{}
	for all := []*part{root}; len(all) > 0; {
		p := all[len(all)-1]
		all = all[:len(all)-1]
		if p.AdditionalProperties != nil && !(isBool && p == root) || p.looksAtAll() {
			return keys{}
		}
		if !seen[p] {
			seen[p] = true
			p.addNames(names)
			all = append(all, p.same...)
		}
	}
	if closed {
		return keys{inOrder(root.Properties), true, true}
	}
	return keys{inOrder(names), false, true}
}

// looksAtAll reports whether the part has keywords that concern members whatever they are called.
func (p *part) looksAtAll() bool {
	return p.Bool != nil || p.Enum != nil || p.Const != nil || p.MinProperties != nil || p.MaxProperties != nil ||
		len(p.PatternProperties) > 0 || p.UnevaluatedProperties != nil || len(p.Extensions) > 0
}

func (p *part) addNames(names map[string]bool) {
	need := func(name string, others []string) {
		names[name] = true
		for _, other := range others {
			names[other] = true
		}
	}
	for _, name := range p.Required {
		names[name] = true
	}
	for name := range maps.Keys(p.Properties) {
		names[name] = true
	}
	for name, others := range p.DependentRequired {
		need(name, others)
	}
	for name, dependency := range p.Dependencies {
		others, _ := dependency.([]string)
		need(name, others)
	}
	for name := range p.DependentSchemas {
		names[name] = true
	}
}
