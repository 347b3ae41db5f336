package schedule

import (
	"math/bits"

	"k8s.io/apimachinery/pkg/selection"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// set is a set of objects, by their position, a bit each.
type set []uint64

func newSet(size int) set { return make(set, (size+63)/64) }

func fullSet(size int) set {
	s := newSet(size)
	for i := range size {
		s.add(i)
	}
	return s
}

func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s set) union(other set) {
	for i := range s {
		s[i] |= other[i]
	}
}

func (s set) intersect(other set) {
	for i := range s {
		s[i] &= other[i]
	}
}

func (s set) subtract(other set) {
	for i := range s {
		s[i] &^= other[i]
	}
}

func (s set) empty() bool {
	for _, word := range s {
		if word != 0 {
			return false
		}
	}
	return true
}

// size is how many are in the set.
func (s set) size() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// members returns the positions in the set, in order.
func (s set) members() []int {
	var members []int
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			members = append(members, i*64+bits.TrailingZeros64(word))
		}
	}
	return members
}

// index finds the objects that have a label, so that a policy costs as much as its selector has
// requirements, not as there are objects.
type index struct {
	size    int
	byKey   map[string]set
	byValue map[label]set
}

type label struct{ key, value string }

func newIndex(size int, labels func(i int) map[string]model.Text) *index {
	x := &index{size: size, byKey: map[string]set{}, byValue: map[label]set{}}
	for i := range size {
		for key, value := range labels(i) {
			lookup(x.byKey, key, size).add(i)
			lookup(x.byValue, label{key, value.Value}, size).add(i)
		}
	}
	return x
}

func lookup[K comparable](sets map[K]set, key K, size int) set {
	s, ok := sets[key]
	if !ok {
		s = newSet(size)
		sets[key] = s
	}
	return s
}

// find returns the objects that satisfy a selector.
func (x *index) find(s selector) set {
	found := fullSet(x.size)
	for _, r := range s {
		x.apply(r, found)
	}
	return found
}

// apply removes from found what does not satisfy a requirement.
func (x *index) apply(r requirement, found set) {
	switch r.operator {
	case selection.Exists:
		x.keep(found, x.byKey[r.key])
	case selection.DoesNotExist:
		x.drop(found, x.byKey[r.key])
	case selection.NotIn:
		for _, value := range r.values {
			x.drop(found, x.byValue[label{r.key, value}])
		}
	case selection.In, selection.Equals:
		either := newSet(x.size)
		for _, value := range r.values {
			if s := x.byValue[label{r.key, value}]; s != nil {
				either.union(s)
			}
		}
		found.intersect(either)
	}
}

func (x *index) keep(found, matching set) {
	if matching == nil {
		clear(found)
		return
	}
	found.intersect(matching)
}

func (x *index) drop(found, matching set) {
	if matching != nil {
		found.subtract(matching)
	}
}
