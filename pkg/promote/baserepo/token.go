package baserepo

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// token is a scalar or an alias as it is written. The library tells where values begin, with their tags and anchors, but
// not where they end.
type token struct {
	// start is behind the tag and the anchor, if there are any. An empty value starts where it ends.
	start, end int
	// style is the first character of an alias, a quoted or a block scalar: * ' " | >; it is 0 for a plain one.
	style byte
}

func (t token) empty() bool { return t.start == t.end }
func (t token) block() bool { return t.style == '|' || t.style == '>' }

// entry is a key of a mapping, and its value.
type entry struct {
	mapping, key, value *yaml.Node
}

func (e entry) flow() bool { return e.mapping.Style&yaml.FlowStyle != 0 }

// fieldOf returns the entry of a mapping's own key, or false.
func fieldOf(mapping *yaml.Node, name string) (entry, bool) {
	for i := 0; mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if key := aliased(mapping.Content[i]); key.Kind == yaml.ScalarNode && key.Value == name {
			return entry{mapping, mapping.Content[i], mapping.Content[i+1]}, true
		}
	}
	return entry{}, false
}

// aliased follows an alias to the value that it stands for.
func aliased(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// valueToken finds the value of an entry. ok is false if it is a collection, or not where it should be.
func (d *baseDocument) valueToken(e entry) (t token, ok bool) {
	v := e.value
	isEmpty := v.Kind == yaml.ScalarNode && v.Value == "" && v.Anchor == "" && v.Style == 0
	if !isEmpty {
		return d.token(v, e)
	}
	// The library places a value that is not there at whatever comes next.
	end, ok := d.keyEnd(e)
	return token{start: end, end: end}, ok
}

// keyEnd returns where a key ends, with its colon. ok is false if there is none, or not next to the key.
func (d *baseDocument) keyEnd(e entry) (end int, ok bool) {
	key, ok := d.token(e.key, e)
	if !ok {
		return 0, false
	}
	rest := strings.TrimLeft(d.text[key.end:], " \t")
	return len(d.text) - len(rest) + 1, strings.HasPrefix(rest, ":")
}

// token finds the end of a scalar or an alias.
func (d *baseDocument) token(n *yaml.Node, e entry) (t token, ok bool) {
	start, behind := d.skipProperties(d.position(n), e.flow())
	if n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&^yaml.TaggedStyle == 0 {
		return token{start: behind, end: behind}, true
	}
	t = token{start: start}
	switch rest := d.text[start:]; {
	case n.Kind == yaml.AliasNode:
		t.style, t.end = '*', start+len("*"+n.Value)
		return t, strings.HasPrefix(rest, "*"+n.Value)
	case n.Kind != yaml.ScalarNode || rest == "":
		return t, false
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		t.style = rest[0]
	}
	switch t.style {
	case '\'', '"':
		t.end, ok = d.quotedEnd(start)
	case '|', '>':
		t.end, ok = d.blockEnd(start, d.indent(e.mapping)), true
	default:
		t.end, ok = d.plainEnd(start, n.Value)
	}
	return t, ok
}

// skipProperties returns where a value begins behind its tag and anchor, and where these end.
func (d *baseDocument) skipProperties(at int, flow bool) (value, end int) {
	stops := blanks
	if flow {
		stops += ",[]{}"
	}
	end = at
	for at < len(d.text) && (d.text[at] == '!' || d.text[at] == '&') {
		length := strings.IndexAny(d.text[at:], stops)
		if strings.HasPrefix(d.text[at:], "!<") {
			length = strings.IndexByte(d.text[at:], '>') + 1
		}
		if length < 0 {
			return len(d.text), len(d.text)
		}
		end = at + length
		at = d.skipBlanks(end)
	}
	return at, end
}

// skipBlanks returns where the next token begins, behind blanks, line breaks and comments.
func (d *baseDocument) skipBlanks(at int) int {
	for {
		at = len(d.text) - len(strings.TrimLeft(d.text[at:], blanks))
		if !strings.HasPrefix(d.text[at:], "#") {
			return at
		}
		at = lineEnd(d.text, at)
	}
}

// quotedEnd returns where a quoted scalar ends. In single quotes a quote is doubled, in double quotes it is escaped.
func (d *baseDocument) quotedEnd(start int) (end int, ok bool) {
	quote := d.text[start]
	for at := start + 1; at < len(d.text); at++ {
		switch c := d.text[at]; {
		case c == '\\' && quote == '"':
			at++
		case c == quote && quote == '\'' && strings.HasPrefix(d.text[at+1:], "'"):
			at++
		case c == quote:
			return at + 1, true
		}
	}
	return 0, false
}

// plainEnd returns where a plain scalar ends: its words are as they are read, what separates them may have been folded.
func (d *baseDocument) plainEnd(at int, value string) (end int, ok bool) {
	for i, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(blanks, r) }) {
		if i > 0 {
			at = len(d.text) - len(strings.TrimLeft(d.text[at:], blanks))
		}
		if !strings.HasPrefix(d.text[at:], word) {
			return 0, false
		}
		at += len(word)
	}
	return at, true
}

// blockEnd returns where the last line of a block scalar ends: its lines are indented deeper than the map that it is in.
// Blank lines at its end belong to it if the header says so.
func (d *baseDocument) blockEnd(header, indent int) int {
	end := lineEnd(d.text, header)
	keeps := strings.Contains(strings.SplitN(d.text[header:end], " ", 2)[0], "+")
	for _, start := range d.starts {
		if start <= header || start == len(d.text) {
			continue
		}
		line := d.text[start:lineEnd(d.text, start)]
		content := strings.TrimLeft(line, " ")
		switch {
		case content == "" && !keeps:
			continue
		case content != "" && len(line)-len(content) <= indent:
			return end
		}
		end = start + len(line)
	}
	return end
}

// indent is how many columns the keys of a block mapping are indented.
func (d *baseDocument) indent(mapping *yaml.Node) int {
	if n := mapping; n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 || strings.HasPrefix(d.text[d.position(n):], "!") {
		return n.Content[0].Column - 1 // the library places a mapping at its properties
	}
	return mapping.Column - 1
}
