package jsonschema

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// schemaURL is the base of references in a schema that has no $id. Nothing is ever read there.
const schemaURL = "kalypso:///schema"

// drafts are the supported values of $schema. An empty fragment and the scheme are ignored.
var drafts = [...]string{
	"http://json-schema.org/draft-04/schema#",
	"http://json-schema.org/draft-06/schema#",
	"http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft/2019-09/schema",
	"https://json-schema.org/draft/2020-12/schema",
}

func isDraft(name string) bool {
	bare := strings.NewReplacer("http://", "", "https://", "", "#", "")
	return slices.ContainsFunc(drafts[:], func(draft string) bool { return bare.Replace(draft) == bare.Replace(name) })
}

// index is an index of the text of a schema. It locates the problem if the library rejects the schema; only the library
// decides whether a schema is valid.
type index struct {
	subschemas int
	// strings are the values that can be invalid: drafts, patterns and references.
	strings []named
	// resources are the subschemas with an id, from which pointers may start, the root first.
	resources []*node
	// names are the ids and anchors, repeats the duplicate ones.
	names   map[string]bool
	repeats []named
	// definitions are the paths of the definitions in the root.
	definitions [][]string
	idKeyword   string
	// refAlone is true if keywords beside a $ref are ignored, as in drafts before 2019-09.
	refAlone bool
}

// named is a string in the schema, with its keyword and its offset in bytes.
type named struct {
	keyword, text string
	offset        int
}

func newIndex(doc *node) *index {
	draft := doc.text("$schema")
	s := &index{
		resources: []*node{doc}, names: map[string]bool{"": true},
		idKeyword: "$id", refAlone: !strings.Contains(draft, "/draft/"),
	}
	if strings.Contains(draft, "/draft-04/") {
		s.idKeyword = "id"
	}
	s.schema(doc, nil)
	return s
}

// schema visits a subschema or a list of them, in the order of the text. It visits unknown keywords and data, too,
// because references can lead there.
func (s *index) schema(n *node, path []string) {
	for i, item := range n.items {
		s.schema(item, append(path, strconv.Itoa(i)))
	}
	if _, isBool := n.value.(bool); isBool || n.members != nil {
		s.subschemas++
	}
	for _, key := range n.keys {
		member := n.members[key]
		below := append(slices.Clip(path), key)
		switch key {
		case "uniqueItems", "exclusiveMinimum", "exclusiveMaximum", "readOnly", "writeOnly", "deprecated", "$recursiveAnchor":
		case "properties", "patternProperties", "definitions", "$defs", "dependentSchemas", "dependencies":
			s.schemas(key, member, below)
		default:
			if text, isString := member.value.(string); isString {
				s.keyword(n, named{key, text, member.offset})
			}
			s.schema(member, below)
		}
	}
}

// schemas visits subschemas by name.
func (s *index) schemas(keyword string, n *node, path []string) {
	for _, item := range n.items { // none in most drafts, but references can lead there
		s.schema(item, path)
	}
	for _, name := range n.keys {
		below := append(slices.Clip(path), name)
		switch {
		case keyword == "patternProperties":
			s.strings = append(s.strings, named{"pattern", name, n.members[name].offset})
		case len(path) == 1 && (keyword == "definitions" || keyword == "$defs" && !s.refAlone):
			s.definitions = append(s.definitions, below)
		}
		s.schema(n.members[name], below)
	}
}

func (s *index) keyword(n *node, found named) {
	switch found.keyword {
	case "$schema", "pattern", "$ref", "$dynamicRef", "$recursiveRef":
		s.strings = append(s.strings, found)
	case "$anchor", "$dynamicAnchor":
		s.name(found)
	case s.idKeyword:
		s.resources = append(s.resources, n)
		found.text = strings.TrimPrefix(found.text, "#") // an anchor, before 2019-09
		s.name(found)
	}
}

func (s *index) name(found named) {
	if s.names[found.text] {
		s.repeats = append(s.repeats, found)
	}
	s.names[found.text] = true
}

// report reports unknown drafts, duplicate names, references that leave the schema or lead nowhere, and patterns that do
// not compile.
func (s *index) report(p *problems) {
	for _, name := range s.repeats {
		p.addAt(name.offset, ruleInvalid, fmt.Sprintf("%s %s is duplicated", name.keyword, quote(name.text)))
	}
	patterns := patternSet{compiled: map[string]jsonschema.Regexp{}}
	for _, found := range s.strings {
		switch found.keyword {
		case "$schema":
			if !isDraft(found.text) {
				p.addAt(found.offset, ruleInvalid, "unknown $schema "+quote(found.text), diag.Hint("one of "+strings.Join(drafts[:], ", ")))
			}
		case "pattern":
			if _, err := patterns.compile(found.text); err != nil {
				rule := ruleInvalid
				if errors.Is(err, errTooLarge) {
					rule = ruleTooLarge
				}
				p.addAt(found.offset, rule, fmt.Sprintf("pattern %s cannot be used: %v", quote(found.text), err))
			}
		default:
			s.follow(found, p)
		}
	}
}

// follow reports a reference that does not exist in the schema. It ignores the base of the reference: a name or pointer
// that is valid in any part of the schema passes.
func (s *index) follow(reference named, p *problems) {
	address, fragment, _ := strings.Cut(reference.text, "#")
	text := reference.keyword + " " + quote(reference.text)
	if !s.isInside(address) {
		p.addAt(reference.offset, ruleOutside, text+" refers to another document",
			diag.Hint(`copy the referenced schema into "definitions" and write {"$ref": "#/definitions/NAME"}`))
		return
	}
	name, err := url.PathUnescape(fragment)
	found := s.names[name]
	if strings.HasPrefix(name, "/") {
		found = slices.ContainsFunc(s.resources, func(resource *node) bool {
			_, leads := resource.at(splitPointer(name))
			return leads
		})
	}
	if !found || err != nil {
		p.addAt(reference.offset, ruleInvalid, text+" does not exist in the schema")
	}
}

// isInside reports whether an id of the schema may be the address, relative or in full.
func (s *index) isInside(address string) bool {
	for name := range s.names {
		if name == address || name != "" && address != "" && (strings.HasSuffix(name, "/"+address) || strings.HasSuffix(address, "/"+name)) {
			return true
		}
	}
	return false
}
