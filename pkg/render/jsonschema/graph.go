package jsonschema

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// maxChain is the maximum number of subschemas in a chain of $ref, allOf etc. that evaluate the same value.
const maxChain = 200

// draft2019 is the first draft in which keywords beside a $ref are evaluated.
const draft2019 = 2019

// maxSteps limits the work of one check. A step is about one subschema that evaluates one value, well under a microsecond.
const maxSteps = 250_000

// graph is the graph of subschemas and their references, from which the cost of a check is computed in advance. The
// library follows every reference each time, so thirty subschemas that each refer twice to the next make a billion steps.
// Counting steps, unlike a time limit, has the same result on every machine.
type graph struct {
	root  *part
	parts []*part
	// byLocation are the parts by location, to find the one of a failure.
	byLocation map[string]*part
}

// part is a compiled subschema.
type part struct {
	*jsonschema.Schema
	// weight is the cost of the subschema alone for one value, in steps; perByte that for a thousand bytes of text.
	weight, perByte int
	// same evaluate the same value as this subschema.
	same []*part
	// members and items evaluate the child of that name or position, each every child or its name.
	members     map[string]*part
	items, each []*part
	// chain is the length of the longest chain over same, 0 if not computed.
	chain     int
	measuring bool
}

// newGraph returns the graph of a compiled schema. It is the last function that changes compiled schemas, which all
// checks share.
func newGraph(root *jsonschema.Schema) *graph {
	g := &graph{byLocation: map[string]*part{}}
	g.root = g.all(root)[0]
	slices.SortFunc(g.parts, func(a, b *part) int { return cmp.Compare(a.Location, b.Location) })
	return g
}

// all returns the parts of the schemas that are not nil.
func (g *graph) all(schemas ...*jsonschema.Schema) []*part {
	var parts []*part
	for _, s := range schemas {
		if s == nil {
			continue
		}
		p := g.byLocation[s.Location]
		if p == nil {
			p = &part{Schema: s}
			g.parts, g.byLocation[s.Location] = append(g.parts, p), p
			g.connect(p)
		}
		parts = append(parts, p)
	}
	return parts
}

// connect sets the edges of a part, and replaces some checks of the library.
func (g *graph) connect(p *part) {
	p.weight, p.perByte = weigh(p.Schema)
	if p.Format != nil && p.Format.Name == "regex" {
		p.Format = &jsonschema.Format{Name: "regex", Validate: validateRegex}
	}
	if p.Ref != nil && p.DraftVersion < draft2019 {
		p.Const = nil // ignored like all keywords beside a $ref, which the library misses for this one
		p.same = g.all(p.Ref)
		return
	}
	p.same = g.all(slices.Concat([]*jsonschema.Schema{p.Ref, p.Not, p.If, p.Then, p.Else}, p.AllOf, p.AnyOf, p.OneOf)...)
	for _, name := range inOrder(p.Dependencies) {
		p.same = append(p.same, g.all(subschema(p.Dependencies[name]))...)
	}
	for _, name := range inOrder(p.DependentSchemas) {
		p.same = append(p.same, g.all(p.DependentSchemas[name])...)
	}
	p.members = make(map[string]*part, len(p.Properties))
	for name, schema := range p.Properties {
		p.members[name] = g.all(schema)[0]
	}
	p.items = g.all(p.PrefixItems...)
	if tuple, isTuple := p.Items.([]*jsonschema.Schema); isTuple {
		p.items = g.all(tuple...)
	}
	p.each = g.all(p.PropertyNames, p.UnevaluatedProperties, p.Contains, p.Items2020, p.UnevaluatedItems,
		subschema(p.AdditionalProperties), subschema(p.Items), subschema(p.AdditionalItems))
	for _, schema := range p.PatternProperties {
		p.each = append(p.each, g.all(schema)...)
	}
	if p.PropertyNames != nil {
		p.Extensions, p.PropertyNames = append(p.Extensions, propertyNames{p.PropertyNames}), nil
	}
}

// propertyNames replaces the check of the library, whose errors may have the wrong path: they share memory with the paths
// of the objects that are checked next.
type propertyNames struct{ names *jsonschema.Schema }

// Validate implements jsonschema.SchemaExt.
func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, value any) {
	members, _ := value.(map[string]any)
	for name := range members {
		var failure *jsonschema.ValidationError
		if errors.As(p.names.Validate(name), &failure) {
			ctx.AddErrors(failure.Causes, &kind.PropertyNames{Property: name})
		}
	}
}

