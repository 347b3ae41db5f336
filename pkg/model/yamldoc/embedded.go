package yamldoc

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

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
		diags.Error("too-many-documents", doc.Place(doc.Root), fmt.Sprintf("%s holds more than one YAML document", name),
			diag.Hint("remove the line ---"))
	})
	for _, problem := range problems {
		problem.At.Line, problem.At.Column = in.find(problem.At.Line, problem.At.Column)
		problem.Message = fmt.Sprintf("%s: %s", name, problem.Message)
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
