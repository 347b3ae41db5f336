package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// explainer turns the failures of the library into words. It uses the kinds of failures and not
// the library's own prose, which may change with any version.
type explainer struct {
	// plan finds the subschema of a failure; nil if there is none to look into.
	plan *schemaPlan
	// root is the value that was checked.
	root any
	// source holds top-level values as they were written, before strings became numbers.
	source map[string]any
	// known remembers the keys that subschemas know, by location.
	known map[string]map[string]bool
}

// finding is a violation with what is needed to choose and join alternatives.
type finding struct {
	Violation
	// types and values are what would be allowed, for failures that are just that.
	types  []string
	values []any
	// unevaluated marks a key that no subschema has looked at. If one of them knows the key but
	// failed for another reason, the failure is only a consequence.
	unevaluated bool
	// suggestion ends the message with what may be meant. It is asked for only where it is shown,
	// because comparing names is slow.
	suggestion func() string
}

// maxSuggestions is how many violations of one check get a suggestion.
const maxSuggestions = 100

// violations returns what a failure comes down to: sorted, each once.
func (e *explainer) violations(failure *jsonschema.ValidationError) []Violation {
	findings := e.findings(failure)
	slices.SortFunc(findings, func(a, b finding) int { return compareViolations(a.Violation, b.Violation) })
	explained := objectsAtFault(findings)
	var list []Violation
	for _, f := range findings {
		if f.unevaluated && explained[pointerTo(f.Path[:len(f.Path)-1])] {
			continue
		}
		if f.suggestion != nil && len(list) < maxSuggestions {
			f.Message += f.suggestion()
		}
		list = append(list, f.Violation)
	}
	return sortViolations(list)
}

// objectsAtFault returns the objects in which, at any depth, there is a violation that is not a
// mere consequence of another.
func objectsAtFault(findings []finding) map[string]bool {
	objects := map[string]bool{}
	if !slices.ContainsFunc(findings, func(f finding) bool { return f.unevaluated }) {
		return objects
	}
	for _, f := range findings {
		for n := 0; n <= len(f.Path) && !f.unevaluated; n++ {
			objects[pointerTo(f.Path[:n])] = true
		}
	}
	return objects
}

func sortViolations(list []Violation) []Violation {
	slices.SortFunc(list, compareViolations)
	return slices.CompactFunc(list, func(a, b Violation) bool {
		return slices.Equal(a.Path, b.Path) && a.Message == b.Message
	})
}

func compareViolations(a, b Violation) int {
	return cmp.Or(slices.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Keyword, b.Keyword))
}

// findings walks down to the failures that say something.
func (e *explainer) findings(failure *jsonschema.ValidationError) []finding {
	switch k := failure.ErrorKind.(type) {
	case nil:
		return nil
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		var all []finding
		for _, cause := range failure.Causes {
			all = append(all, e.findings(cause)...)
		}
		return all
	case *kind.AnyOf:
		return e.alternatives(failure, "anyOf")
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return e.alternatives(failure, "oneOf")
		}
	case *kind.Required:
		return e.missing(failure, k)
	case *kind.AdditionalProperties:
		return e.unknownKeys(failure, k)
	case *kind.Dependency:
		return dependents(failure, "dependencies", k.Prop, k.Missing)
	case *kind.DependentRequired:
		return dependents(failure, "dependentRequired", k.Prop, k.Missing)
	case *kind.PropertyNames:
		return e.badName(failure, k)
	}
	return []finding{e.leaf(failure)}
}

// at makes the finding for a failure's own place.
func failedAt(failure *jsonschema.ValidationError, keyword, message string) finding {
	pointer := pointerOf(failure.SchemaURL)
	if keyword != "" {
		pointer += "/" + keyword
	}
	return finding{Violation: Violation{Path: slices.Clone(failure.InstanceLocation), Message: message, Keyword: pointer}}
}