// weigh estimates the cost of a subschema alone, in steps for a value and for a thousand bytes of text.
func weigh(s *jsonschema.Schema) (steps, perByte int) {
	entries := len(s.Required)
	if s.Enum != nil {
		entries += len(s.Enum.Values)
	}
	for _, names := range s.DependentRequired {
		entries += 1 + len(names)
	}
	for _, dependency := range s.Dependencies {
		names, _ := dependency.([]string)
		entries += 1 + len(names)
	}
	perByte = 1
	if re, ours := s.Pattern.(pattern); ours {
		perByte += re.cost
	}
	for re := range s.PatternProperties {
		perByte += re.(pattern).cost
	}
	return 1 + entries/16, perByte
}

// subschema returns the value of a keyword if it is a schema, else nil.
func subschema(keyword any) *jsonschema.Schema {
	schema, _ := keyword.(*jsonschema.Schema)
	return schema
}

func inOrder[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// check reports references to schemas that are built into the library, cycles and chains that are too long.
func (g *graph) check(problems *problems, found *index) bool {
	for _, p := range g.parts {
		if !strings.HasPrefix(p.Location, schemaURL+"#") {
			if found.report(problems); !problems.list.HasErrors() {
				problems.add(ruleOutside, "reference to another document: "+quote(p.Location))
			}
			return false
		}
		// Their target, and with it the cost of a check, depends on the evaluation path.
		if p.DynamicRef != nil || p.RecursiveRef != nil {
			problems.add(ruleInvalid, "$dynamicRef and $recursiveRef are not supported, at "+p.place(201), diag.Hint("use $ref"))
			return false
		}
		if !p.measure(nil, problems) {
			return false
		}
	}
	return true
}

// measure computes the chain of a part. way are the parts that lead to it.
func (p *part) measure(way []*part, problems *problems) bool {
	way = append(way, p)
	switch {
	case p.measuring:
		problems.add(ruleInvalid, "schema refers to itself in a cycle: "+cycle(way))
		return false
	case p.chain > 0:
		return true
	}
	p.measuring = true
	longest := 0
	for _, next := range p.same {
		if !next.measure(way, problems) {
			return false
		}
		longest = max(longest, next.chain)
	}
	p.measuring, p.chain = false, 1+longest
	if p.chain > maxChain {
		problems.add(ruleTooLarge, fmt.Sprintf("schema chains more than %d subschemas for one value, at %s", maxChain, p.place(201)))
		return false
	}
	return true
}

// cycle formats the cycle at the end of the way.
func cycle(way []*part) string {
	var steps []string
	for _, p := range way[slices.Index(way, way[len(way)-1]):] {
		steps = append(steps, p.place(shownLength))
	}
	if len(steps) > 6 {
		steps = slices.Concat(steps[:3], []string{"…"}, steps[len(steps)-2:])
	}
	return strings.Join(steps, " → ")
}

func (p *part) place(length int) string {
	return diag.ShortenCharacters("#"+pointerOf(p.Location), length)
}

// tooCostly reports whether checking the value may take more than maxSteps.
func (g *graph) tooCostly(value any) bool {
	var c counter
	return !c.add(g.root, value)
}

// counter counts the steps of a check.
type counter struct{ steps int }

// add adds the steps of a part that evaluates a value. It returns false if there are too many.
func (c *counter) add(p *part, value any) bool {
	c.steps += p.weight
	bytes := 0
	switch value := value.(type) {
	case string:
		bytes = len(value)
	case []any:
		c.steps += len(value) / 4
		for i, item := range value {
			if i < len(p.items) && !c.add(p.items[i], item) || !c.addAll(p.each, item) {
				return false
			}
		}
	case map[string]any:
		c.steps += len(value) / 4
		for name, member := range value {
			bytes += len(name)
			if next := p.members[name]; next != nil && !c.add(next, member) || !c.addAll(p.each, member) {
				return false
			}
		}
	}
	c.steps += bytes * p.perByte / 1000
	return c.steps <= maxSteps && c.addAll(p.same, value)
}

func (c *counter) addAll(parts []*part, value any) bool {
	for _, p := range parts {
		if !c.add(p, value) {
			return false
		}
	}
	return true
}
