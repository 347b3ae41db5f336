package githubtest

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// Label is a label of a repository. Names are the same in any case.
type Label struct{ Name, Color, Description string }

func (r *Repo) findLabel(name string) int {
	return slices.IndexFunc(r.labels, func(l Label) bool { return strings.EqualFold(l.Name, name) })
}

func (i *item) labelled(name string) bool {
	return slices.ContainsFunc(i.Labels, func(has string) bool { return strings.EqualFold(has, name) })
}

// label puts labels on. Those that the repository does not have it gets, as from GitHub.
func (r *Repo) label(i *item, names ...string) {
	for _, name := range names {
		at := r.findLabel(name)
		if at < 0 {
			at = len(r.labels)
			r.labels = append(r.labels, Label{Name: name, Color: "ededed"})
		}
		if !i.labelled(name) {
			i.Labels = append(i.Labels, r.labels[at].Name)
		}
	}
}

func (r *Repo) labelJSON(l Label) object {
	return object{"name": l.Name, "color": l.Color, "description": l.Description}
}

func (r *Repo) labelsJSON(names []string) []object {
	labels := make([]object, len(names))
	for i, name := range names {
		labels[i] = r.labelJSON(r.labels[r.findLabel(name)])
	}
	return labels
}

func (c *call) showLabel() answer {
	at := c.repo.findLabel(c.values["name"])
	if at < 0 {
		panic(notFound())
	}
	return ok(c.repo.labelJSON(c.repo.labels[at]))
}

func (c *call) createLabel() answer {
	l := decode[Label](c)
	l.Color = cmp.Or(l.Color, "ededed")
	if c.repo.findLabel(l.Name) >= 0 {
		panic(invalid(fieldError{Resource: "Label", Code: "already_exists", Field: "name"}))
	}
	c.repo.labels = append(c.repo.labels, l)
	return created(c.repo.labelJSON(l))
}

func (c *call) addIssueLabels() answer {
	i := c.issue()
	c.repo.label(i, decode[[]string](c)...)
	return ok(c.repo.labelsJSON(i.Labels))
}

func (c *call) removeIssueLabel() answer {
	i := c.issue()
	if !i.labelled(c.values["name"]) {
		panic(refuse(http.StatusNotFound, "Label does not exist"))
	}
	i.Labels = slices.DeleteFunc(i.Labels, func(has string) bool { return strings.EqualFold(has, c.values["name"]) })
	return ok(c.repo.labelsJSON(i.Labels))
}
