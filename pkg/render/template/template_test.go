package template

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// engineData is what the templates of these tests are rendered with.
type engineData struct {
	Environment string
	Workload    string
	Labels      map[string]string
	Manifests   map[string]string
	ConfigData  map[string]any
	Cluster     struct{ Name, Region string }
}

func newEngineData() *engineData {
	d := &engineData{
		Environment: "dev",
		Workload:    "hello",
		Labels:      map[string]string{"app": "shop", "tier-name": "web"},
		Manifests:   map[string]string{"repo": "https://example.com/r", "branch": "main", "path": "./f"},
		ConfigData: map[string]any{
			"region": "eu", "count": 3, "null": nil,
			"list": []any{"b", "a"}, "map": map[string]any{"k": "v"},
			"loose": map[any]any{"x": 1, "y": []any{true}}, "mixed": map[any]any{"x": 1, 2: "two"},
			"nested": "{{ .Environment }}!", "twice": "{{ .ConfigData.nested }}",
			"cycle": "{{ .ConfigData.cycle }}", "doubling": "{{ .ConfigData.doubling }}{{ .ConfigData.doubling }}",
			"literal": "this is <no value> as data", "missing": "{{ .ConfigData.nothing }}",
		},
	}
	d.Cluster.Name, d.Cluster.Region = "edge", "eu"
	return d
}

// blockAt is a literal block whose "|" is in line 10 of t.yaml, indented by 4.
func blockAt(text string) model.Block {
	at := diag.Place{File: &diag.File{Path: "t.yaml"}, Line: 10, Column: 7}
	return model.Block{Text: model.Text{Value: text, At: at}, Indent: 4}
}

func mustParse(t testing.TB, text string) *Template {
	t.Helper()
	template, problems := Parse(blockAt(text))
	require.Empty(t, problems)
	return template
}

// evaluate renders a text that is expected to be faultless.
func evaluate(t testing.TB, text string) string {
	t.Helper()
	result, missing, err := mustParse(t, text).Execute(newEngineData(), Bounds{})
	require.NoError(t, err)
	require.Empty(t, missing)
	return result
}

// line is a diagnostic as these tests write it.
func line(d diag.Diagnostic) string {
	s := d.At.String() + ": " + d.Rule + ": " + d.Message
	if d.Hint != "" {
		s += " (" + d.Hint + ")"
	}
	return s
}

func TestExecute(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"no action", "a: b\n", "a: b\n"},
		{"empty", "", ""},
		{"field", "{{ .Environment }}-{{.Manifests.branch}}\n", "dev-main\n"},
		{"root variable", "{{ range .ConfigData.list }}{{ . }}{{ $.Environment }} {{ end }}", "bdev adev "},
		{"missing label by index is empty", `[{{ index .Labels "x" }}]`, "[]"},
		{"label with a dash", `{{ index .Labels "tier-name" }}`, "web"},
		{"default for what is missing", `{{ .ConfigData.nothing | default "d" }}`, "d"},
		{"if on what is missing", `{{ if .ConfigData.nothing }}a{{ else }}b{{ end }}`, "b"},
		{"trim marks", "a\n{{- if true }}\nb\n{{- end }}\n", "a\nb\n"},
		{"range over an integer", `{{ range 3 }}{{ . }}{{ end }}`, "012"},
		{"break and continue", `{{ range until 9 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ if eq . 4 }}{{ break }}{{ end }}{{ . }}{{ end }}`, "023"},
		{"range else", `{{ range .ConfigData.nothing }}x{{ else }}none{{ end }}`, "none"},
		{"range over a map is sorted", `{{ range $k, $v := .Labels }}{{ $k }}={{ $v }};{{ end }}`, "app=shop;tier-name=web;"},
		{"range over a loose map", `{{ range $k, $v := .ConfigData.loose }}{{ $k }};{{ end }}`, "x;y;"},
		{"range assigns", `{{ $x := 0 }}{{ range $x = .ConfigData.list }}{{ end }}{{ $x }}`, "a"},
		{"define", `{{ define "n" }}<{{ . }}>{{ end }}{{ template "n" .Workload }}`, "<hello>"},
		{"block", `{{ block "n" .Workload }}<{{ . }}>{{ end }}`, "<hello>"},
		{"with", `{{ with .ConfigData.map }}{{ .k }}{{ end }}`, "v"},
		{"recursion that ends", `{{ define "r" }}{{ . }}{{ if gt . 0 }}{{ template "r" (sub . 1 | int) }}{{ end }}{{ end }}{{ template "r" 3 }}`, "3210"},
		{"a null prints like nothing", `{{ .ConfigData.null | default "" }}`, ""},
		{"nested once", `{{ .ConfigData.nested }}`, "dev!"},
		{"nested twice", `{{ .ConfigData.twice }}`, "dev!"},
		{"the whole result is rendered again", `{{ "{{ .Workload }}" }} {{ .ConfigData.nested }}`, "hello dev!"},
		{"functions in nested text", `{{ "{{ upper .Workload }}" }}`, "HELLO"},
		{"stray closing braces stay", "}} a", "}} a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, evaluate(t, test.text))
		})
	}
}

func TestParseTemplateErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"unclosed action", "a\nb: {{ .x\n", []string{
			`t.yaml:12: template-syntax: unclosed action (close every "{{" with "}}")`,
		}},
		{"dash in a field", "{{ .Labels.tier-name }}", []string{
			`t.yaml:11: template-syntax: bad character U+002D '-' (read a name that contains "-" with {{ index .Labels "the-name" }})`,
		}},
		{"no end", "\n{{ if .x }}", []string{
			`t.yaml:12: template-syntax: unexpected EOF (close every if, range, with, define and block with {{ end }})`,
		}},
		{"undefined variable", "{{ $x }}", []string{
			"t.yaml:11: template-syntax: undefined variable \"$x\" (define a variable with {{ $name := … }} before its use; it is valid until the next {{ end }})",
		}},
		{"break outside of a loop", "{{ break }}", []string{
			`t.yaml:11: template-syntax: {{break}} outside {{range}}`,
		}},
		{"every function is reported", "{{ now }}\n  {{ uper .x | nope }}", []string{
			`t.yaml:11:8: forbidden-function: function "now" is not allowed: it reads the clock or the time zone of this machine (put the date into a platform ConfigMap)`,
			`t.yaml:12:10: unknown-function: unknown function "uper" (did you mean "upper"?)`,
			`t.yaml:12:20: unknown-function: unknown function "nope"`,
		}},
		{"in a define", `{{ define "x" }}{{ env "HOME" }}{{ end }}`, []string{
			`t.yaml:11:24: forbidden-function: function "env" is not allowed: it reads the environment of this machine (put the value into a platform ConfigMap)`,
		}},
		{"in an argument", `{{ if eq (set .ConfigData "a" 1) 2 }}{{ else }}{{ end }}`, []string{
			`t.yaml:11:15: forbidden-function: function "set" is not allowed: it modifies its arguments (create a new map: {{ $d = merge (dict "key" "value") $d }})`,
		}},
		{"helm", `{{ include "x" . }}`, []string{
			`t.yaml:11:8: unknown-function: unknown function "include" (this is a function of Helm; use {{ template }})`,
		}},
		{"hidden functions have no name", `{{ kalypsoProbe 0 . . }}`, []string{
			`t.yaml:11:8: unknown-function: unknown function "kalypsoProbe"`,
		}},
		{"merge for its side effect", `{{ $d := dict }}{{ $_ := merge $d .ConfigData }}`, []string{
			`t.yaml:11:24: forbidden-function: the result of merge is not used, and it does not modify its arguments here (assign the result: {{ $merged := merge … }})`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			template, problems := Parse(blockAt(test.text))
			assert.Nil(t, template)
			got := make([]string, 0, len(problems))
			for _, problem := range problems {
				got = append(got, line(problem))
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestExecuteErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{
			"unknown field", "a: {{ .Workloda }}",
			`t.yaml:11:11: unknown-field: unknown field "Workloda" in .Workloda (did you mean "Workload"?)`,
		},
		{
			"field of a text", "{{ .Labels.app.name }}",
			`t.yaml:11:8: unknown-field: .Labels.app.name: "name" not found in a string`,
		},
		{
			"field of a plain value", "{{ .ConfigData.region.name }}",
			`t.yaml:11:8: unknown-field: .ConfigData.region.name: "name" not found in a value that is not a map`,
		},
		{
			"range over a text", "{{ range .Workload }}{{ end }}",
			`t.yaml:11:14: template-failed: .Workload: range can't iterate over hello`,
		},
		{
			"no template at all", `{{ template "x" }}`,
			`t.yaml:11:17: unknown-template: template "x" is not defined in this text (define it with {{ define }} in the same text)`,
		},
		{
			"field of null", "{{ .ConfigData.null.name }}",
			`t.yaml:11:8: unknown-field: .ConfigData.null.name: cannot read "name" of an empty value`,
		},
		{
			"null for a text", "{{ upper .ConfigData.null }}",
			`t.yaml:11:14: no-value: .ConfigData.null has no value, but a string is required (set a value, or add a default in the template: {{ … | default "…" }})`,
		},
		{
			"nothing for a text", "{{ .ConfigData.nothing | upper }}",
			`t.yaml:11:30: no-value: .ConfigData.nothing has no value, but a string is required (set a value, or add a default in the template: {{ … | default "…" }})`,
		},
		{
			"wrong type", "{{ upper .Labels }}",
			`t.yaml:11:14: template-failed: .Labels is a map, but a string is required`,
		},
		{
			"wrong type in a pipeline", `{{ .Labels | trimSuffix "a" }}`,
			`t.yaml:11:29: template-failed: .Labels is a map, but a string is required`,
		},
		{
			"number of arguments", "{{ upper 1 2 }}",
			`t.yaml:11:8: template-failed: upper has 2 arguments instead of 1`,
		},
		{
			"undefined template", `{{ define "name" }}{{ end }}{{ template "nmae" }}`,
			`t.yaml:11:45: unknown-template: template "nmae" is not defined in this text (did you mean "name"?)`,
		},
		{
			"fail", "\n\n {{ fail \"set a\\nregion\" }}",
			`t.yaml:13:9: template-failed: set a region`,
		},
		{
			"panic in a function", `{{ substr 5 2 "abc" }}`,
			`t.yaml:11:8: template-failed: substr: slice bounds out of range [5:2]`,
		},
		{"division by zero", `{{ div 1 0 }}`, `t.yaml:11:8: template-failed: div: division by zero`},
		{
			"bad regular expression", `{{ regexFind "(" "a" }}`,
			"t.yaml:11:8: template-failed: regexFind: error parsing regexp: missing closing ): `(`",
		},
		{
			"index of a number", `{{ index 5 "a" }}`,
			`t.yaml:11:8: template-failed: index: can't index item of type int`,
		},
		{
			"keys of several types", `{{ range .ConfigData.mixed }}{{ end }}`,
			`t.yaml:11:14: template-failed: range over a map with keys of several types (numbers, booleans, strings), which have no order (quote the keys of the map)`,
		},
		{
			"address", `{{ printf "%p" .Labels }}`,
			`t.yaml:11:8: forbidden-function: the verb "%p" of printf is not allowed: it prints an address, which differs in every run`,
		},
		{
			"address in a list", `{{ list (semver "1.2.3") }}`,
			`t.yaml:11:8: template-failed: list: a list or map cannot contain a *semver.Version`,
		},
		{
			"cycle", "{{ .ConfigData.cycle }}",
			`t.yaml:10:7: template-cycle: the result still contains {{ .ConfigData.cycle }} after 5 more rounds of rendering (remove the template action that refers back to itself)`,
		},
		{
			"nested syntax", `a: b
c: {{ "{{ .Environment " }}`,
			`t.yaml:10:7: template-syntax: the rendered text contains "{{" and was rendered again: in its line 2, "c: {{ .Environment": unclosed action (close every "{{" with "}}")`,
		},
		{
			"nested field", `{{ "{{ .Env }}" }}`,
			`t.yaml:10:7: unknown-field: the rendered text contains "{{" and was rendered again: in its line 1, "{{ .Env }}": unknown field "Env" in .Env (one of Cluster, ConfigData, Environment, Labels, Manifests, Workload)`,
		},
		{
			"nested function", `{{ "{{ env \"A\" }}" }}`,
			`t.yaml:10:7: forbidden-function: the rendered text contains "{{" and was rendered again: in its line 1, "{{ env \"A\" }}": function "env" is not allowed: it reads the environment of this machine (put the value into a platform ConfigMap)`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			template := mustParse(t, test.text)
			text, missing, err := template.Execute(newEngineData(), Bounds{})
			require.Error(t, err)
			assert.Empty(t, text)
			assert.Empty(t, missing)
			assert.Equal(t, test.want, line(template.Diagnose(diag.Error, err)))
		})
	}
}

