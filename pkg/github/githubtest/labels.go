package githubtest

import (
	"slices"
	"strings"
)

// Label is a label of a repository. Names are the same in any case.
type Label struct{ Name, Color, Description string }

// labels are the labels that a repository has.
type labels []Label

func (l labels) find(name string) int {
	return slices.IndexFunc(l, func(one Label) bool { return strings.EqualFold(one.Name, name) })
}

// put puts labels on. Those that the repository does not have it gets, as from GitHub.
func (l *labels) put(i *item, names ...string) {
	for _, name := range names {
		at := l.find(name)
		if at < 0 {
			at = len(*l)
			*l = append(*l, Label{Name: name, Color: usualColor})
		}
		if !i.labelled(name) {
			i.Labels = append(i.Labels, (*l)[at].Name)
		}
	}
}

const usualColor = "ededed"

func (l Label) json() object {
	return object{"name": l.Name, "color": l.Color, "description": l.Description}
}

// json shows those labels that have the names.
func (l labels) json(names []string) []object {
	shown := make([]object, len(names))
	for i, name := range names {
		shown[i] = l[l.find(name)].json()
	}
	return shown
}
