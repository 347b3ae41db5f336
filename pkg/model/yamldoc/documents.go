package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Document is one YAML document of a file. The nodes' lines count from the top of the file.
type Document struct {
	// Root is the outermost value.
	Root *yaml.Node
	file *diag.File
	// lines returns the lines of the file, for properties that a node does not have.
	lines func() []string
}

// Place is where a node begins.
func (d *Document) Place(n *yaml.Node) diag.Place {
	return diag.Place{File: d.file, Line: n.Line, Column: n.Column}
}

// Read calls each with every document of a file that is not empty, one at a time: the nodes of a document need
// much more memory than its text.
func Read(file *diag.File, content []byte, limits Limits, each func(*Document)) diag.List {
	r := &documentReader{file: file, limits: limits, each: each}
	text, ok := readableText(file, content, &r.diags)
	if !ok || !r.checkSeparators(text) {
		return r.diags
	}
	r.nonSpecific = nonSpecificTags(text)
	r.lines = sync.OnceValue(func() []string { return strings.Split(text, "\n") })
	for c := range split(text) {
		if !r.read(c) {
			r.diags.Error("too-many-documents", diag.Place{File: file},
				fmt.Sprintf("the file has more than %d documents", limits.Documents))
			break
		}
	}
	return r.diags
}

// readableText checks the encoding and removes what editors on other systems leave behind: a byte
// order mark and carriage returns.
func readableText(file *diag.File, content []byte, diags *diag.List) (string, bool) {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	at, problem := bytes.IndexByte(content, 0), "the file contains a NUL byte, so it is not YAML"
	if at < 0 && !utf8.Valid(content) {
		problem = "the file is not valid UTF-8"
		for at = 0; ; {
			r, size := utf8.DecodeRune(content[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
	}
	if at >= 0 {
		diags.Error("not-text", placeAt(file, content, at), problem, diag.Hint("save it as UTF-8 text"))
		return "", false
	}
	return strings.ReplaceAll(string(content), "\r\n", "\n"), true
}

// placeAt is the place of a byte. Columns count characters, as those of YAML nodes do.
func placeAt(file *diag.File, content []byte, offset int) diag.Place {
	before := content[:offset]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return diag.Place{File: file, Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + utf8.RuneCount(line)}
}

// chunk is the text between two separators.
type chunk struct {
	text string
	// lineOffset is how many lines of the file stand before it.
	lineOffset int
	// separator is the line that ends the chunk; empty for the last one.
	separator string
}

// split yields the chunks of a file: kustomize, and with it every fleet that the operator ran, takes
// any line but the first that begins with --- and ends in a line break for a separator.
// https://github.com/kubernetes-sigs/kustomize/blob/master/kyaml/kio/byteio_reader.go
func split(text string) iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		line := 0
		for {
			end := strings.Index(text, "\n---") + 1
			length := strings.IndexByte(text[end:], '\n') + 1
			if end == 0 || length == 0 {
				yield(chunk{text: text, lineOffset: line})
				return
			}
			if !yield(chunk{text[:end], line, text[end : end+length]}) {
				return
			}
			line += strings.Count(text[:end], "\n") + 1
			text = text[end+length:]
		}
	}
}

// head is a line before the content of a document: a comment, a blank line or a separator.
var head = regexp.MustCompile(`^(?:---)?[ \t]*(?:[ \t]#[^\r\x{85}\x{2028}\x{2029}\n]*)?\n|^#[^\r\x{85}\x{2028}\x{2029}\n]*\n`)

// withoutHead leaves out what stands before the content: the library tells the line of an error in
// the outermost value only if that begins in the first line.
func (c chunk) withoutHead() chunk {
	for {
		length := len(head.FindString(c.text))
		if length == 0 {
			return c
		}
		c.text = c.text[length:]
		c.lineOffset++
	}
}

// checkSeparators refuses text behind a separator, as kustomize does, or behind a line break there
// that only YAML knows: it would be lost. One error is enough, as a file with lines such as ---- has
// many.
func (r *documentReader) checkSeparators(text string) bool {
	for c := range split(text) {
		rest := strings.TrimSpace(strings.TrimPrefix(c.separator, "---"))
		if rest != "" && (rest[0] != '#' || strings.ContainsAny(rest, unusualBreaks)) {
			line := c.lineOffset + strings.Count(c.text, "\n") + 1
			r.diags.Error("invalid-yaml", diag.Place{File: r.file, Line: line, Column: 1},
				fmt.Sprintf("invalid YAML: the document separator --- cannot be followed by %s", Quote(rest)),
				diag.Hint("put the text on the next line, or indent the line if it is not a separator"))
			return false
		}
	}
	return true
}

// documentReader reads the documents of one file.
type documentReader struct {
	file   *diag.File
	lines  func() []string
	limits Limits
	// nonSpecific are the positions where nodes with the tag "!" may begin.
	nonSpecific []position
	// seen is how many documents there were. Empty ones count if they have at least a comment: reading
	// them takes time too.
	seen int
	// searched is the size of the texts with errors in bytes.
	searched int
	each     func(*Document)
	diags    diag.List
}

// read parses a chunk, which is almost always one document ("..." or a leading "---" may still
// separate some). It returns false once there are too many documents.
func (r *documentReader) read(c chunk) bool {
	if strings.TrimSpace(c.text) == "" {
		return true
	}
	c = c.withoutHead()
	if !r.checkCost(c) {
		r.seen++
		return true
	}
	lines := newLineMap(c)
	decoder := yaml.NewDecoder(strings.NewReader(c.text))
	for n := 0; ; n++ {
		var node yaml.Node
		err := decodeNode(decoder, &node)
		if n > 0 && errors.Is(err, io.EOF) {
			return true
		}
		if r.seen++; r.limits.Documents > 0 && r.seen > r.limits.Documents {
			return false
		}
		switch {
		case errors.Is(err, io.EOF):
			return true
		case err != nil:
			r.invalid(c, lines, err)
			return true
		case len(node.Content) == 1 && !IsNull(node.Content[0]):
			move(node.Content[0], lines.find)
			tagStrings(node.Content[0], r.nonSpecific)
			r.each(&Document{file: r.file, Root: node.Content[0], lines: r.lines})
		}
	}
}

// invalid reports an error of the library.
func (r *documentReader) invalid(c chunk, lines lineMap, err error) {
	const mostSearched = 1 << 16 // longer texts would take long to search
	r.searched += len(c.text)
	found := findFault(c.text, err, r.searched <= mostSearched)
	place := func(line int) diag.Place {
		line, _ = lines.find(line, 1)
		return diag.Place{File: r.file, Line: line}
	}
	options := []diag.Option{diag.Hint(found.hint)}
	if found.other > 0 {
		options = append(options, diag.See(place(found.other), "this line is indented differently"))
	}
	r.diags.Error("invalid-yaml", place(found.line), "invalid YAML: "+yamlErrorText(err), options...)
}

// decodeNode returns a panic of the YAML library as an error.
func decodeNode(decoder *yaml.Decoder, node *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return decoder.Decode(node)
}

// IsNull reports whether a value is null.
func IsNull(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!null" {
		return false
	}
	value, ok := Resolve(n)
	return ok && value == nil
}

