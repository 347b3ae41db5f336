package promote

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Chain is the order of the environments of a control plane: from each, a commit is promoted to those that
// are next. It may fan out and in, and has no cycle. It is read-only.
type Chain struct {
	// next has all environments.
	next, previous map[string][]string
	order          []string
}

// NewChain orders environments, whose names are unique, by their spec.promotion. It returns nil
// if there are errors.
func NewChain(environments []*model.Environment) (*Chain, diag.List) {
	var diags diag.List
	byName := map[string]*model.Environment{}
	for _, e := range environments {
		byName[e.Name.Value] = e
	}
	names := slices.Sorted(maps.Keys(byName))
	next := map[string][]string{}
	for _, name := range names {
		next[name] = checkedNext(byName[name], names, &diags)
	}
	chain, cycles := newChain(next)
	for _, cycle := range cycles {
		from, to := byName[cycle[len(cycle)-2]], cycle[len(cycle)-1] // the step that closes it
		i := slices.IndexFunc(from.Promotion.Next, func(t model.Text) bool { return t.Value == to })
		diags.Error("promotion-cycle", from.Promotion.Next[i].At, "environments form a cycle: "+strings.Join(cycle, " → "),
			diag.Hint("remove one of these steps"))
	}
	if diags.HasErrors() {
		return nil, diags
	}
	return chain, diags
}

// checkedNext returns the next environments of one, in the order in which they are written, without
// those that cannot be.
func checkedNext(e *model.Environment, names []string, diags *diag.List) []string {
	if e.Promotion == nil {
		return nil
	}
	var next []string
	first := map[string]diag.Place{}
	for _, to := range e.Promotion.Next {
		_, known := slices.BinarySearch(names, to.Value)
		at, twice := first[to.Value]
		switch {
		case to.Value == e.Name.Value:
			diags.Error("promotion-cycle", to.At, fmt.Sprintf("environments form a cycle: %s → %[1]s", to.Value), diag.Hint("remove it"))
		case !known:
			diags.Error("promotion-unknown", to.At, fmt.Sprintf("next environment %q of %q not found", to.Value, e.Name.Value),
				diag.Hint(diag.DidYouMean(to.Value, names)))
		case twice:
			diags.Error("promotion-twice", to.At, fmt.Sprintf("next environment %q of %q is duplicated", to.Value, e.Name.Value),
				diag.See(at, "first named here"), diag.Hint("remove one of them"))
		default:
			first[to.Value] = to.At
			next = append(next, to.Value)
		}
	}
	return next
}

// Next returns the environments that come after one, in the order in which they are written.
func (c *Chain) Next(name string) []string { return slices.Clone(c.next[name]) }

// Previous returns the environments that come before one, in order of name.
func (c *Chain) Previous(name string) []string { return slices.Clone(c.previous[name]) }

// Order returns all environments, each after those that come before it. It is the same whatever the order
// in which the chain is written.
func (c *Chain) Order() []string { return slices.Clone(c.order) }

// With returns a chain in which those after one environment are replaced; none end the chain there. The error is
// wrong usage: an environment that does not exist, or a cycle.
func (c *Chain) With(name string, next []string) (*Chain, error) {
	for _, n := range append([]string{name}, next...) {
		if _, known := c.next[n]; !known {
			return nil, c.unknown(n)
		}
	}
	replaced := maps.Clone(c.next)
	replaced[name] = nil
	for i, n := range next {
		if slices.Index(next, n) == i {
			replaced[name] = append(replaced[name], n)
		}
	}
	chain, cycles := newChain(replaced)
	if len(cycles) > 0 {
		return nil, fmt.Errorf(`with "%s" after %q environments would form a cycle: %s`, strings.Join(next, `", "`), name, strings.Join(cycles[0], " → "))
	}
	return chain, nil
}

func (c *Chain) unknown(name string) error {
	message := fmt.Sprintf("environment %q not found", name)
	if hint := diag.DidYouMean(name, slices.Sorted(maps.Keys(c.next))); hint != "" {
		message += " (" + hint + ")"
	}
	return errors.New(message)
}

// newChain makes a chain of the next environments of all. It must not be used if there are cycles.
func newChain(next map[string][]string) (c *Chain, cycles [][]string) {
	c = &Chain{next: next, previous: map[string][]string{}}
	for _, from := range slices.Sorted(maps.Keys(next)) {
		for _, to := range next[from] {
			c.previous[to] = append(c.previous[to], from)
		}
	}
	c.order, cycles = model.PromotionOrder(next)
	return c, cycles
}
