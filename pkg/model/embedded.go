package model

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// fillEmbedded decodes a text of the document that is itself YAML into body, as strictly and within the
// same limits as the document itself. path names the text for messages. What is wrong is reported where
// it stands in the file, as far as the style of the text allows to find it again. A text that is empty,
// or holds nothing but comments, leaves body as it is.
func (p *parser) fillEmbedded(body any, text Text, path *trail) {
	if text.Value == "" {
		return
	}
	in := p.inset(text)
	var first *document
	diags := documents(p.file, []byte(text.Value), p.limits, func(doc *document) {
		in.move(doc.root)
		if first == nil {
			first = doc
			return
		}
		p.diags.Error("too-many-documents", doc.place(doc.root), fmt.Sprintf("%s holds more than one YAML document", path),
			diag.Hint("remove the line ---"))
	})
	for _, d := range diags {
		d.At.Line, d.At.Column = in.find(d.At.Line, d.At.Column)
		d.Message = fmt.Sprintf("%s: %s", path, d.Message)
		*p.diags = append(*p.diags, d)
	}
	if first == nil || !audit(first, p.limits, p.diags) {
		return
	}
	d := &decoder{document: first, diags: p.diags, kind: p.kind}
	d.decode(first.root, reflect.ValueOf(body).Elem(), path)
}

// inset finds the place in the file that is meant by a place in a text of it.
type inset struct {
	// at is the place of the text itself, which stands for all in it if they are not known.
	at diag.Place
	// known says that a line of the text is the line of the file with a number that is larger by lines,
	// from which columns are missing at the left.
	known          bool
	lines, columns int
}

func (in inset) find(line, column int) (fileLine, fileColumn int) {
	switch {
	case !in.known || line == 0:
		return in.at.Line, in.at.Column
	case column == 0:
		return line + in.lines, 0
	default:
		return line + in.lines, column + in.columns
	}
}

// move moves a node and all below it to the file.
func (in inset) move(n *yaml.Node) {
	n.Line, n.Column = in.find(n.Line, n.Column)
	for _, child := range n.Content {
		in.move(child)
	}
}

// inset looks at how a text is written. Only what is found in the file word for word is known.
func (p *parser) inset(text Text) inset {
	in := inset{at: text.At}
	n := textNode(p.root, text)
	switch {
	case n == nil:
	case n.Style&yaml.LiteralStyle != 0:
		d := decoder{document: p.document}
		in.lines, in.columns = n.Line, d.indent(n)
		in.known = in.columns >= 0 && p.content.holds(n.Value, n.Line, in.columns)
	default:
		in.lines, in.columns = n.Line-1, n.Column-1
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			in.columns++
		}
		line := afterColumns(p.content.line(n.Line), in.columns)
		in.known = strings.HasPrefix(line, n.Value)
	}
	return in
}

// textNode finds the scalar that a text was read from.
func textNode(n *yaml.Node, text Text) *yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Line == text.At.Line && n.Column == text.At.Column && n.Value == text.Value {
		return n
	}
	for _, child := range n.Content {
		if found := textNode(child, text); found != nil {
			return found
		}
	}
	return nil
}

// afterColumns leaves out that many characters at the beginning of a line.
func afterColumns(line string, columns int) string {
	for ; columns > 0 && line != ""; columns-- {
		_, size := utf8.DecodeRuneInString(line)
		line = line[size:]
	}
	return line
}
