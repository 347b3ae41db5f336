package githubtest

import (
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// workflow is what a workflow file says of being started by hand.
type workflow struct {
	dispatched bool
	// inputs are the names of inputs, true for those that must be given.
	inputs map[string]bool
}

// workflow reads a workflow file of a commit; it is nil if there is none.
func (r *Repo) workflow(commit, name string) *workflow {
	if commit == "" {
		return nil
	}
	text, found := r.branches.file(commit, ".github/workflows/"+name)
	if !found {
		return nil
	}
	var file struct {
		On yaml.Node `yaml:"on"`
	}
	check(yaml.Unmarshal([]byte(text), &file))
	return triggers(&file.On)
}

// triggers looks for workflow_dispatch in what starts a workflow: a name, a list of names, or settings by name.
func triggers(on *yaml.Node) *workflow {
	const dispatch = "workflow_dispatch"
	w := &workflow{inputs: map[string]bool{}}
	if on.Kind != yaml.MappingNode {
		w.dispatched = on.Value == dispatch || slices.ContainsFunc(on.Content, func(n *yaml.Node) bool { return n.Value == dispatch })
		return w
	}
	var settings map[string]yaml.Node
	check(on.Decode(&settings))
	node, dispatched := settings[dispatch]
	if w.dispatched = dispatched; !dispatched {
		return w
	}
	var details struct {
		Inputs map[string]struct {
			Required bool
			Default  any
		}
	}
	check(node.Decode(&details))
	for name, input := range details.Inputs {
		w.inputs[name] = input.Required && input.Default == nil
	}
	return w
}

// unexpected are inputs that the workflow does not have, quoted.
func (w *workflow) unexpected(inputs map[string]string) []string {
	var unexpected []string
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if _, known := w.inputs[name]; !known {
			unexpected = append(unexpected, strconv.Quote(name))
		}
	}
	return unexpected
}

// missing is an input that must be given and is not; it is empty if all are.
func (w *workflow) missing(inputs map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(w.inputs)) {
		if w.inputs[name] && inputs[name] == "" {
			return name
		}
	}
	return ""
}
