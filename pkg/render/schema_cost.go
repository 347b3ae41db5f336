package render

// matchWorkPerStep is how many bytes of text times instructions of a pattern make one step.
const matchWorkPerStep = 1000

// tooCostly reports whether checking the values may take more than MaxCheckSteps.
//
// A bound that is quick to compute settles nearly all cases: no way through the schema can be
// taken more than once for a value. Only recursive schemas and very large values need counting.
func (p *schemaPlan) tooCostly(in *Instance) bool {
	limit := p.stepLimit(in)
	perWay := addSteps(2*in.values, mulSteps(in.bytes, p.patternCost)/matchWorkPerStep)
	if mulSteps(p.total, perWay) <= limit {
		return false
	}
	count := costCount{memo: map[costKey]int{}, patternCost: p.patternCost, limit: limit}
	return count.steps(p.root, newShape(in.root)) > limit
}

// stepLimit returns how many steps a check may take. A $dynamicRef is resolved by looking through
// all the subschemas that led there, so the more there can be, the more a step takes.
func (p *schemaPlan) stepLimit(in *Instance) int {
	if !p.dynamic {
		return MaxCheckSteps
	}
	const lookedThroughPerStep = 64
	return MaxCheckSteps / (1 + p.chain*(in.depth+1)/lookedThroughPerStep)
}

// shape is a value as far as its cost depends on it.
type shape struct {
	// bytes is the text to match: the string itself, or the names of the members.
	bytes   int
	members map[string]*shape
	items   []*shape
}

func newShape(value any) *shape {
	s := &shape{}
	switch value := value.(type) {
	case string:
		s.bytes = len(value)
	case map[string]any:
		s.members = make(map[string]*shape, len(value))
		for name, member := range value {
			s.bytes += len(name)
			s.members[name] = newShape(member)
		}
	case []any:
		for _, item := range value {
			s.items = append(s.items, newShape(item))
		}
	}
	return s
}

// costCount counts the steps of a check. What one subschema needs for one value is counted once,
// however often it is met, so that counting is cheap where checking would not be.
type costCount struct {
	memo        map[costKey]int
	patternCost int
	limit       int
}

type costKey struct {
	node  *planNode
	value *shape
}

// steps returns the steps that checking the value takes, or any number above the limit if that is
// exceeded.
func (c *costCount) steps(n *planNode, value *shape) int {
	children := len(value.members) + len(value.items)
	if children == 0 {
		return mulSteps(n.here, c.text(value.bytes))
	}
	key := costKey{n, value}
	if known, found := c.memo[key]; found {
		return known
	}
	if len(c.memo) > c.limit {
		return c.limit + 1
	}
	sum := addSteps(n.weight, addSteps(children/4, c.text(value.bytes)))
	for _, next := range n.same {
		if sum = addSteps(sum, c.steps(next, value)); sum > c.limit {
			break
		}
	}
	sum = addSteps(sum, c.childSteps(n, value))
	c.memo[key] = sum
	return sum
}

func (c *costCount) childSteps(n *planNode, value *shape) int {
	sum := 0
	add := func(next *planNode, child *shape) bool {
		sum = addSteps(sum, c.steps(next, child))
		return sum <= c.limit
	}
	for name, child := range value.members {
		if next := n.properties[name]; next != nil && !add(next, child) {
			return sum
		}
		for _, next := range n.each {
			if !add(next, child) {
				return sum
			}
		}
	}
	for i, child := range value.items {
		if i < len(n.tuple) && !add(n.tuple[i], child) {
			return sum
		}
		for _, next := range n.each {
			if !add(next, child) {
				return sum
			}
		}
	}
	return sum
}

// text returns the steps that matching so much text may take.
func (c *costCount) text(bytes int) int {
	return 1 + mulSteps(bytes, c.patternCost)/matchWorkPerStep
}
