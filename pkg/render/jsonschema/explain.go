package jsonschema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

const (
	// maxSuggestions is how many violations of one check get a suggestion: comparing names is slow.
	maxSuggestions = 100
	// maxCandidates is how many names are compared at most for one suggestion.
	maxCandidates = 500
	// shownAlternatives is how many alternatives are explained, each in so many characters.
	shownAlternatives      = 3
	shownAlternativeLength = 120
)

// explainer turns the failures of the library into violations.
type explainer struct {
	// parts finds the subschema of a failure; nil if there is none to look into.
	parts map[string]*part
	// root is the value that was checked.
	root any
	// source holds top-level values as they were written, before strings became numbers.
	source map[string]any
}

// finding is a violation with what is needed to choose alternatives and to suggest what may be meant.
type finding struct {
	Violation
	wrongType bool
	// unevaluated marks a value that no subschema has looked at, if only because it failed for another reason.
	unevaluated bool
	name        string
	candidates  []string
}

// violations returns what a failure comes down to: sorted, each once.
func (e *explainer) violations(failure *jsonschema.ValidationError) []Violation {
	findings := e.findings(failure)
	slices.SortFunc(findings, compareFindings)
	var list []Violation
	suggestions := 0
	for i, f := range findings {
		if f.unevaluated && i+1 < len(findings) && below(findings[i+1].Path, f.Path) {
			continue // only because of what is wrong there
		}
		if len(f.candidates) > 0 && len(f.candidates) <= maxCandidates && len(f.name) <= 2*shownLength && suggestions < maxSuggestions {
			suggestions++
			if near := diag.Nearest(f.name, f.candidates); near != "" {
				f.Message += fmt.Sprintf("; did you mean %s?", quote(near))
			}
		}
		list = append(list, f.Violation)
	}
	return sorted(list)
}

func below(path, top []string) bool {
	return len(path) >= len(top) && slices.Equal(path[:len(top)], top)
}

func sorted(list []Violation) []Violation {
	slices.SortFunc(list, compareViolations)
	return slices.CompactFunc(list, func(a, b Violation) bool {
		return slices.Equal(a.Path, b.Path) && a.Message == b.Message
	})
}

func compareViolations(a, b Violation) int {
	return cmp.Or(slices.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Keyword, b.Keyword))
}

func compareFindings(a, b finding) int { return compareViolations(a.Violation, b.Violation) }

// findings walks down to the failures that say something.
func (e *explainer) findings(failure *jsonschema.ValidationError) []finding {
	switch k := failure.ErrorKind.(type) {
	case nil:
		return nil
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		return e.all(failure.Causes)
	case *kind.AnyOf:
		return e.alternatives(failure)
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return e.alternatives(failure)
		}
	case *kind.Required:
		return each(failure, k.Missing, func(f *finding, name string) {
			f.Message = fmt.Sprintf("required key %s is missing", quote(name))
		})
	case *kind.AdditionalProperties:
		var known []string
		if p := e.parts[failure.SchemaURL]; p != nil {
			known = inOrder(p.Properties)
		}
		return each(failure, k.Properties, func(f *finding, name string) {
			f.Path, f.name, f.candidates = append(f.Path, name), name, known
			f.Message = fmt.Sprintf("key %s is not allowed", quote(name))
		})
	case *kind.PropertyNames:
		found := (&explainer{root: k.Property}).all(failure.Causes)
		for i := range found {
			found[i].Path = append(slices.Clone(failure.InstanceLocation), k.Property)
			found[i].Message = "the key itself " + found[i].Message
		}
		return found
	}
	return []finding{e.leaf(failure)}
}

func (e *explainer) all(causes []*jsonschema.ValidationError) []finding {
	var found []finding
	for _, cause := range causes {
		found = append(found, e.findings(cause)...)
	}
	return found
}

// each makes a finding for each of the names that a failure lists.
func each(failure *jsonschema.ValidationError, names []string, complete func(*finding, string)) []finding {
	found := make([]finding, len(names))
	for i, name := range names {
		found[i] = failed(failure)
		complete(&found[i], name)
	}
	return found
}

// failed makes the finding for a failure's own place.
func failed(failure *jsonschema.ValidationError) finding {
	keyword := failure.ErrorKind.KeywordPath()
	switch k := failure.ErrorKind.(type) {
	case *kind.Dependency:
		keyword = []string{"dependencies", k.Prop}
	case *kind.Not:
		keyword = []string{"not"}
	}
	return finding{Violation: Violation{
		Path:    slices.Clone(failure.InstanceLocation),
		Keyword: pointerOf(failure.SchemaURL) + pointerTo(keyword),
	}}
}

// alternatives explains a value that matches none of several schemas. If only one of them can be meant, as the others are
// for values of another type, its own failures say more than all of them together.
func (e *explainer) alternatives(failure *jsonschema.ValidationError) []finding {
	var groups, meant [][]finding
	for _, cause := range failure.Causes {
		group := e.findings(cause)
		if len(group) == 0 {
			continue
		}
		slices.SortFunc(group, compareFindings)
		groups = append(groups, group)
		if !slices.ContainsFunc(group, func(f finding) bool { return f.wrongType && len(f.Path) == len(failure.InstanceLocation) }) {
			meant = append(meant, group)
		}
	}
	if len(meant) == 1 {
		return meant[0]
	}
	if len(groups) == 1 {
		return groups[0]
	}
	reasons := make([]string, min(len(groups), shownAlternatives))
	for i := range reasons {
		first := groups[i][0]
		reasons[i] = oneLine(shorten(strings.Join(append(first.Path[len(failure.InstanceLocation):], first.Message), " "), shownAlternativeLength))
	}
	f := failed(failure)
	f.Message = fmt.Sprintf("matches none of the %s: %s", diag.Plural(len(groups), "alternative"), strings.Join(reasons, "; "))
	if len(groups) > len(reasons) {
		f.Message += "; …"
	}
	return []finding{f}
}

// value returns the value at the path, nil if there is none, and the text that a top-level number was written as.
func (e *explainer) value(path []string) (value any, written string) {
	value = e.root
	for _, key := range path {
		switch parent := value.(type) {
		case map[string]any:
			value = parent[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(parent) {
				return nil, ""
			}
			value = parent[i]
		}
	}
	if _, isText := value.(string); len(path) == 1 && !isText {
		written, _ = e.source[path[0]].(string)
	}
	return value, written
}

// propertyNames checks the names of an object's members in place of the library, whose own errors name the wrong path:
// they share memory with the paths of the objects checked next.
type propertyNames struct{ names *jsonschema.Schema }

// Validate implements jsonschema.SchemaExt.
func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, value any) {
	members, _ := value.(map[string]any)
	for name := range members {
		var failure *jsonschema.ValidationError
		if errors.As(p.names.Validate(name), &failure) {
			ctx.AddErrors(failure.Causes, &kind.PropertyNames{Property: name})
		}
	}
}

// validateRegex is the format "regex" for values: the expression must be one, compiled or not.
func validateRegex(value any) error {
	expression, isString := value.(string)
	if !isString {
		return nil
	}
	_, err := patternCost(expression)
	return err
}
