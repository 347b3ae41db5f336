package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const docsFolder = "../../docs"

// TestModelDocExamples compiles the examples of docs/model.md, which are one fleet, and compares
// the files that it shows as output.
func TestModelDocExamples(t *testing.T) {
	t.Parallel()
	inputs, outputs := docExamples(t, "model.md")
	require.NotEmpty(t, inputs)
	require.NotEmpty(t, outputs)
	dir := t.TempDir()
	for name, text := range inputs {
		path := filepath.Join(dir, "in", filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	out := filepath.Join(dir, "out")
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{
		"render", "--env", "dev", "--output-dir", out, "--control-plane", filepath.Join(dir, "in", "control-plane"),
		"--replace", "https://github.com/acme/*=" + filepath.Join(dir, "in", "*"),
	}, &edges{stdout: &stdout, stderr: &stderr, env: func(string) string { return "" }, workingDir: os.Getwd})
	require.Equal(t, exitDone, code, stderr.String())
	assert.NotContains(t, stderr.String(), "warning", "the examples are examples of how to do it")
	for name, text := range outputs {
		content, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(name)))
		require.NoError(t, err)
		assert.Equal(t, strings.TrimSuffix(text, "\n"), strings.TrimSuffix(string(content), "\n"), name)
	}
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

// TestModelDocFunctions keeps the list of functions in docs/model.md equal to the frozen one. It may
// rewrite the file that others read, so it is not parallel.
func TestModelDocFunctions(t *testing.T) {
	test, err := os.ReadFile("../../pkg/render/funcs_test.go")
	require.NoError(t, err)
	frozen := regexp.MustCompile("const allowedFunctions = `\n((?s:.*?))`").FindSubmatch(test)
	require.NotNil(t, frozen)
	path := filepath.Join(docsFolder, "model.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	const begin, end = "<!-- functions: made by make golden -->\n```text\n", "```\n<!-- end of functions -->"
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found)
	want := before + begin + string(frozen[1]) + end + after
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(text), "make golden rewrites it")
}

var docTest = regexp.MustCompile("`(?:((?:pkg|cmd)/[a-z/]+): )?((?:Test|Fuzz)[A-Za-z0-9_]+)`")

// TestDocsNameTestsThatExist keeps docs/security.md and docs/design.md from promising what no test
// keeps.
func TestDocsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	for _, pattern := range []string{"../../*_test.go", "../../pkg/*/*_test.go", "*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			tests.Write(text)
		}
	}
	for _, name := range []string{"security.md", "design.md"} {
		text, err := os.ReadFile(filepath.Join(docsFolder, name))
		require.NoError(t, err)
		named := docTest.FindAllStringSubmatch(string(text), -1)
		assert.NotEmpty(t, named, name)
		for _, match := range named {
			assert.Contains(t, tests.String(), "func "+match[2]+"(", name)
		}
		for _, archive := range regexp.MustCompile(`testdata/bad/([a-z0-9-]+\.txtar)`).FindAllStringSubmatch(string(text), -1) {
			assert.FileExists(t, filepath.Join(badFleets, archive[1]), name)
		}
	}
}

// TestJSONDocHasEveryField keeps docs/json.md complete.
func TestJSONDocHasEveryField(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(docsFolder, "json.md"))
	require.NoError(t, err)
	fields := jsonFields(reflect.TypeFor[report]())
	require.Contains(t, fields, "gitOpsRepo")
	for _, field := range fields {
		assert.Contains(t, string(text), "`"+field+"`")
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
		if name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ","); name != "" {
			names = append(append(names, name), jsonFields(typ.Field(i).Type)...)
		}
	}
	return names
}
