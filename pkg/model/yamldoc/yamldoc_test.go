package yamldoc

import (
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// shown spells diagnostics out as people see them, a line each, without hints and related places.
func shown(diags diag.List) []string {
	lines := []string{}
	for _, d := range diags.Sorted() {
		line, _, _ := strings.Cut(diag.Format(d, diag.Style{}), "\n")
		lines = append(lines, line)
	}
	return lines
}

// places spells out where and by what rule something is wrong: "3:5 unknown-field".
func places(diags diag.List) []string {
	lines := []string{}
	for _, d := range diags.Sorted() {
		at := diag.Place{File: &diag.File{}, Line: d.At.Line, Column: d.At.Column}
		lines = append(lines, strings.TrimPrefix(at.String()+" "+d.Rule, ":"))
	}
	return lines
}

// testDocuments reads the documents of a text without limits.
func testDocuments(content string) ([]Document, diag.List) {
	return readDocuments(content, Limits{Aliases: true})
}

func readDocuments(content string, limits Limits) (docs []Document, diags diag.List) {
	diags = Read(&diag.File{Path: "f.yaml"}, []byte(content), limits, func(d *Document) { docs = append(docs, *d) })
	return docs, diags
}
