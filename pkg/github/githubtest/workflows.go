package githubtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// workflow is what a workflow file says of being started by hand.
type workflow struct {
	dispatched bool
	// inputs tell of each whether it must be given.
	inputs map[string]bool
}

// workflow reads a workflow file of a commit; it is nil if there is none.
func (r *Repo) workflow(commit, name string) (*workflow, error) {
	if commit == "" {
		return nil, nil
	}
	path := ".github/workflows/" + name
	text, found, err := r.branches.file(commit, path)
	if err != nil || !found {
		return nil, err
	}
	var file struct {
		On yaml.Node `yaml:"on"`
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return triggers(&file.On)
}

// triggers looks for workflow_dispatch in what starts a workflow: a name, a list of names, or settings by name.
func triggers(on *yaml.Node) (*workflow, error) {
	const dispatch = "workflow_dispatch"
	w := &workflow{inputs: map[string]bool{}}
	if on.Kind != yaml.MappingNode {
		w.dispatched = on.Value == dispatch || slices.ContainsFunc(on.Content, func(n *yaml.Node) bool { return n.Value == dispatch })
		return w, nil
	}
	var settings map[string]yaml.Node
	if err := on.Decode(&settings); err != nil {
		return nil, err
	}
	node, dispatched := settings[dispatch]
	var details struct {
		Inputs map[string]struct {
			Required bool
			Default  any
		}
	}
	if err := node.Decode(&details); dispatched && err != nil {
		return nil, err
	}
	w.dispatched = dispatched
	for name, input := range details.Inputs {
		w.inputs[name] = input.Required && input.Default == nil
	}
	return w, nil
}

// strange are inputs that the workflow does not have, quoted.
func (w *workflow) strange(inputs map[string]string) []string {
	var strange []string
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if _, known := w.inputs[name]; !known {
			strange = append(strange, strconv.Quote(name))
		}
	}
	return strange
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
