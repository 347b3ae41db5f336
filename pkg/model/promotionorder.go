package model

import (
	"maps"
	"slices"
)

// maxCycles limits how many cycles are reported: environments that all come after each other have too many to read.
const maxCycles = 20

// PromotionOrder orders environments, each after those that come before it and otherwise by name. next has the next ones of
// all. cycles are paths from an environment back to itself, which is at both ends.
func PromotionOrder(next map[string][]string) (order []string, cycles [][]string) {
	names := slices.Sorted(maps.Keys(next))
	isNext := map[string]bool{}
	for _, name := range names {
		for _, to := range next[name] {
			isNext[to] = true
		}
	}
	var path []string // of the depth-first search
	done := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if at := slices.Index(path, name); at >= 0 {
			if len(cycles) < maxCycles {
				cycles = append(cycles, append(slices.Clone(path[at:]), name))
			}
			return
		}
		if done[name] {
			return
		}
		path = append(path, name)
		for _, to := range slices.Backward(slices.Sorted(slices.Values(next[name]))) {
			visit(to)
		}
		path = path[:len(path)-1]
		done[name] = true
		order = append(order, name)
	}
	// The search starts at environments that nothing comes before, so that a cycle is reported from where it is entered.
	// What it does not reach from there is a cycle.
	for _, name := range slices.Backward(names) {
		if !isNext[name] {
			visit(name)
		}
	}
	for _, name := range names {
		visit(name)
	}
	slices.Reverse(order)
	return order, cycles
}

// inPromotionOrder sorts environments, of which each has another name.
func inPromotionOrder(environments []*Environment) {
	next := map[string][]string{}
	for _, e := range environments {
		next[e.Name.Value] = nil
		if e.Promotion == nil {
			continue
		}
		for _, to := range e.Promotion.Next {
			next[e.Name.Value] = append(next[e.Name.Value], to.Value)
		}
	}
	order, _ := PromotionOrder(next)
	position := map[string]int{}
	for i, name := range order {
		position[name] = i
	}
	slices.SortStableFunc(environments, func(a, b *Environment) int { return position[a.Name.Value] - position[b.Name.Value] })
}
