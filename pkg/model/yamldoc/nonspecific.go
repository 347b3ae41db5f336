package yamldoc

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// position is a place in a file; lines and columns count from 1.
type position struct{ line, column int }

func (p position) compare(other position) int {
	return cmp.Or(cmp.Compare(p.line, other.line), cmp.Compare(p.column, other.column))
}

// nonSpecificTag matches the tag "!", which makes a scalar a string, with an anchor before it.
var nonSpecificTag = regexp.MustCompile(`(?:&\S+[ \t]+)?!(?:\s|$)`)

// tagStrings sets the tag !!str on the scalars with the tag "!", which begin at some of the positions. The library drops
// that tag, so it must be read from the text where the node begins. No unquoted scalar begins with "!" or "&".
func tagStrings(n *yaml.Node, nonSpecific []position) {
	if len(nonSpecific) == 0 {
		return
	}
	if n.Kind == yaml.ScalarNode && n.Style == 0 {
		if _, tagged := slices.BinarySearchFunc(nonSpecific, position{n.Line, n.Column}, position.compare); tagged {
			n.Tag, n.Style = "!!str", yaml.TaggedStyle
		}
	}
	for _, child := range n.Content {
		tagStrings(child, nonSpecific)
	}
}

// nonSpecificTags returns the positions where nodes with the tag "!" may begin, in order.
func nonSpecificTags(text string) []position {
	if !strings.Contains(text, "!") {
		return nil
	}
	var found []position
	at, offset, searched := position{1, 1}, 0, 0
	for {
		match := nonSpecificTag.FindStringIndex(text[searched:])
		if match == nil {
			return found
		}
		before := text[offset : searched+match[0]]
		if lines := strings.Count(before, "\n"); lines > 0 {
			at = position{at.line + lines, 1}
			before = before[strings.LastIndexByte(before, '\n')+1:]
		}
		at.column += utf8.RuneCountInString(before)
		found = append(found, at)
		offset, searched = searched+match[0], searched+match[1]
	}
}