func TestNoValue(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"a key of a map", "url: {{ .Manifests.rpeo }}\n", []string{
			`t.yaml:11:13: no-value: .Manifests.rpeo has no value (did you mean "repo"?)`,
		}},
		{"two of them, one with a default before", "{{ .ConfigData.x | default 1 }}\n{{ .ConfigData.nulls }} {{ .ConfigData.null }}", []string{
			`t.yaml:12:8: no-value: .ConfigData.nulls has no value (did you mean "null"?)`,
			`t.yaml:12:32: no-value: .ConfigData.null has no value (set a value, or add a default in the template: {{ … | default "…" }})`,
		}},
		{"by index", `{{ index .ConfigData "regin" }}`, []string{
			`t.yaml:11:8: no-value: index .ConfigData "regin" has no value (did you mean "region"?)`,
		}},
		{"in a map that is missing itself", `{{ .ConfigData.mpa.k }}`, []string{
			`t.yaml:11:8: no-value: .ConfigData.mpa.k has no value (did you mean "map"?)`,
		}},
		{"of a variable", `{{ $m := .ConfigData.map }}{{ $m.kk }}`, []string{
			`t.yaml:11:35: no-value: $m.kk has no value (one of k)`,
		}},
		{"in a loop, once", `{{ range 5 }}{{ $.Manifests.brunch }}{{ end }}`, []string{
			`t.yaml:11:21: no-value: $.Manifests.brunch has no value (did you mean "branch"?)`,
		}},
		{"of a function", `{{ first (list) }}`, []string{
			`t.yaml:11:8: no-value: first (list) has no value (set a value, or add a default in the template: {{ … | default "…" }})`,
		}},
		{"in a named template", `{{ define "x" }}{{ .k2 }}{{ end }}{{ template "x" .ConfigData.map }}`, []string{
			`t.yaml:11:24: no-value: .k2 has no value (one of k)`,
		}},
		{"in nested text", `{{ .ConfigData.missing }}`, []string{
			`t.yaml:10:7: no-value: the rendered text contains "{{" and was rendered again: in its line 1, "{{ .ConfigData.nothing }}": .ConfigData.nothing has no value (set a value, or add a default in the template: {{ … | default "…" }})`,
		}},
		{"a value that holds the text", `{{ .ConfigData.literal }}`, []string{}},
		{"a template that holds the text", `<no value>{{ .Environment }}`, []string{}},
		{"a function that ignores it", `<no value>{{ .ConfigData.nothing | quote }}`, []string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			template := mustParse(t, test.text)
			text, missing, err := template.Execute(newEngineData(), Bounds{})
			require.NoError(t, err)
			assert.Contains(t, text, "<no value>", "the text comes with the problem")
			got := []string{}
			for _, problem := range missing {
				got = append(got, line(template.Diagnose(diag.Error, problem)))
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestPlaceOfOtherStyles(t *testing.T) {
	t.Parallel()
	block := blockAt("{{ .Nope }}")
	block.Indent = -1
	template, problems := Parse(block)
	require.Empty(t, problems)
	_, _, err := template.Execute(newEngineData(), Bounds{})
	assert.Equal(t, "t.yaml:10:7", template.Diagnose(diag.Error, err).At.String(),
		"the lines of a quoted or folded text are not those of the file")
}

func TestExecuteDoesNotWriteIntoTheData(t *testing.T) {
	t.Parallel()
	d := newEngineData()
	text := `{{ $m := mergeOverwrite .ConfigData (dict "region" "us" "map" (dict "k" "w")) }}{{ $m.region }}{{ $m.map.k }}` +
		`{{ sortAlpha .ConfigData.list }}{{ reverse .ConfigData.list }}{{ append .ConfigData.list 1 | len }}` +
		`{{ $n := merge (dict "map" .ConfigData.map) (dict "map" (dict "z" 1)) }}{{ $n.map.z }}`
	result, missing, err := mustParse(t, text).Execute(d, Bounds{})
	require.NoError(t, err)
	assert.Empty(t, missing)
	assert.Equal(t, "usw[a b][a b]31", result)
	assert.Equal(t, newEngineData(), d)
}

func TestExecuteIsConcurrent(t *testing.T) {
	t.Parallel()
	template := mustParse(t, `{{ range .ConfigData.list }}{{ upper . }}{{ end }} {{ .ConfigData.twice }} `+
		`{{ regexReplaceAll "a+" .Workload "b" }} {{ toYaml .ConfigData.map | indent 2 }} {{ .Manifests.nope }}`)
	want, _, err := template.Execute(newEngineData(), Bounds{})
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				got, missing, err := template.Execute(newEngineData(), Bounds{})
				if !assert.Equal(t, "<nil>", fmt.Sprint(err)) || !assert.Equal(t, want, got) || !assert.Len(t, missing, 1) {
					return
				}
			}
		})
	}
	group.Wait()
}

