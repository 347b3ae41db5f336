package model

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model/yamldoc"
)

// tree is a repository for a test: path to content.
type tree map[string]string

func (files tree) fs() fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	return fsys
}

// sourceOf is a repository read for a role at its root.
func sourceOf(role Role, fsys fs.FS) *Source {
	return &Source{Ref: Ref{Role: role, Path: "."}, Repo: "repo", FS: fsys}
}

// registrationOf admits a tenant.
func registrationOf(name, workspace string) *WorkloadRegistration {
	file := &diag.File{Repo: "control-plane", Path: "registration.yaml"}
	r := &WorkloadRegistration{Object: Object{Kind: "WorkloadRegistration", Name: Text{Value: name}, At: diag.Place{File: file, Line: 1, Column: 1}}}
	if workspace != "" {
		r.Workspace = Text{Value: workspace, At: diag.Place{File: file, Line: 5, Column: 14}}
	}
	return r
}

// parse reads a repository with the default options; a Tenant is admitted to workspace "shop".
func parse(role Role, files tree) (*Objects, diag.List) {
	return parseSource(sourceOf(role, files.fs()))
}

func parseSource(source *Source) (*Objects, diag.List) {
	var registration *WorkloadRegistration
	if source.Ref.Role == Tenant {
		registration = registrationOf("app", "shop")
		source.Ref.Subject = `WorkloadRegistration "app"`
	}
	return Parse(source, registration, DefaultOptions())
}

// parseOne reads a repository of one file.
func parseOne(role Role, content string) (*Objects, diag.List) {
	return parse(role, tree{"f.yaml": content})
}

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

func rules(diags diag.List) []string {
	list := []string{}
	for _, d := range diags.Sorted() {
		list = append(list, d.Rule)
	}
	return list
}

// noProblem fails the test if there is an error or a warning.
func noProblem(t *testing.T, diags diag.List) {
	t.Helper()
	require.Empty(t, diags.Summary(), "%v", shown(diags))
}

// testDocuments reads the documents of a text without limits.
func testDocuments(content string) (docs []yamldoc.Document, diags diag.List) {
	diags = yamldoc.Read(&diag.File{Path: "f.yaml"}, []byte(content), yamldoc.Limits{Aliases: true}, func(d *yamldoc.Document) { docs = append(docs, *d) })
	return docs, diags
}

// decoded is what the generic decoder makes of a document, with strings as strings.
func decoded(doc *yamldoc.Document) (any, diag.List) {
	var diags diag.List
	if !doc.Check(yamldoc.Limits{Aliases: true, Nesting: 200, Nodes: 100_000}, &diags) {
		return nil, diags
	}
	d := &decoder{Document: doc, diags: &diags, kind: "Test"}
	return plain(d.value(doc.Root, nil)), diags
}

func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(value))
		for key, v := range value {
			object[key] = plain(v)
		}
		return object
	case []any:
		list := make([]any, len(value))
		for i, v := range value {
			list[i] = plain(v)
		}
		return list
	case Block:
		return value.Value
	default:
		return value
	}
}

// values are the documents of a text, decoded.
func values(t *testing.T, content string) []any {
	t.Helper()
	docs, diags := testDocuments(content)
	require.Empty(t, diags)
	list := []any{}
	for i := range docs {
		value, diags := decoded(&docs[i])
		require.Empty(t, diags)
		list = append(list, value)
	}
	return list
}
