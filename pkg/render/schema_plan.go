package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaPlan knows what checking values against a schema costs, before it is done. The library
// follows every reference as often as it is met, so that thirty subschemas that each refer twice
// to the next make a billion steps. Counting beforehand, unlike a time limit, gives the same
// answer on every machine.
type schemaPlan struct {
	doc   *jsonNode
	root  *planNode
	nodes map[*jsonschema.Schema]*planNode
	// byLocation finds the subschema that a failure speaks of.
	byLocation map[string]*planNode
	// total bounds the steps per value; saturated for schemas that recur into nested values.
	total int
	// chain is the longest chain of subschemas for one value.
	chain int
	// dynamic is set if references are resolved while checking.
	dynamic bool
	// patternCost is the cost of the most expensive pattern.
	patternCost int
}

// planNode is a compiled subschema as the plan sees it.
type planNode struct {
	schema *jsonschema.Schema
	// weight is the work that the subschema does itself for one value, in steps.
	weight int
	// same look at the value that this subschema looks at.
	same []*planNode
	// properties and tuple look at the child of that name or position, each at every child.
	properties map[string]*planNode
	tuple      []*planNode
	each       []*planNode

	// chain and here are the longest chain and the sum of weights over same, total the sum over
	// everything below.
	chain, here, total   int
	sameState, fullState visitState
}

type visitState int

const (
	unvisited visitState = iota
	visiting
	visited
)

// planSchema walks through what the library made of a schema. It reports cycles and excess and
// returns nil then.
func planSchema(doc *jsonNode, roots []*jsonschema.Schema, problems *schemaProblems) *schemaPlan {
	p := &schemaPlan{
		doc:         doc,
		nodes:       map[*jsonschema.Schema]*planNode{},
		byLocation:  map[string]*planNode{},
		patternCost: 1,
	}
	ordered := p.discover(roots)
	for _, n := range ordered {
		if !strings.HasPrefix(n.schema.Location, schemaURL+"#") {
			problems.add(ruleSchemaRefOutside, fmt.Sprintf("a reference leads out of the schema: %s", quoteShort(n.schema.Location)))
			return nil
		}
		if n.schema.RecursiveRef != nil && n.schema.RecursiveRef.RecursiveAnchor && entersSideways(ordered) {
			problems.add(ruleInvalidSchema, "a $ref leads into the middle of a subschema with $recursiveAnchor",
				hintDynamicRef())
			return nil
		}
	}
	p.connect(ordered)
	for _, n := range ordered {
		if !measureSame(n, nil, problems) {
			return nil
		}
		p.chain = max(p.chain, n.chain)
		p.dynamic = p.dynamic || n.schema.DynamicRef != nil || n.schema.RecursiveRef != nil
	}
	p.root = p.nodes[roots[0]]
	p.total = measureFull(p.root)
	prepare(ordered)
	return p
}

// discover lists all subschemas that can be reached, in a fixed order.
func (p *schemaPlan) discover(roots []*jsonschema.Schema) []*planNode {
	var ordered []*planNode
	add := func(schema *jsonschema.Schema) {
		if schema == nil || p.nodes[schema] != nil {
			return
		}
		ignoreBesideRef(schema)
		n := &planNode{schema: schema, weight: weigh(schema)}
		p.nodes[schema] = n
		p.byLocation[schema.Location] = n
		ordered = append(ordered, n)
	}
	for _, root := range roots {
		add(root)
	}
	for i := 0; i < len(ordered); i++ {
		schema := ordered[i].schema
		for _, next := range sameValue(schema) {
			add(next)
		}
		for _, name := range keysInOrder(schema.Properties) {
			add(schema.Properties[name])
		}
		for _, next := range positions(schema) {
			add(next)
		}
		for _, next := range everyChild(schema) {
			add(next)
		}
		p.notePatterns(schema)
	}
	return ordered
}

// ignoreBesideRef drops what drafts before 2019-09 ignore beside a $ref. The library drops the
// keywords of draft-04 only.
func ignoreBesideRef(s *jsonschema.Schema) {
	if s.Ref == nil || s.DraftVersion >= draft2019 {
		return
	}
	s.Const, s.Contains, s.PropertyNames, s.If, s.Then, s.Else = nil, nil, nil, nil, nil, nil
}

func (p *schemaPlan) notePatterns(schema *jsonschema.Schema) {
	if re, isOurs := schema.Pattern.(*pattern); isOurs {
		p.patternCost = max(p.patternCost, re.cost)
	}
	for re := range schema.PatternProperties {
		if re, isOurs := re.(*pattern); isOurs {
			p.patternCost = max(p.patternCost, re.cost)
		}
	}
}

