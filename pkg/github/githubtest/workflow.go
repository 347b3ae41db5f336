package githubtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Dispatch is a workflow that was started.
type Dispatch struct {
	Workflow, Ref string
	Inputs        map[string]string
	// Author is whose token it was sent with.
	Author string
}

// String is a line for people.
func (d Dispatch) String() string {
	line := d.Workflow + " on " + d.Ref
	for i, name := range slices.Sorted(maps.Keys(d.Inputs)) {
		if i == 0 {
			line += ":"
		}
		line += fmt.Sprintf(" %s=%s", name, d.Inputs[name])
	}
	return line
}

// workflow is what a workflow file says of being started by hand.
type workflow struct {
	dispatched bool
	// inputs are the names of inputs, true for those that must be given.
	inputs map[string]bool
}

// triggers looks for workflow_dispatch in what starts a workflow: names, or settings by name.
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
