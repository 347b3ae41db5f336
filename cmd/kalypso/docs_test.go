package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/sprig/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/diff"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/explain"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/initialize"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/promotion"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

const docsFolder = "../../docs"

// TestModelDocExamples compiles the examples of docs/reference/model.md, which are one fleet, and compares the files that
// it shows as output.
func TestModelDocExamples(t *testing.T) {
	inputs, outputs := docExamples(t, "reference/model.md")
	require.NotEmpty(t, inputs)
	require.NotEmpty(t, outputs)
	t.Chdir(writeExamples(t, inputs))
	_, said := runExamples(t, "render", "--output-dir", "out")
	assert.NotContains(t, said, "warning", "the examples are examples of how to do it")
	for name, text := range outputs {
		content, err := os.ReadFile(filepath.Join("out", filepath.FromSlash(name)))
		require.NoError(t, err)
		assert.Equal(t, strings.TrimSuffix(text, "\n"), strings.TrimSuffix(string(content), "\n"), name)
	}
}

// TestJSONDocExample makes the example in docs/reference/json.md: the fleet of model.md beside it is published, and a value
// changes.
func TestJSONDocExample(t *testing.T) {
	path, err := filepath.Abs(filepath.Join(docsFolder, "reference/json.md"))
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	inputs, _ := docExamples(t, "reference/model.md")
	t.Chdir(writeExamples(t, inputs))
	require.NoError(t, os.Remove("control-plane/dev/targets/node-agent.yaml")) // to make it short
	runExamples(t, "render", "--output-dir", "gitops")
	replaceIn(t, "control-plane/dev/configs/stores.yaml", `REPLICAS: "3"`, `REPLICAS: "4"`)
	got, _ := runExamples(t, "render", "--dry-run", "-o", "json")
	want := replaceBetween(t, string(text), "```json\n", "```\n", got)
	if *update && want != string(text) {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(text), "make docs rewrites it")
}

// writeExamples writes files to a new directory and returns it.
func writeExamples(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// runExamples runs kalypso on the fleet in the current directory.
func runExamples(t *testing.T, args ...string) (result, said string) {
	t.Helper()
	args = append(args, "--env", "dev", "--control-plane", "control-plane", "--replace", "https://github.com/acme/*=*")
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &cli.Host{IO: term.IO{Stdout: &stdout, Stderr: &stderr, Env: func(string) string { return "" }, WorkingDir: os.Getwd}})
	require.Equal(t, cli.ExitDone, code, stderr.String())
	return stdout.String(), stderr.String()
}

func replaceIn(t *testing.T, path, before, after string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), before)
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), before, after)), 0o644))
}

// replaceBetween replaces what stands between the first begin and the end that follows.
func replaceBetween(t *testing.T, text, begin, end, with string) string {
	t.Helper()
	before, rest, found := strings.Cut(text, begin)
	require.True(t, found, begin)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found, end)
	return before + begin + with + end + after
}

var docExample = regexp.MustCompile("(?m)^```(?:yaml|sh)\n# (output )?(\\S+)\n((?s:.*?))^```$")

// docExamples returns the files in a document: fenced blocks whose first line is a comment with
// repository/branch/path of an input, or with "output" and the path of a file that comes out.
func docExamples(t *testing.T, name string) (inputs, outputs map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docsFolder, name))
	require.NoError(t, err)
	inputs, outputs = map[string]string{}, map[string]string{}
	for _, match := range docExample.FindAllStringSubmatch(string(text), -1) {
		files := inputs
		if match[1] != "" {
			files = outputs
		}
		require.NotContains(t, files, match[2])
		files[match[2]] = match[3]
	}
	return inputs, outputs
}

// TestModelDocFunctions makes the list of functions of sprig that templates do not have in docs/reference/model.md: all
// that are not frozen. It may rewrite a file that others read, so it is not parallel.
func TestModelDocFunctions(t *testing.T) {
	test, err := os.ReadFile("../../pkg/render/template/functions_test.go")
	require.NoError(t, err)
	frozen := regexp.MustCompile("const allowedFunctions = `\n((?s:.*?))`").FindSubmatch(test)
	require.NotNil(t, frozen)
	missing := sprig.TxtFuncMap()
	for _, name := range strings.Fields(string(frozen[1])) {
		delete(missing, name)
	}
	var list, line string
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if len(line)+len(name) > 100 {
			list, line = list+line+"\n", ""
		}
		line = strings.TrimPrefix(line+" "+name, " ")
	}
	path := filepath.Join(docsFolder, "reference/model.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	want := replaceBetween(t, string(text), "<!-- functions: made by make docs -->\n```text\n", "```\n<!-- end of functions -->", list+line+"\n")
	if *update && want != string(text) {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(text), "make docs rewrites it")
}

