package gitops

import (
	"maps"
	"slices"
)

// maxRivals is how many registrations that collide are looked at one by one.
const maxRivals = 8

// Acquit returns a Hold without the registrations that are held back only because they collide with
// others, and that do nothing wrong: with such a one as it is now, and its rivals held back, everything
// compiles. So a tenant that takes another one's name cannot keep that one from publishing. Where it works
// either way, as if two take the same new name, nobody can tell who is right, and all stay held back.
//
// works compiles the fleet with a Hold and reports whether no error was left. If the result is another
// Hold, it is the one that works was asked about last.
func (h *Hold) Acquit(works func(*Hold) bool) *Hold {
	doubtful := h.doubtful()
	if len(doubtful) > maxRivals {
		return h
	}
	acquitted := map[place]bool{}
	for _, at := range doubtful {
		acquitted[at] = works(h.without(at))
	}
	var free []place
	for _, at := range doubtful {
		if acquitted[at] && !slices.ContainsFunc(h.held[at].rivals, func(rival place) bool { return acquitted[rival] }) {
			free = append(free, at)
		}
	}
	if len(free) == 0 {
		return h
	}
	if next := h.without(free...); works(next) {
		return next
	}
	return h
}

// doubtful returns what is held back for nothing but collisions, in order of name.
func (h *Hold) doubtful() []place {
	var places []place
	for _, held := range h.inOrder() {
		if !held.sure {
			places = append(places, placeOf(held.registration))
		}
	}
	return places
}

// without returns a Hold that does not hold some registrations back.
func (h *Hold) without(free ...place) *Hold {
	next := *h
	next.held = maps.Clone(h.held)
	for _, at := range free {
		delete(next.held, at)
	}
	return &next
}
