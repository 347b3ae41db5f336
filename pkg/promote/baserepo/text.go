package baserepo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

const byteOrderMark = "\ufeff"

// chunk is the part of a file up to a separator, which is almost always one document.
type chunk struct {
	text string
	// separator is the line that ends it; empty for the last one.
	separator string
	// offset is where it begins in the file, and line how many lines stand before it.
	offset, line int
}

// chunks takes a file apart where the model does: at each line but the first that begins with --- and ends in a line
// break. A byte order mark at the beginning is left out.
func chunks(file []byte) []chunk {
	text := string(bytes.TrimPrefix(file, []byte(byteOrderMark)))
	offset, line := len(file)-len(text), 0
	var all []chunk
	for {
		end := strings.Index(text, "\n---") + 1
		length := strings.IndexByte(text[end:], '\n') + 1
		if end == 0 || length == 0 {
			return append(all, chunk{text: text, offset: offset, line: line})
		}
		all = append(all, chunk{text[:end], text[end : end+length], offset, line})
		line += strings.Count(text[:end], "\n") + 1
		offset += end + length
		text = text[end+length:]
	}
}

// holding returns which chunk holds a line of the file, which counts from 1.
func holding(all []chunk, line int) int {
	i := len(all) - 1
	for i > 0 && all[i].line >= line {
		i--
	}
	return i
}

// roots returns the outermost values of the documents of a chunk, empty ones too.
func (c chunk) roots() (roots []*yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil { // the library has panicked before
			err = fmt.Errorf("the YAML library cannot read it: %v", r)
		}
	}()
	decoder := yaml.NewDecoder(strings.NewReader(c.text))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return roots, nil
		} else if err != nil {
			return nil, fmt.Errorf("invalid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		roots = append(roots, document.Content...)
	}
}

// documents returns the documents of a file that was found to be in order. Empty ones are left out.
func documents(file []byte) ([]*yaml.Node, error) {
	var all []*yaml.Node
	for _, c := range chunks(file) {
		roots, err := c.roots()
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(roots, isEmpty)...)
	}
	return all, nil
}

// isEmpty tells a document without content.
func isEmpty(root *yaml.Node) bool {
	return root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" && root.Anchor == ""
}

// breaks are the characters that end a line for the YAML library.
const breaks = "\r\n\u0085\u2028\u2029"

// blanks are what may stand between two tokens.
const blanks = " \t" + breaks

// lineStarts returns where the lines that the YAML library counts begin. It counts columns from behind a byte order mark.
func lineStarts(text string) []int {
	starts := []int{len(text) - len(strings.TrimPrefix(text, byteOrderMark))}
	for at := 0; ; {
		next := lineEnd(text, at)
		if next == len(text) {
			return starts
		}
		at = next + len(breakAt(text, next))
		starts = append(starts, at)
	}
}

// lineEnd returns where the line ends that a position is in.
func lineEnd(text string, at int) int {
	if i := strings.IndexAny(text[at:], breaks); i >= 0 {
		return at + i
	}
	return len(text)
}

// breakAt returns the line break at a position; it is empty at the end of the text.
func breakAt(text string, at int) string {
	if strings.HasPrefix(text[at:], "\r\n") {
		return "\r\n"
	}
	_, size := utf8.DecodeRuneInString(text[at:])
	return text[at : at+size]
}

// baseDocument is the document of a BaseRepo and the text that it is in.
type baseDocument struct {
	chunk
	// starts are the beginnings of the lines of the chunk.
	starts []int
	root   *yaml.Node
}

// locate finds the document that begins at a place of a file.
func locate(file []byte, at diag.Place) (*baseDocument, error) {
	all := chunks(file)
	d := &baseDocument{chunk: all[holding(all, at.Line)]}
	d.starts = lineStarts(d.text)
	roots, err := d.roots()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(roots, func(root *yaml.Node) bool { return samePlace(d.place(root), at) })
	if i < 0 {
		return nil, errors.New("the document is not where it should begin")
	}
	d.root = roots[i]
	return d, nil
}

// position returns where a node begins in the text.
func (d *baseDocument) position(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(d.starts) {
		return len(d.text)
	}
	at := d.starts[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRuneInString(d.text[at:])
		at += size
	}
	return at
}

// place is the place of a node in the file, as the model tells it.
func (d *baseDocument) place(n *yaml.Node) diag.Place {
	before := d.text[:d.position(n)]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return diag.Place{Line: d.line + 1 + strings.Count(before, "\n"), Column: 1 + utf8.RuneCountInString(line)}
}

// splice puts text in the place of what stands between two positions of a file.
type splice struct {
	from, to int
	text     string
}

// splices are in order and do not overlap.
type splices []splice

func (s splices) apply(file []byte) []byte {
	var changed bytes.Buffer
	at := 0
	for _, one := range s {
		changed.Write(file[at:one.from])
		changed.WriteString(one.text)
		at = one.to
	}
	changed.Write(file[at:])
	return changed.Bytes()
}