// connect draws the edges, among them all that references of unknown target may take.
func (p *schemaPlan) connect(ordered []*planNode) {
	dynamic, recursive := map[string][]*planNode{}, []*planNode(nil)
	for _, n := range ordered {
		if name := n.schema.DynamicAnchor; name != "" {
			dynamic[name] = append(dynamic[name], n)
		}
		if n.schema.RecursiveAnchor {
			recursive = append(recursive, n)
		}
	}
	for _, n := range ordered {
		n.same = p.all(sameValue(n.schema))
		if ref := n.schema.DynamicRef; ref != nil && ref.Ref.DynamicAnchor == ref.Anchor {
			n.same = append(n.same, dynamic[ref.Anchor]...)
		}
		if ref := n.schema.RecursiveRef; ref != nil && ref.RecursiveAnchor {
			n.same = append(n.same, recursive...)
		}
		n.properties = make(map[string]*planNode, len(n.schema.Properties))
		for name, schema := range n.schema.Properties {
			n.properties[name] = p.nodes[schema]
		}
		n.tuple = p.all(positions(n.schema))
		n.each = p.all(everyChild(n.schema))
	}
}

func (p *schemaPlan) all(schemas []*jsonschema.Schema) []*planNode {
	nodes := make([]*planNode, len(schemas))
	for i, schema := range schemas {
		nodes[i] = p.nodes[schema]
	}
	return nodes
}

// entersSideways reports whether a $ref leads from outside into the middle of a subschema with
// $recursiveAnchor. The library then resolves $recursiveRef to that middle, which the plan cannot
// foresee.
func entersSideways(ordered []*planNode) bool {
	for _, anchored := range ordered {
		if !anchored.schema.RecursiveAnchor {
			continue
		}
		inside := anchored.schema.Location + "/"
		for _, n := range ordered {
			target := n.schema.Ref
			if target != nil && strings.HasPrefix(target.Location, inside) &&
				n != anchored && !strings.HasPrefix(n.schema.Location, inside) {
				return true
			}
		}
	}
	return false
}

// measureSame computes chain and here; it reports a cycle, which no check could ever leave.
func measureSame(n *planNode, path []*planNode, problems *schemaProblems) bool {
	path = append(path, n)
	switch {
	case n.sameState == visited:
		return true
	case n.sameState == visiting:
		problems.add(ruleInvalidSchema, "schema refers to itself without end: "+cycleText(path))
		return false
	}
	n.sameState = visiting
	n.chain, n.here = 1, n.weight
	for _, next := range n.same {
		if !measureSame(next, path, problems) {
			return false
		}
		n.chain = max(n.chain, 1+next.chain)
		n.here = addSteps(n.here, next.here)
	}
	n.sameState = visited
	if n.chain > MaxSchemaChain {
		problems.add(ruleSchemaTooLarge, fmt.Sprintf("schema chains more than %d subschemas for one value, at %s",
			MaxSchemaChain, shorten(pointerText(n.schema), 200)))
	}
	return n.chain <= MaxSchemaChain
}

// cycleText shows the way from a subschema back to itself, with which the path ends.
func cycleText(path []*planNode) string {
	start := slices.Index(path, path[len(path)-1])
	var steps []string
	for _, n := range path[start:] {
		steps = append(steps, shorten(pointerText(n.schema), shownLength))
	}
	if len(steps) > 6 {
		steps = slices.Concat(steps[:3], []string{"…"}, steps[len(steps)-2:])
	}
	return strings.Join(steps, " → ")
}

func pointerText(schema *jsonschema.Schema) string { return "#" + pointerOf(schema.Location) }

// measureFull sums up the weights over all ways through the schema; recursion has no end and
// saturates.
func measureFull(n *planNode) int {
	if n.fullState == visiting {
		return math.MaxInt
	}
	if n.fullState == visited {
		return n.total
	}
	n.fullState = visiting
	total := n.weight
	for _, next := range n.same {
		total = addSteps(total, measureFull(next))
	}
	for _, next := range n.properties {
		total = addSteps(total, measureFull(next))
	}
	for _, next := range n.tuple {
		total = addSteps(total, measureFull(next))
	}
	for _, next := range n.each {
		total = addSteps(total, measureFull(next))
	}
	n.total, n.fullState = total, visited
	return total
}

// keywords returns how many keywords a subschema has in the text.
func (p *schemaPlan) keywords(schema *jsonschema.Schema) int {
	return len(p.doc.at(splitPointer(pointerOf(schema.Location))).keys)
}

// prepare puts our own checks in the place of the library's. It must be the last to touch the
// compiled schemas, which are shared by all checks from then on.
func prepare(ordered []*planNode) {
	for _, n := range ordered {
		schema := n.schema
		if schema.Format != nil && schema.Format.Name == "regex" {
			schema.Format = &jsonschema.Format{Name: "regex", Validate: validateRegex}
		}
		if schema.PropertyNames != nil {
			schema.Extensions = append(schema.Extensions, propertyNames{schema.PropertyNames})
			schema.PropertyNames = nil
		}
	}
}

// addSteps adds without overflow.
func addSteps(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// mulSteps multiplies counts without overflow.
func mulSteps(a, b int) int {
	if a > 0 && b > math.MaxInt/a {
		return math.MaxInt
	}
	return a * b
}