func TestExecuteAgainAfterAnError(t *testing.T) {
	t.Parallel()
	template := mustParse(t, `{{ define "x" }}{{ if .null }}{{ fail "no" }}{{ end }}{{ end }}{{ template "x" .ConfigData }}ok`)
	bad := newEngineData()
	bad.ConfigData["null"] = true
	for range 2000 {
		_, _, err := template.Execute(bad, Bounds{})
		require.Error(t, err)
	}
	text, _, err := template.Execute(newEngineData(), Bounds{})
	require.NoError(t, err)
	assert.Equal(t, "ok", text)
}

func TestS2TenantTextThatIsATemplateStaysBounded(t *testing.T) {
	t.Parallel()
	// The model refuses "{{" in what tenants write. Should it ever come through, it still reads
	// nothing of the machine and ends.
	for _, payload := range []string{
		`{{ env "GITHUB_TOKEN" | b64enc }}`, `{{ .Manifests.path }}`, `{{ range 300000000 }}{{ end }}`,
		`{{ template "(text)" . }}`, `{{ "{{ .Manifests.path }}{{ .Manifests.path }}" }}`, `{{`, `{{ .`,
	} {
		t.Run(payload, func(t *testing.T) {
			t.Parallel()
			d := newEngineData()
			d.Manifests["path"] = payload
			_, _, err := mustParse(t, "path: {{ .Manifests.path }}").Execute(d, Bounds{})
			require.Error(t, err)
			assert.NotEmpty(t, asError(err).Rule)
			assert.NotContains(t, err.Error(), "\n")
			assert.Less(t, len(err.Error()), 3*maxExcerpt)
		})
	}
}

func TestErrorsAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long\n", 10_000)
	d := newEngineData()
	d.Workload = long
	for _, text := range []string{
		`{{ fail .Workload }}`, `{{ range .Workload }}{{ end }}`, `{{ template "x" .Workload }}`,
		`{{ "{{ .Workload" }} {{ .Workload }}`, `{{ regexFind .Workload "(" }}{{ regexFind "(" .Workload }}`,
		`{{ .Workload.x }}`, `{{ index .Labels .Workload .Workload }}`,
	} {
		_, _, err := mustParse(t, text).Execute(d, Bounds{})
		require.Error(t, err, text)
		assert.Less(t, len(err.Error()), 3*maxExcerpt, text)
		assert.NotContains(t, err.Error(), "\n", text)
	}
}
