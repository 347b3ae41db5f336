package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Drafts of JSON Schema, by number as the library counts them.
const (
	draft4    = 4
	draft6    = 6
	draft7    = 7
	draft2019 = 2019
	draft2020 = 2020
)

// draftURLs lists the known drafts in the order of messages.
func draftURLs() []string {
	return []string{
		"http://json-schema.org/draft-04/schema#",
		"http://json-schema.org/draft-06/schema#",
		"http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2019-09/schema",
		"https://json-schema.org/draft/2020-12/schema",
	}
}

// draftNumber returns the draft that a $schema names, 0 if it names none.
func draftNumber(schema string) int {
	_, rest, _ := strings.Cut(strings.TrimSuffix(schema, "#"), "://")
	scheme := strings.HasPrefix(schema, "http://") || strings.HasPrefix(schema, "https://")
	if !scheme {
		return 0
	}
	switch rest {
	case "json-schema.org/draft-04/schema":
		return draft4
	case "json-schema.org/draft-06/schema":
		return draft6
	case "json-schema.org/draft-07/schema":
		return draft7
	case "json-schema.org/draft/2019-09/schema":
		return draft2019
	case "json-schema.org/draft/2020-12/schema":
		return draft2020
	default:
		return 0
	}
}

// schemaSurvey is what a look over the text finds before the library sees it. The library reports
// one problem at a time, in random order and without a position; the survey reports all of the
// usual ones, each at its place. What it does not recognise is left to the library.
type schemaSurvey struct {
	problems  *schemaProblems
	patterns  *patternSet
	resources map[string]*schemaResource
	refs      []schemaRef
	// seen are the subschemas visited so far. True are those that the library finds by itself, false
	// those at places that are no keyword of their draft, such as $defs in draft-07.
	seen map[*jsonNode]bool
	// strays are the subschemas that the library finds only because a reference leads there.
	strays map[*jsonNode]bool
	// dynamicAnchors are the pointers of the subschemas that a $dynamicRef may lead to.
	dynamicAnchors []string
}

// schemaResource is the document or a part of it that has an $id of its own.
type schemaResource struct {
	id      string
	node    *jsonNode
	pointer string
	draft   int
	anchors map[string]*jsonNode
}

// schemaRef is a reference and the resource that it is relative to.
type schemaRef struct {
	keyword, text string
	offset        int
	from          *schemaResource
}

// surveySchema reports unknown drafts, references that leave the text or lead nowhere, names given
// twice, and patterns that do not compile.
func surveySchema(doc *jsonNode, patterns *patternSet, problems *schemaProblems) *schemaSurvey {
	s := &schemaSurvey{
		problems: problems, patterns: patterns, resources: map[string]*schemaResource{},
		seen: map[*jsonNode]bool{}, strays: map[*jsonNode]bool{},
	}
	root := &schemaResource{id: schemaURL, node: doc, draft: draft7, anchors: map[string]*jsonNode{}}
	s.resources[schemaURL] = root
	s.schema(doc, "", root, true)
	for i := 0; i < len(s.refs); i++ { // the target of a reference may add more
		s.checkRef(s.refs[i])
	}
	if n := len(s.seen); n > MaxSubschemas {
		problems.add(ruleSchemaTooLarge, fmt.Sprintf("schema has %d subschemas, more than %d", n, MaxSubschemas))
	} else if len(s.strays)*n > maxStrayWork {
		problems.add(ruleSchemaTooLarge, fmt.Sprintf("%d references lead to places that their draft does not know", len(s.strays)),
			diag.Hint(`move the targets to "definitions", from 2019-09 on to "$defs"`))
	}
	return s
}

// maxStrayWork bounds the strays times the subschemas: for each stray the library copies its index
// of all subschemas.
const maxStrayWork = 500_000

// schema visits a subschema, in the order of the text.
func (s *schemaSurvey) schema(node *jsonNode, pointer string, in *schemaResource, known bool) {
	if _, seen := s.seen[node]; seen || node.items != nil {
		return
	}
	s.seen[node] = known
	if node.members == nil {
		return
	}
	in = s.identify(node, pointer, in)
	s.anchor(node, pointer, in)
	for _, key := range node.keys {
		s.keyword(node.members[key], key, pointer+"/"+escapePointer(key), in, known && in.draft >= draftSince(key))
	}
}

