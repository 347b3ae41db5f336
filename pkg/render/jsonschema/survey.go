package jsonschema

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// schemaURL is the base of references in a schema that has no $id. Nothing is ever read there.
const schemaURL = "kalypso:///schema"

// drafts are the values of $schema that are known. An empty fragment or another scheme makes no difference.
var drafts = [...]string{
	"http://json-schema.org/draft-04/schema#",
	"http://json-schema.org/draft-06/schema#",
	"http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft/2019-09/schema",
	"https://json-schema.org/draft/2020-12/schema",
}

func isDraft(name string) bool {
	bare := func(draft string) string {
		_, rest, _ := strings.Cut(draft, "://")
		return strings.TrimSuffix(rest, "#")
	}
	isHTTP := strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
	return name == "" || isHTTP && slices.ContainsFunc(drafts[:], func(d string) bool { return bare(d) == bare(name) })
}

// survey is what a walk over the text finds. It says where the problem is if the library refuses the schema; the library
// alone decides whether it does.
type survey struct {
	subschemas int
	drafts     []named
	patterns   []named
	references []named
	// targets are the subschemas that have a URL or an anchor, by the URL with the anchor as its fragment.
	targets map[string]*node
	repeats []named
	// definitions are the paths of those of the schema as a whole.
	definitions [][]string
	// dynamicAnchors are the paths of the subschemas that a $dynamicRef may lead to.
	dynamicAnchors [][]string
	idKeyword      string
	// refAlone says that whatever is beside a $ref counts for nothing: so it is before 2019-09.
	refAlone bool
}

// named is a string in the schema, where it is, the keyword that it belongs to, and the URL that it is relative to.
type named struct {
	keyword, text string
	offset        int
	base          string
}

func surveySchema(doc *node) *survey {
	draft := doc.text("$schema")
	s := &survey{targets: map[string]*node{schemaURL: doc}, idKeyword: "$id", refAlone: !strings.Contains(draft, "/draft/")}
	if strings.Contains(draft, "/draft-04/") {
		s.idKeyword = "id"
	}
	s.schema(doc, nil, schemaURL)
	return s
}

// schema visits a subschema or a list of them, in the order of the text. Unknown keywords may hold some, too: references
// can lead there.
func (s *survey) schema(n *node, path []string, base string) {
	for i, item := range n.items {
		s.schema(item, append(path, fmt.Sprint(i)), base)
	}
	if _, isBool := n.value.(bool); isBool || n.members != nil {
		s.subschemas++
	}
	if id := n.text(s.idKeyword); id != "" && (!s.refAlone || n.text("$ref") == "") {
		base = s.identify(n, id, base)
	}
	for _, key := range n.keys {
		member := n.members[key]
		below := append(slices.Clip(path), key)
		switch key {
		case "const", "enum", "default", "examples", "uniqueItems", "exclusiveMinimum", "exclusiveMaximum",
			"readOnly", "writeOnly", "deprecated", "$recursiveAnchor":
			if _, isBool := member.value.(bool); !isBool {
				s.data(member)
			}
		case "properties", "patternProperties", "definitions", "$defs", "dependentSchemas", "dependencies":
			for _, item := range member.items { // none in most drafts, but references can lead there
				s.data(item)
			}
			for _, name := range member.keys {
				if key == "patternProperties" {
					s.patterns = append(s.patterns, named{key, name, member.members[name].offset, base})
				}
				if len(path) == 0 && (key == "definitions" || key == "$defs" && !s.refAlone) {
					s.definitions = append(s.definitions, []string{key, name})
				}
				s.schema(member.members[name], append(below, name), base)
			}
		default:
			if text, isString := member.value.(string); isString {
				s.keyword(n, path, named{key, text, member.offset, base})
			}
			s.schema(member, below, base)
		}
	}
}

