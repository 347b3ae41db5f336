package impact

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
)

// Values are changes of values on the same targets.
type Values struct {
	// Targets are indexes into Change.Targets, in order.
	Targets []int
	Changes []Value
}

// Value is the change of a value.
type Value struct {
	change.ValueChange
	// Before and After are the origins of the value on the targets, without duplicates: those that differ first, then in
	// order of place. They are empty for values that are not platform configuration.
	Before, After []config.Origin
}

// addValues adds the changed values, with their origins.
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

// once returns the origins without duplicate places, in order.
func once(origins []config.Origin) []config.Origin {
	slices.SortFunc(origins, func(a, b config.Origin) int { return a.At.Compare(b.At) })
	return slices.CompactFunc(origins, func(a, b config.Origin) bool { return a.At == b.At })
}

// newFirst moves origins that are not among the others, which are the changed ones, to the beginning.
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

// sources returns the entries of which a value consists: the last one that replaced earlier ones, and those merged into it.
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