// Embedded returns the YAML document that a scalar of d holds, which begins at a place and has a value; there is at most
// one, and none if the value holds nothing but comments. Nodes and diagnostics have places in the file: where they stand
// if the scalar is a literal block (|), else that of the scalar. name names the text for messages.
func (d *Document) Embedded(value string, at diag.Place, name string, limits Limits) (*Document, diag.List) {
	in := inset{at, -1}
	if n := scalarAt(d.Root, value, at); n != nil {
		in.indent = d.Indent(n)
	}
	var first *Document
	var diags diag.List
	problems := Read(d.file, []byte(value), limits, func(doc *Document) {
		move(doc.Root, in.find)
		if first == nil {
			first = doc
			return
		}
		diags.Error("too-many-documents", doc.Place(doc.Root), fmt.Sprintf("%s contains more than one YAML document", name),
			diag.Hint("remove the line ---"))
	})
	for _, problem := range problems {
		problem.At.Line, problem.At.Column = in.find(problem.At.Line, problem.At.Column)
		problem.Message = fmt.Sprintf("%s: %s", name, problem.Message)
		for i, related := range problem.Related {
			problem.Related[i].At.Line, problem.Related[i].At.Column = in.find(related.At.Line, related.At.Column)
		}
		diags = append(diags, problem)
	}
	return first, diags
}

// inset finds the place in the file that is meant by a place in a text of it.
type inset struct {
	// at is the place of the text itself.
	at diag.Place
	// indent is how many columns the lines of a literal block are indented; -1 for another style, in which every place is at.
	indent int
}

func (in inset) find(line, column int) (fileLine, fileColumn int) {
	switch {
	case in.indent < 0 || line == 0:
		return in.at.Line, in.at.Column
	case column == 0:
		return in.at.Line + line, 0
	default:
		return in.at.Line + line, in.indent + column
	}
}

// scalarAt finds the scalar with a value at a place.
func scalarAt(n *yaml.Node, value string, at diag.Place) *yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Line == at.Line && n.Column == at.Column && n.Value == value {
		return n
	}
	for _, child := range n.Content {
		if found := scalarAt(child, value, at); found != nil {
			return found
		}
	}
	return nil
}
