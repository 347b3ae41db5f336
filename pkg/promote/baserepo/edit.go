package baserepo

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// setCommit says how to change the file so that the commit of the document is another.
func (d *baseDocument) setCommit(commit string) (splices, error) {
	spec, ok := fieldOf(d.root, "spec")
	switch {
	case !ok:
		return nil, errors.New("spec is not written in the document itself")
	case spec.value.Kind == yaml.AliasNode:
		return nil, fmt.Errorf("spec is the alias *%s, whose value may be used elsewhere", spec.value.Value)
	case spec.value.Kind != yaml.MappingNode || len(spec.value.Content) == 0:
		return nil, errors.New("spec is no map with fields")
	}
	var edit splices
	var err error
	if old, exists := fieldOf(spec.value, "commit"); exists {
		edit, err = d.replace(old, commit)
	} else {
		edit, err = d.add(spec.value, commit)
	}
	for i := range edit {
		edit[i].from += d.offset
		edit[i].to += d.offset
	}
	return edit, err
}

// replace writes a commit in the place of the value that there is.
func (d *baseDocument) replace(old entry, commit string) (splices, error) {
	t, ok := d.valueToken(old)
	switch {
	case !ok:
		return nil, errors.New("spec.commit is not written as one text in one place")
	case t.block():
		return d.replaceInBlock(t, old.value.Value, commit)
	case t.empty():
		return splices{d.fill(old, t.end, commit)}, nil
	}
	quote := t.style
	if quote == 0 && old.value.ShortTag() == "!!null" {
		quote = old.quotes()
	}
	return splices{{t.start, t.end, commitText(commit, quote)}}, nil
}

// quotes are those for a value that has none to go by: JSON needs them.
func (e entry) quotes() byte {
	if quote := quotesOf(e.key); quote == '"' {
		return quote
	}
	return 0
}

// replaceInBlock changes the one line of a block scalar. An empty one becomes a plain scalar.
func (d *baseDocument) replaceInBlock(t token, value, commit string) (splices, error) {
	value = strings.Trim(value, blanks)
	if value == "" {
		header := d.text[t.start:lineEnd(d.text, t.start)]
		length := len(header) - len(strings.TrimLeft(header, "|>+-0123456789"))
		return splices{{t.start, t.start + length, commitText(commit, 0)}}, nil
	}
	start := d.skipLine(t.start)
	start = len(d.text) - len(strings.TrimLeft(d.text[start:], blanks))
	if !strings.HasPrefix(d.text[start:], value) {
		return nil, errors.New("spec.commit is a block of several lines")
	}
	return splices{{start, start + len(value), commit}}, nil
}

// skipLine returns where the next line begins.
func (d *baseDocument) skipLine(at int) int {
	end := lineEnd(d.text, at)
	return end + len(breakAt(d.text, end))
}

// fill writes a commit where the value is missing: behind the colon, or behind a tag or an anchor.
func (d *baseDocument) fill(old entry, at int, commit string) splice {
	value := commitText(commit, old.quotes())
	if rest := d.text[at:]; strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, " #") {
		return splice{at + 1, at + 1, value}
	}
	return splice{at, at, " " + value}
}

// add makes the commit the last key of a map.
func (d *baseDocument) add(mapping *yaml.Node, commit string) (splices, error) {
	n := len(mapping.Content)
	last := entry{mapping, mapping.Content[n-2], mapping.Content[n-1]}
	t, ok := d.entryToken(last)
	if !ok {
		return nil, errors.New("spec has no commit yet, and its last field is not one text")
	}
	text := newEntry(mapping, commit)
	if last.flow() {
		return d.addToFlow(d.position(last.key), t, text), nil
	}
	end := lineEnd(d.text, t.end) // behind a comment
	return splices{{end, end, d.newLine(end) + strings.Repeat(" ", d.indent(mapping)) + text}}, nil
}

// entryToken finds the last token of an entry: its value or, in braces, a key alone.
func (d *baseDocument) entryToken(last entry) (t token, ok bool) {
	if t, ok = d.valueToken(last); ok || !last.flow() || last.value.Kind != yaml.ScalarNode || last.value.Value != "" {
		return t, ok
	}
	return d.token(last.key, last)
}

// addToFlow adds an entry behind the last one of a map in braces: on a line of its own if that one is.
func (d *baseDocument) addToFlow(key int, last token, text string) splices {
	end, comma := last.end, ","
	if last.empty() {
		comma = " ," // next to a colon it would be read as part of the key
	}
	line := strings.LastIndexAny(d.text[:key], breaks) + 1
	indent := d.text[line:key]
	if strings.Trim(indent, " \t") != "" {
		return splices{{end, end, comma + " " + text}}
	}
	eol := lineEnd(d.text, end)
	text = d.newLine(eol) + indent + text
	rest := strings.TrimLeft(d.text[end:eol], " \t")
	behind, hasComma := strings.CutPrefix(rest, ",")
	behind = strings.TrimLeft(behind, " \t")
	switch isLast := behind == "" || behind[0] == '#'; {
	case !isLast: // the brace follows in the same line
		return splices{{end, end, comma + text}}
	case hasComma:
		return splices{{eol, eol, text + ","}}
	case end == eol:
		return splices{{end, end, comma + text}}
	default:
		return splices{{end, end, comma}, {eol, eol, text}}
	}
}

// newLine returns the line break at a position or, where the text ends, the one before.
func (d *baseDocument) newLine(at int) string {
	if at == len(d.text) {
		at = strings.LastIndexAny(d.text, "\r\n")
		if at < 0 {
			return "\n"
		}
		if strings.HasSuffix(d.text[:at], "\r") {
			at--
		}
	}
	if b := breakAt(d.text, at); b == "\r\n" || b == "\r" {
		return b
	}
	return "\n"
}

// newEntry writes the key and the commit as most of a map are written.
func newEntry(mapping *yaml.Node, commit string) string {
	keyQuote, valueQuote := quotesOf(mapping.Content[len(mapping.Content)-2]), byte(0)
	same := true
	for i := 1; i < len(mapping.Content); i += 2 {
		quote := quotesOf(mapping.Content[i])
		same = same && (i == 1 || quote == valueQuote)
		valueQuote = quote
	}
	switch {
	case keyQuote == '"':
		valueQuote = '"' // as in JSON
	case !same:
		valueQuote = 0
	}
	key := "commit"
	if keyQuote != 0 {
		key = string(keyQuote) + key + string(keyQuote)
	}
	return key + ": " + commitText(commit, valueQuote)
}

// quotesOf returns the quotes of a scalar, or 0.
func quotesOf(n *yaml.Node) byte {
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return '"'
	case n.Style&yaml.SingleQuotedStyle != 0:
		return '\''
	}
	return 0
}