var docTest = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)`")

// TestDocsNameTestsThatExist keeps the documents that promise something from promising what no test
// keeps.
func TestDocsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	for _, pattern := range []string{"../../*_test.go", "../../pkg/*/*_test.go", "../../pkg/*/*/*_test.go", "../../pkg/*/*/*/*_test.go", "*_test.go", "internal/*/*_test.go", "internal/command/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			tests.Write(text)
		}
	}
	for _, name := range []string{"explanation/security.md", "explanation/reliability.md", "explanation/design.md"} {
		text, err := os.ReadFile(filepath.Join(docsFolder, name))
		require.NoError(t, err)
		named := docTest.FindAllStringSubmatch(string(text), -1)
		assert.NotEmpty(t, named, name)
		for _, match := range named {
			assert.Contains(t, tests.String(), "func "+match[1]+"(", name)
		}
		for _, archive := range regexp.MustCompile(`testdata/bad/([a-z0-9-]+\.txtar)`).FindAllStringSubmatch(string(text), -1) {
			assert.FileExists(t, filepath.Join(badFleets, archive[1]), name)
		}
	}
}

// TestModelDocHasEveryField keeps the reference of kinds complete: each has a section with an example, and every field that
// documents are decoded into is in it.
func TestModelDocHasEveryField(t *testing.T) {
	t.Parallel()
	text := readDoc(t, "reference/model.md")
	sectionOf := func(kind string) string {
		_, section, has := strings.Cut(text, "\n### "+kind+"\n")
		require.True(t, has, "docs/reference/model.md has no section %s", kind)
		return regexp.MustCompile(`(?m)^###? `).Split(section, 2)[0]
	}
	found := 0
	for _, kind := range model.Kinds() {
		section := sectionOf(kind)
		if strings.Contains(section, "(#schedulingpolicy)") { // for selectors
			section += sectionOf("SchedulingPolicy")
		}
		if kind != "ConfigMap" { // whose examples are below Configuration
			assert.Contains(t, section, "\nkind: "+kind+"\n", "it has no example")
		}
		properties, _ := model.Schema(kind)["properties"].(map[string]any)
		delete(properties, "metadata") // as all kinds have it
		delete(properties, "status")
		for _, field := range schemaFields(map[string]any{"properties": properties}) {
			found++
			if !regexp.MustCompile(`\b` + field + `\b`).MatchString(section) {
				t.Errorf("docs/reference/model.md has nothing about %s of %s", field, kind)
			}
		}
	}
	assert.Greater(t, found, 60)
}

// schemaFields returns the names of all fields in a JSON Schema.
func schemaFields(schema map[string]any) []string {
	var names []string
	for key, value := range schema {
		if below, is := value.(map[string]any); is {
			if key == "properties" {
				names = slices.AppendSeq(names, maps.Keys(below))
			}
			names = append(names, schemaFields(below)...)
		}
	}
	return names
}

// TestJSONDocHasEveryField keeps docs/reference/json.md complete.
func TestJSONDocHasEveryField(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(docsFolder, "reference/json.md"))
	require.NoError(t, err)
	fields := append(jsonFields(reflect.TypeFor[results.Report[session.Environment]]()), jsonFields(reflect.TypeFor[promotion.Report]())...)
	fields = append(fields, jsonFields(reflect.TypeFor[results.Report[diff.Result]]())...)
	fields = append(fields, jsonFields(reflect.TypeFor[diag.File]())...)
	fields = append(fields, jsonFields(reflect.TypeFor[initialize.Result]())...)
	fields = append(fields, jsonFields(reflect.TypeFor[cli.Build]())...)
	for _, answer := range []explain.Answer{&explain.TargetAnswer{}, &explain.ClusterTypeAnswer{}, &explain.ConfigAnswer{}} {
		fields = append(fields, jsonFields(reflect.TypeOf(answer))...)
	}
	require.Contains(t, fields, "gitOpsRepo")
	require.Contains(t, fields, "superseded")
	require.Contains(t, fields, "otherConfigMaps")
	for _, field := range fields {
		// assert.Contains would print the whole document.
		if !strings.Contains(string(text), "`"+field+"`") {
			t.Errorf("docs/reference/json.md has nothing about %q", field)
		}
	}
}

// jsonFields returns the names of all fields in a type and below.
func jsonFields(typ reflect.Type) []string {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice:
		return jsonFields(typ.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	var names []string
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		switch {
		case typ.Field(i).Anonymous && name == "":
			names = append(names, jsonFields(typ.Field(i).Type)...)
		case name != "" && name != "-":
			names = append(append(names, name), jsonFields(typ.Field(i).Type)...)
		}
	}
	return names
}
