package impact

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
)

// Values are what changes on the same targets.
type Values struct {
	// Targets are indexes into Change.Targets, in order.
	Targets []int
	Changes []Value
}

// Value is what happens to a value.
type Value struct {
	change.ValueChange
	// Before and After are what set the value on the targets, each once: what the other does not have goes first, else in
	// order of place. They are empty for what is no platform configuration, and where there is none.
	Before, After []config.Origin
}

// addValues finds the values that change, and what has set them.
func (i *Impact) addValues(was, is *side, p *pairs, normalize change.NormalizeNames) {
	changes, dropped := i.Change.Values(mostValues, normalize)
	i.Dropped = dropped
	for _, c := range changes {
		values := Values{Targets: c.Targets}
		for _, change := range c.Changes {
			value := Value{ValueChange: change}
			if !change.WholeFile {
				for _, index := range c.Targets {
					t := i.Change.Targets[index]
					value.After = append(value.After, is.sources(t.ClusterType, t.Target, change.Key)...)
					value.Before = append(value.Before, was.sources(t.ClusterType, cmp.Or(p.otherName(t), t.Target), change.Key)...)
				}
				value.Before, value.After = once(value.Before), once(value.After)
				value.Before, value.After = newFirst(value.Before, value.After), newFirst(value.After, value.Before)
			}
			values.Changes = append(values.Changes, value)
		}
		i.Values = append(i.Values, values)
	}
}

// once leaves each place once, in order.
func once(origins []config.Origin) []config.Origin {
	slices.SortFunc(origins, func(a, b config.Origin) int { return a.At.Compare(b.At) })
	return slices.CompactFunc(origins, func(a, b config.Origin) bool { return a.At == b.At })
}

// newFirst puts those first that are not among the others: what changed.
func newFirst(origins, others []config.Origin) []config.Origin {
	var fresh, known []config.Origin
	for _, o := range origins {
		if slices.ContainsFunc(others, func(other config.Origin) bool {
			return other.Config.Name.Value == o.Config.Name.Value && other.Text == o.Text
		}) {
			known = append(known, o)
		} else {
			fresh = append(fresh, o)
		}
	}
	return append(fresh, known...)
}

// sources returns what a value consists of: the entry that replaced what was below it, and those that were merged into it.
func (s *side) sources(clusterType, target, key string) []config.Origin {
	t, c := s.Fleet.Target(target), s.Fleet.ClusterType(clusterType)
	if t == nil || c == nil {
		return nil
	}
	values := s.configurator.Configure(c, t)
	stack := values.Stack(key)
	if len(stack) == 0 { // a field of a map
		key, _, _ = strings.Cut(key, ".")
		stack = values.Stack(key)
	}
	var origins []config.Origin
	for _, laid := range slices.Backward(stack) {
		origins = append(origins, laid.Origin)
		if !laid.Merged {
			break
		}
	}
	return origins
}
