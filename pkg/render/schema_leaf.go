package render

import (
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// leaf explains a failure that has no parts.
func (e *explainer) leaf(failure *jsonschema.ValidationError) finding {
	switch k := failure.ErrorKind.(type) {
	case *kind.Type:
		f := failedAt(failure, "type", e.wrongType(k.Want, failure.InstanceLocation))
		f.types = k.Want
		return f
	case *kind.Enum:
		return e.wrongValue(failedAt(failure, "enum", ""), k.Want)
	case *kind.Const:
		return e.wrongValue(failedAt(failure, "const", ""), []any{k.Want})
	case *kind.FalseSchema:
		return e.forbidden(failure)
	case *kind.OneOf:
		return failedAt(failure, "oneOf", fmt.Sprintf("matches alternatives %d and %d, but must match exactly one",
			k.Subschemas[0]+1, k.Subschemas[1]+1))
	case *kind.Not:
		return failedAt(failure, "not", e.refusal(failure))
	case libraryFault:
		return failedAt(failure, "", "cannot be checked: the JSON Schema library gave up")
	case *kind.RefCycle:
		return failedAt(failure, "", "cannot be checked: the schema refers to itself without end")
	}
	if keyword, message := sizeText(failure.ErrorKind); keyword != "" {
		return failedAt(failure, keyword, message)
	}
	if keyword, message := e.textOrNumber(failure.ErrorKind, failure.InstanceLocation); keyword != "" {
		return failedAt(failure, keyword, message)
	}
	return failedAt(failure, "", "does not match the schema")
}

// sizeText explains failures about counts.
func sizeText(failure jsonschema.ErrorKind) (keyword, message string) {
	limit := func(keyword, bound string, want int, noun string, got int) (string, string) {
		return keyword, fmt.Sprintf("must have at %s %s, but has %d", bound, diag.Plural(want, noun), got)
	}
	switch k := failure.(type) {
	case *kind.MinLength:
		return limit("minLength", "least", k.Want, "character", k.Got)
	case *kind.MaxLength:
		return limit("maxLength", "most", k.Want, "character", k.Got)
	case *kind.MinItems:
		return limit("minItems", "least", k.Want, "item", k.Got)
	case *kind.MaxItems:
		return limit("maxItems", "most", k.Want, "item", k.Got)
	case *kind.MinProperties:
		return limit("minProperties", "least", k.Want, "key", k.Got)
	case *kind.MaxProperties:
		return limit("maxProperties", "most", k.Want, "key", k.Got)
	case *kind.AdditionalItems:
		return "additionalItems", fmt.Sprintf("has %s too many", diag.Plural(k.Count, "item"))
	case *kind.UniqueItems:
		return "uniqueItems", fmt.Sprintf("must not hold an item twice, but items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "contains", "must have an item matching \"contains\", but none does"
	case *kind.MinContains:
		return "minContains", fmt.Sprintf("must have at least %s matching \"contains\", but has %d", diag.Plural(k.Want, "item"), len(k.Got))
	case *kind.MaxContains:
		return "maxContains", fmt.Sprintf("must have at most %s matching \"contains\", but has %d", diag.Plural(k.Want, "item"), len(k.Got))
	}
	return "", ""
}

// textOrNumber explains failures about what a string or a number is.
func (e *explainer) textOrNumber(failure jsonschema.ErrorKind, path []string) (keyword, message string) {
	but := func(keyword, requirement string) (string, string) {
		return keyword, "must be " + requirement + ", but is " + e.shown(path)
	}
	switch k := failure.(type) {
	case *kind.Pattern:
		return "pattern", fmt.Sprintf("must match the pattern %s, but is %s", quoteShort(k.Want), e.shown(path))
	case *kind.Format:
		return but("format", formatText(k.Want))
	case *kind.Minimum:
		return but("minimum", "at least "+showNumber(k.Want))
	case *kind.Maximum:
		return but("maximum", "at most "+showNumber(k.Want))
	case *kind.ExclusiveMinimum:
		return but("exclusiveMinimum", "more than "+showNumber(k.Want))
	case *kind.ExclusiveMaximum:
		return but("exclusiveMaximum", "less than "+showNumber(k.Want))
	case *kind.MultipleOf:
		return but("multipleOf", "a multiple of "+showNumber(k.Want))
	}
	return "", ""
}

// forbidden explains the schema false: nothing is allowed there.
func (e *explainer) forbidden(failure *jsonschema.ValidationError) finding {
	f := failedAt(failure, "", "is not allowed here")
	if len(f.Path) == 0 {
		return f
	}
	parent, keyword := cutPointer(failure.SchemaURL)
	name := f.Path[len(f.Path)-1]
	_, inObject := e.value(f.Path[:len(f.Path)-1]).(map[string]any)
	switch {
	case keyword == "unevaluatedProperties":
		known := e.names(parent)
		f = unknownKey(f, name, known)
		f.unevaluated = known[name]
	case inObject:
		f.Message = fmt.Sprintf("key %s is not allowed", quoteShort(name))
	default:
		f.Message = "item is not allowed"
	}
	return f
}

// cutPointer splits a location into that of the parent and the last token.
func cutPointer(location string) (parent, token string) {
	slash := strings.LastIndexByte(location, '/')
	if slash < strings.IndexByte(location, '#') {
		return location, ""
	}
	return location[:slash], location[slash+1:]
}

// wrongType says which types are allowed. Top-level values are never booleans, and text that
// reads as a number is one: that needs saying.
func (e *explainer) wrongType(types []string, path []string) string {
	named := make([]string, len(types))
	for i, name := range types {
		named[i] = describeType(name)
	}
	message := "must be " + joinOr(named)
	if text, reads := e.readsAsNumber(path); reads {
		return message + fmt.Sprintf(", but %s counts as a number", quoteShort(text))
	}
	message += ", but is " + describeValue(e.value(path))
	if text, isString := e.value(path).(string); isString && len(path) == 1 && e.source != nil &&
		(text == "true" || text == "false") {
		message += ": a top-level value is never a boolean"
	}
	return message
}

// wrongValue completes the finding for a value that is none of those allowed.
func (e *explainer) wrongValue(f finding, allowed []any) finding {
	f.values = allowed
	f.Message = mustBeOneOf(allowed) + ", but is " + e.shown(f.Path)
	text, isString := e.value(f.Path).(string)
	if !isString || len(allowed) < 2 {
		return f
	}
	f.suggestion = func() string {
		var candidates []string
		for _, value := range allowed {
			if candidate, isString := value.(string); isString {
				candidates = append(candidates, candidate)
			}
		}
		return didYouMean(text, candidates)
	}
	return f
}

// refusal explains the failure of a "not", by the keyword in it if it is a single one.
func (e *explainer) refusal(failure *jsonschema.ValidationError) string {
	const plain = "must not match the schema under \"not\""
	n := e.node(failure.SchemaURL)
	if n == nil || n.schema.Not == nil || e.plan.keywords(n.schema.Not) != 1 {
		return plain
	}
	refused, value := n.schema.Not, e.shown(failure.InstanceLocation)
	switch {
	case refused.Const != nil, refused.Enum != nil:
		return "must not be " + value
	case refused.Pattern != nil:
		return fmt.Sprintf("must not match the pattern %s, but is %s", quoteShort(refused.Pattern.String()), value)
	case len(refused.Required) == 1:
		return fmt.Sprintf("key %s is not allowed here", quoteShort(refused.Required[0]))
	case len(refused.Required) > 1:
		return fmt.Sprintf("keys %s must not be there together", showChoices(anySlice(refused.Required)))
	case refused.Types != nil && len(refused.Types.ToStrings()) == 1:
		return "must not be " + describeType(refused.Types.ToStrings()[0])
	}
	return plain
}

func anySlice(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}