func (e *explainer) missing(failure *jsonschema.ValidationError, k *kind.Required) []finding {
	object, _ := e.value(failure.InstanceLocation).(map[string]any)
	known := e.names(failure.SchemaURL)
	strangers := slices.DeleteFunc(keysInOrder(object), func(key string) bool { return known[key] })
	var all []finding
	for _, name := range k.Missing {
		f := failedAt(failure, "required", fmt.Sprintf("required key %s is missing", quoteShort(name)))
		f.suggestion = func() string {
			if near := nearestName(name, strangers); near != "" {
				return ", but there is " + quoteShort(near)
			}
			return ""
		}
		all = append(all, f)
	}
	return all
}

// dependents explains keys that must be there because another one is.
func dependents(failure *jsonschema.ValidationError, keyword, key string, missing []string) []finding {
	var all []finding
	for _, name := range missing {
		all = append(all, failedAt(failure, keyword+"/"+escapePointer(key),
			fmt.Sprintf("required key %s is missing: it must be there because %s is", quoteShort(name), quoteShort(key))))
	}
	return all
}

func (e *explainer) unknownKeys(failure *jsonschema.ValidationError, k *kind.AdditionalProperties) []finding {
	known := e.names(failure.SchemaURL)
	var all []finding
	for _, name := range k.Properties {
		f := unknownKey(failedAt(failure, "additionalProperties", ""), name, known)
		f.Path = append(f.Path, name)
		all = append(all, f)
	}
	return all
}

func unknownKey(f finding, name string, known map[string]bool) finding {
	f.Message = fmt.Sprintf("key %s is not allowed", quoteShort(name))
	f.suggestion = func() string { return didYouMean(name, keysInOrder(known)) }
	return f
}

func (e *explainer) badName(failure *jsonschema.ValidationError, k *kind.PropertyNames) []finding {
	name := explainer{plan: e.plan, root: k.Property}
	var all []finding
	for _, cause := range failure.Causes {
		for _, f := range name.findings(cause) {
			f.Message = "the key itself " + f.Message
			f.Path = append(slices.Clone(failure.InstanceLocation), k.Property)
			f.types, f.values, f.suggestion = nil, nil, nil
			all = append(all, f)
		}
	}
	return all
}

// readsAsNumber returns the text that a top-level number was written as.
func (e *explainer) readsAsNumber(path []string) (string, bool) {
	if len(path) != 1 {
		return "", false
	}
	text, wasString := e.source[path[0]].(string)
	_, isString := e.value(path).(string)
	return text, wasString && !isString
}

// shown writes the value at the path as it was given.
func (e *explainer) shown(path []string) string {
	if text, reads := e.readsAsNumber(path); reads {
		return shorten(oneLine(text), shownLength)
	}
	return showValue(e.value(path))
}

// value returns the value at the path, nil if there is none.
func (e *explainer) value(path []string) any {
	value := e.root
	for _, key := range path {
		switch parent := value.(type) {
		case map[string]any:
			value = parent[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(parent) {
				return nil
			}
			value = parent[i]
		default:
			return nil
		}
	}
	return value
}

// node returns the subschema at a location of the library, nil if it is not known.
func (e *explainer) node(location string) *planNode {
	if e.plan == nil {
		return nil
	}
	return e.plan.byLocation[location]
}

// names returns the keys that the subschema at a location knows, its parts for the same value
// included.
func (e *explainer) names(location string) map[string]bool {
	if known, found := e.known[location]; found {
		return known
	}
	known := map[string]bool{}
	if n := e.node(location); n != nil {
		n.collectNames(known, map[*planNode]bool{})
	}
	if e.known == nil {
		e.known = map[string]map[string]bool{}
	}
	e.known[location] = known
	return known
}

func (n *planNode) collectNames(found map[string]bool, seen map[*planNode]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	for name := range n.properties {
		found[name] = true
	}
	for _, next := range n.same {
		next.collectNames(found, seen)
	}
}