// data counts as subschemas what is none unless a reference leads there: the library takes any value for one then.
func (s *survey) data(n *node) {
	if _, isBool := n.value.(bool); isBool || n.members != nil {
		s.subschemas++
	}
	for _, item := range n.items {
		s.data(item)
	}
	for _, member := range n.members {
		s.data(member)
	}
}

func (s *survey) keyword(n *node, path []string, found named) {
	switch found.keyword {
	case "$schema":
		s.drafts = append(s.drafts, found)
	case "pattern":
		s.patterns = append(s.patterns, found)
	case "$ref", "$dynamicRef", "$recursiveRef":
		s.references = append(s.references, found)
	case "$anchor", "$dynamicAnchor":
		s.target(n, found.keyword, found.text, found.base+"#"+found.text)
		if found.keyword == "$dynamicAnchor" {
			s.dynamicAnchors = append(s.dynamicAnchors, slices.Clone(path))
		}
	}
}

// identify notes the subschema's id, in drafts before 2019-09 with an anchor, and returns the URL that is its base.
func (s *survey) identify(n *node, id, base string) string {
	address, anchor, hasAnchor := strings.Cut(id, "#")
	if address != "" {
		base = resolve(base, address)
		s.target(n, s.idKeyword, address, base)
	}
	if hasAnchor && anchor != "" {
		s.target(n, s.idKeyword, anchor, base+"#"+anchor)
	}
	return base
}

func (s *survey) target(n *node, keyword, name, address string) {
	if other := s.targets[address]; other != nil && other != n {
		s.repeats = append(s.repeats, named{keyword: keyword, text: name, offset: n.members[keyword].offset})
	}
	s.targets[address] = n
}

// resolve returns the URL that a reference without a fragment leads to, "" if it is none.
func resolve(base, reference string) string {
	from, err := url.Parse(base)
	to, err2 := url.Parse(reference)
	if err != nil || err2 != nil {
		return ""
	}
	resolved := from.ResolveReference(to)
	if !to.IsAbs() && from.Opaque != "" {
		resolved.Opaque = from.Opaque // https://github.com/golang/go/issues/66084
	}
	return resolved.String()
}

// report says where the schema has unknown drafts, names that are given twice, references that leave it or lead nowhere,
// and patterns that do not compile.
func (s *survey) report(p *problems) {
	for _, draft := range s.drafts {
		if !isDraft(draft.text) {
			p.addAt(draft.offset, ruleInvalid, "unknown $schema "+quote(draft.text), diag.Hint("one of "+strings.Join(drafts[:], ", ")))
		}
	}
	for _, name := range s.repeats {
		p.addAt(name.offset, ruleInvalid, fmt.Sprintf("%s %s is there twice", name.keyword, quote(name.text)))
	}
	for _, reference := range s.references {
		s.follow(reference, p)
	}
	patterns := patternSet{compiled: map[string]jsonschema.Regexp{}}
	for _, expression := range s.patterns {
		if _, err := patterns.compile(expression.text); err != nil {
			rule := ruleInvalid
			if errors.Is(err, errTooLarge) {
				rule = ruleTooLarge
			}
			p.addAt(expression.offset, rule, fmt.Sprintf("pattern %s cannot be used: %v", quote(expression.text), err))
		}
	}
}

func (s *survey) follow(reference named, p *problems) {
	address, fragment, _ := strings.Cut(reference.text, "#")
	if address != "" {
		address = resolve(reference.base, address)
	} else {
		address = reference.base
	}
	text := reference.keyword + " " + quote(reference.text)
	target := s.targets[address]
	if target == nil {
		p.addAt(reference.offset, ruleOutside, text+" leads out of the schema",
			diag.Hint(`copy what it refers to into "definitions" and write {"$ref": "#/definitions/NAME"}`))
		return
	}
	name, err := url.PathUnescape(fragment)
	found := s.targets[address+"#"+name] != nil
	if name == "" || strings.HasPrefix(name, "/") {
		_, found = target.at(splitPointer(name))
	}
	if !found || err != nil {
		p.addAt(reference.offset, ruleInvalid, text+" leads nowhere")
	}
}
