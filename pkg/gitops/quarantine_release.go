package gitops

import (
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"maps"
	"slices"
)

// maxRivals is the maximum number of registrations in a collision that are tried one by one.
const maxRivals = 8

// Release returns a Quarantine without the registrations that only collide with others and cause no error themselves:
// with such a one as it is now, and its rivals in quarantine, everything compiles. So a tenant that takes another
// tenant's name cannot keep that one from publishing. If it compiles either way, for example because two take the same
// new name, nothing tells which one is right, and all stay in quarantine.
//
// compiles compiles the fleet and reports whether there was no error. If the result is another Quarantine, it was the
// argument of the last call.
func (q *Quarantine) Release(compiles func(*Quarantine) bool) *Quarantine {
	var uncertain []source.Place
	for _, entry := range q.inOrder() {
		if !entry.certain {
			uncertain = append(uncertain, source.PlaceOf(entry.registration))
		}
	}
	if len(uncertain) > maxRivals {
		return q
	}
	innocent := map[source.Place]bool{}
	for _, at := range uncertain {
		innocent[at] = compiles(q.without(at))
	}
	released := slices.DeleteFunc(uncertain, func(at source.Place) bool {
		return !innocent[at] || slices.ContainsFunc(q.entries[at].rivals, func(rival source.Place) bool { return innocent[rival] })
	})
	if len(released) == 0 {
		return q
	}
	if rest := q.without(released...); compiles(rest) {
		return rest
	}
	return q
}

// without returns a Quarantine without some registrations.
func (q *Quarantine) without(released ...source.Place) *Quarantine {
	rest := *q
	rest.entries = maps.Clone(q.entries)
	for _, at := range released {
		delete(rest.entries, at)
	}
	return &rest
}
