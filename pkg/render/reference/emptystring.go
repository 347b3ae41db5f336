package reference

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// An empty string of a tenant can change what stands beside it: "{{ .image }}:{{ .tag }}" without a tag is a key, and
// "{{ .a }}#{{ .b }}" without the first one a comment. Such text is found by rendering the file again with other strings.

// misplaced reports the empty strings of a tenant that leave text that YAML does not read as one string.
func (g *rendering) misplaced(file File, empty []tenantString) []verify.Problem {
	var problems []verify.Problem
	for _, some := range g.onlyPrinted(file, empty) {
		again := g.renderedWith(file, some)
		documents, failure := verify.AllDocuments(file.Content.String())
		other, otherFailure := verify.AllDocuments(again)
		line := 0
		switch {
		case otherFailure != nil: // an error of the template
		case failure != nil:
			line = failure.Line
		default:
			line = misread(documents, other)
		}
		if line > 0 {
			problems = append(problems, verify.Problem{
				Path: file.Path,
				Flaw: verify.Flaw{Rule: "tenant-value", Line: line, Lasting: true, Message: fmt.Sprintf(
					"%s changes the structure of the YAML around it", some[0].what)},
				At:      some[0].at,
				Related: &diag.Related{At: file.Template, Message: "printed by this template"},
				Hint:    "print the whole text with {{ … | quote }} in the template, or use a value that is not empty",
			})
			break
		}
	}
	return problems
}

// onlyPrinted returns the strings that the template of a file prints and does not test: all of them, or else each one
// for which this holds by itself.
func (g *rendering) onlyPrinted(file File, empty []tenantString) [][]tenantString {
	isPrinted := func(some []tenantString) bool {
		again := g.renderedWith(file, some)
		return again != file.Content.String() && strings.ReplaceAll(again, placeholder(some[0]), "") == file.Content.String()
	}
	if len(empty) == 0 || file.Written || !file.YAML {
		return nil
	}
	if isPrinted(empty) {
		return [][]tenantString{empty}
	}
	var printed [][]tenantString
	for one := range slices.Chunk(empty, 1) {
		if isPrinted(one) {
			printed = append(printed, one)
		}
	}
	return printed
}

// renderedWith returns the text of a file rendered with placeholders for some strings; empty if there is no such file.
func (g *rendering) renderedWith(file File, some []tenantString) string {
	files := (&execution{bounds: g.bounds}).files(g.with(g.Facts.replaced(some, placeholder)))
	again, _ := find(files, file.Path)
	return again.Content.String()
}

// misread returns the line of the first node of a file that has another kind than with placeholders for the empty strings,
// or that is no string although there is more in it than empty strings; 0 if there is none.
func misread(nodes, again []*yaml.Node) int {
	for i, n := range nodes {
		if i >= len(again) || n.Kind != again[i].Kind {
			return n.Line
		}
		if m := again[i]; n.Kind == yaml.ScalarNode && n.Value != m.Value && !isPlaceholder(m) && !yamltext.IsText(n) {
			return n.Line
		}
		if line := misread(n.Content, again[i].Content); line > 0 {
			return line
		}
	}
	for _, m := range again[min(len(nodes), len(again)):] {
		if !isPlaceholder(m) {
			return m.Line
		}
	}
	return 0
}

// isPlaceholder reports whether a scalar is an empty string alone, which is null without quotes, or no item in brackets.
func isPlaceholder(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && strings.ReplaceAll(n.Value, placeholder(tenantString{}), "") == ""
}