// draftSince returns the first draft whose schemas have subschemas at the keyword.
func draftSince(keyword string) int {
	switch keyword {
	case "contains", "propertyNames":
		return draft6
	case "if", "then", "else":
		return draft7
	case "$defs", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "contentSchema":
		return draft2019
	case "prefixItems":
		return draft2020
	default:
		return draft4
	}
}

func (s *schemaSurvey) keyword(node *jsonNode, key, pointer string, in *schemaResource, known bool) {
	switch key {
	case "$ref", "$dynamicRef", "$recursiveRef":
		if ref, isString := node.value.(string); isString && in.knows(key) {
			s.refs = append(s.refs, schemaRef{keyword: key, text: ref, offset: node.offset, from: in})
		}
	case "pattern":
		if expression, isString := node.value.(string); isString {
			s.pattern(expression, node.offset)
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		if tooLargeCount(node.value) {
			s.problems.addAt(node.offset, ruleSchemaTooLarge, fmt.Sprintf("%s %s is too large", key, showValue(node.value)))
		}
	case "properties", "patternProperties", "definitions", "$defs", "dependentSchemas", "dependencies":
		for _, name := range node.keys {
			if key == "patternProperties" {
				s.pattern(name, node.members[name].offset)
			}
			s.schema(node.members[name], pointer+"/"+escapePointer(name), in, known)
		}
	case "allOf", "anyOf", "oneOf", "prefixItems", "items", "not", "if", "then", "else", "contains", "propertyNames",
		"additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "contentSchema":
		s.schema(node, pointer, in, known)
		for i, item := range node.items {
			s.schema(item, fmt.Sprintf("%s/%d", pointer, i), in, known)
		}
	}
}

// tooLargeCount reports whether a whole number exceeds 64 bits, of which the library would keep
// the last ones.
func tooLargeCount(value any) bool {
	number, isNumber := value.(json.Number)
	if !isNumber {
		return false
	}
	exact, ok := new(big.Rat).SetString(number.String())
	return ok && exact.IsInt() && !exact.Num().IsInt64()
}

// knows reports whether the resource's draft has the reference keyword.
func (r *schemaResource) knows(keyword string) bool {
	switch keyword {
	case "$recursiveRef":
		return r.draft >= draft2019
	case "$dynamicRef":
		return r.draft >= draft2020
	default:
		return true
	}
}

// identify returns the resource that the subschema belongs to: a new one if it has an $id.
func (s *schemaSurvey) identify(node *jsonNode, pointer string, in *schemaResource) *schemaResource {
	draft := in.draft
	if name, given := node.text("$schema"); given {
		known := draftNumber(name)
		if known == 0 {
			s.problems.addAt(node.members["$schema"].offset, ruleInvalidSchema,
				fmt.Sprintf("unknown $schema %s", quoteShort(name)), diag.Hint("one of "+strings.Join(draftURLs(), ", ")))
			return in
		}
		draft = known
	}
	keyword := "$id"
	if draft == draft4 {
		keyword = "id"
	}
	id, given := node.text(keyword)
	id, _, _ = strings.Cut(id, "#")
	if _, isRef := node.text("$ref"); isRef && draft < draft2019 {
		given = false // beside a $ref these drafts ignore everything
	}
	if !given || id == "" {
		if node == in.node {
			in.draft = draft
		}
		return in
	}
	resource := &schemaResource{id: id, node: node, pointer: pointer, draft: draft, anchors: map[string]*jsonNode{}}
	if problem := s.register(resource, in); problem != "" {
		s.problems.addAt(node.members[keyword].offset, ruleInvalidSchema, fmt.Sprintf("%s %s %s", keyword, quoteShort(id), problem))
		return in
	}
	return resource
}

// register makes the resource's id absolute and notes it; it returns what is wrong with the id.
func (s *schemaSurvey) register(resource, in *schemaResource) (problem string) {
	absolute, err := resolveURL(in.id, resource.id)
	if err != nil {
		return "is no URL"
	}
	if other, found := s.resources[absolute]; found && other.node != resource.node {
		return "is there twice"
	}
	resource.id = absolute
	s.resources[absolute] = resource
	return ""
}

// anchor remembers the plain names by which references may call the subschema.
func (s *schemaSurvey) anchor(node *jsonNode, pointer string, in *schemaResource) {
	names := map[string]string{}
	switch {
	case in.draft >= draft2019:
		names["$anchor"], _ = node.text("$anchor")
		if in.draft >= draft2020 {
			names["$dynamicAnchor"], _ = node.text("$dynamicAnchor")
		}
	case in.draft == draft4:
		names["id"] = idAnchor(node, "id")
	default:
		names["$id"] = idAnchor(node, "$id")
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor", "id", "$id"} {
		name := names[keyword]
		if name == "" {
			continue
		}
		if other, found := in.anchors[name]; found && other != node {
			s.problems.addAt(node.members[keyword].offset, ruleInvalidSchema,
				fmt.Sprintf("%s %s is there twice", keyword, quoteShort(name)))
		}
		in.anchors[name] = node
		if keyword == "$dynamicAnchor" {
			s.dynamicAnchors = append(s.dynamicAnchors, pointer)
		}
	}
}

// idAnchor returns the plain name in the fragment of an id, as drafts before 2019-09 have it.
func idAnchor(node *jsonNode, keyword string) string {
	id, _ := node.text(keyword)
	_, fragment, _ := strings.Cut(id, "#")
	name, err := url.PathUnescape(fragment)
	if _, isRef := node.text("$ref"); isRef || err != nil || strings.HasPrefix(name, "/") {
		return ""
	}
	return name
}

func (s *schemaSurvey) pattern(expression string, offset int) {
	_, err := s.patterns.compile(expression)
	if err == nil {
		return
	}
	rule := ruleInvalidSchema
	if errors.Is(err, errTooLarge) {
		rule = ruleSchemaTooLarge
	}
	s.problems.addAt(offset, rule, fmt.Sprintf("pattern %s cannot be used: %v", quoteShort(expression), err))
}

// checkRef reports a reference that leaves the schema or leads nowhere in it.
func (s *schemaSurvey) checkRef(ref schemaRef) {
	address, fragment, _ := strings.Cut(ref.text, "#")
	target := ref.from
	if address != "" {
		absolute, err := resolveURL(ref.from.id, address)
		if err != nil {
			s.problems.addAt(ref.offset, ruleInvalidSchema, fmt.Sprintf("%s %s is no URL", ref.keyword, quoteShort(ref.text)))
			return
		}
		if target = s.resources[absolute]; target == nil {
			s.problems.addAt(ref.offset, ruleSchemaRefOutside,
				fmt.Sprintf("%s %s leads out of the schema", ref.keyword, quoteShort(ref.text)),
				diag.Hint(`copy what it refers to into "definitions" and write {"$ref": "#/definitions/NAME"}`))
			return
		}
	}
	node, hint := target.find(fragment)
	if node == nil {
		s.problems.addAt(ref.offset, ruleInvalidSchema,
			fmt.Sprintf("%s %s leads nowhere", ref.keyword, quoteShort(ref.text)), diag.Hint(hint))
		return
	}
	if !s.seen[node] {
		s.strays[node] = true
		pointer, _ := url.PathUnescape(fragment)
		s.schema(node, target.pointer+pointer, target, false)
	}
}

// find returns what the fragment of a reference names in the resource; nil, and a hint at what may
// be meant, if there is nothing of that name.
func (r *schemaResource) find(fragment string) (target *jsonNode, hint string) {
	name, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, ""
	}
	if name != "" && !strings.HasPrefix(name, "/") {
		return r.anchors[name], ""
	}
	node, pointer := r.node, "#"
	for _, token := range splitPointer(name) {
		next := node.child(token)
		if next == nil {
			near := diag.Nearest(token, node.keys[:min(len(node.keys), nearestChoices)])
			if near == "" {
				return nil, ""
			}
			return nil, fmt.Sprintf("did you mean %q?", pointer+"/"+escapePointer(near))
		}
		node, pointer = next, pointer+"/"+escapePointer(token)
	}
	return node, ""
}

// resolveURL resolves a reference without a fragment against its base, as the library does.
func resolveURL(base, reference string) (string, error) {
	from, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	to, err := url.Parse(reference)
	if err != nil {
		return "", err
	}
	resolved := from.ResolveReference(to)
	if !to.IsAbs() && from.Opaque != "" {
		resolved.Opaque = from.Opaque
	}
	return resolved.String(), nil
}

// escapePointer writes a key as a token of a JSON Pointer.
func escapePointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// splitPointer returns the keys that a JSON Pointer leads through.
func splitPointer(pointer string) []string {
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, token := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
	}
	return tokens
}
