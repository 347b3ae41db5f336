package jsonschema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

const (
	// maxSuggestions is the maximum number of suggestions for one check, because comparing names is slow.
	maxSuggestions = 100
	// maxCandidates is the maximum number of names that are compared for one suggestion.
	maxCandidates = 500
	// shownAlternatives is the maximum number of alternatives in a message, with the maximum length of each in characters.
	shownAlternatives      = 3
	shownAlternativeLength = 121
)

// explainer converts failures of the library to violations.
type explainer struct {
	// parts are the subschemas by location; nil if unknown.
	parts map[string]*part
	// root is the checked value.
	root any
	// source are the top-level values before strings were converted to numbers.
	source map[string]any
}

// finding is a violation with the data for choosing alternatives and suggestions.
type finding struct {
	Violation
	wrongType bool
	// unevaluated is true for a value that no subschema evaluated, possibly because another check failed.
	unevaluated bool
	name        string
	candidates  []string
}

// violations returns the violations of a failure, sorted and unique.
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

func compareFindings(a, b finding) int { return compareViolations(a.Violation, b.Violation) }

// findings returns the findings of the leaves of a failure.
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
		return e.named(failure, k.Missing, "required key %s is missing")
	case *kind.AdditionalProperties:
		var known []string
		if p := e.parts[failure.SchemaURL]; p != nil {
			known = inOrder(p.Properties)
		}
		found := e.named(failure, k.Properties, "key %s is not allowed")
		for i := range found {
			found[i].Path, found[i].candidates = append(found[i].Path, found[i].name), known
		}
		return found
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

// named returns a finding for each name in a failure.
func (e *explainer) named(failure *jsonschema.ValidationError, names []string, format string) []finding {
	found := make([]finding, len(names))
	for i, name := range names {
		found[i] = failed(failure)
		found[i].name, found[i].Message = name, fmt.Sprintf(format, quote(name))
	}
	return found
}

// failed returns the finding for the path of a failure.
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

// alternatives explains a value that matches none of several schemas. If only one of them is for values of this type, it
// returns the findings of that one.
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
		reasons[i] = oneLine(diag.ShortenCharacters(strings.Join(append(first.Path[len(failure.InstanceLocation):], first.Message), " "), shownAlternativeLength))
	}
	f := failed(failure)
	f.Message = fmt.Sprintf("matches none of the %s: %s", diag.Plural(len(groups), "alternative"), strings.Join(reasons, "; "))
	if len(groups) > len(reasons) {
		f.Message += "; …"
	}
	return []finding{f}
}

// value returns the value at the path, nil if there is none, and the original text of a top-level number.
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

// leaf explains a failure without causes. Frequent failures have messages of their own, others that of the library.
func (e *explainer) leaf(failure *jsonschema.ValidationError) finding {
	f := failed(failure)
	value, written := e.value(f.Path)
	shown := show(value)
	if written != "" {
		shown = diag.ShortenCharacters(oneLine(written), shownLength)
	}
	switch k := failure.ErrorKind.(type) {
	case *kind.Type:
		f.wrongType = true
		f.Message = "must be " + typeNames(k.Want) + ", but is "
		switch {
		case written != "":
			f.Message = fmt.Sprintf("must be %s, but %s is a number", typeNames(k.Want), quote(written))
		case k.Got == "string" || k.Got == "number" || k.Got == "boolean":
			f.Message += "the " + k.Got + " " + shown
		default:
			f.Message += shown
		}
	case *kind.Enum:
		f.Message = "must be " + choices(k.Want) + ", but is " + shown
		if f.name, _ = value.(string); f.name != "" && len(k.Want) > 1 {
			f.candidates = texts(k.Want)
		}
	case *kind.Pattern:
		f.Message = fmt.Sprintf("must match the pattern %s, but is %s", quote(k.Want), shown)
	case *kind.Not:
		f.Message = `must not match the schema under "not"`
	case *kind.FalseSchema:
		f.Message, f.unevaluated = "is not allowed", strings.Contains(f.Keyword, "/unevaluated")
	default:
		if requirement := bound(k); requirement != "" {
			f.Message = "must be " + requirement + ", but is " + shown
		} else {
			f.Message = size(k)
		}
	}
	return f
}

// bound explains failures of the constraints of strings and numbers; it returns "" for all others.
func bound(failure jsonschema.ErrorKind) string {
	switch k := failure.(type) {
	case *kind.Const:
		return show(k.Want)
	case *kind.Format:
		return format(k.Want)
	case *kind.Minimum:
		return "at least " + decimal(k.Want)
	case *kind.Maximum:
		return "at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "a multiple of " + decimal(k.Want)
	}
	return ""
}

// size explains failures of counts; it returns the message of the library for all others.
func size(failure jsonschema.ErrorKind) string {
	limit := func(bound string, want int, noun string, got int) string {
		return fmt.Sprintf("must have at %s %s, but has %d", bound, diag.Plural(want, noun), got)
	}
	switch k := failure.(type) {
	case *kind.MinLength:
		return limit("least", k.Want, "character", k.Got)
	case *kind.MaxLength:
		return limit("most", k.Want, "character", k.Got)
	case *kind.MinItems:
		return limit("least", k.Want, "item", k.Got)
	case *kind.MaxItems:
		return limit("most", k.Want, "item", k.Got)
	case *kind.MinProperties:
		return limit("least", k.Want, "key", k.Got)
	case *kind.MaxProperties:
		return limit("most", k.Want, "key", k.Got)
	}
	return diag.ShortenCharacters(oneLine(failure.LocalizedString(message.NewPrinter(language.English))), 201)
}
