package template

import (
	"errors"
	"testing"
)

// FuzzTemplate: no text makes the engine panic or go beyond its bounds, every error says what it is,
// and the same text gives the same again.
func FuzzTemplate(f *testing.F) {
	for _, text := range bombs() {
		f.Add(text)
	}
	for _, test := range functionTests() {
		f.Add(test.text)
	}
	for _, text := range []string{
		"a: {{ .Workload }}\n", "{{ range $i, $x := .ConfigData.list }}{{ if $i }},{{ end }}{{ $x }}{{ else }}-{{ end }}",
		"{{- with .ConfigData.map -}} {{ .k | quote }} {{- end -}}", "{{ .ConfigData.twice }}{{ .ConfigData.cycle }}",
		"{{/* c */}}{{ define \"a\" }}{{ . }}{{ end }}{{ template \"a\" .Labels }}", "{{ .x.y.z }}{{ $.Cluster.Name }}", "{{", "}}{{ \"",
	} {
		f.Add(text)
	}
	bounds := Bounds{Steps: 5_000, Bytes: 20_000}
	f.Fuzz(func(t *testing.T, text string) {
		template, problems := Parse(blockAt(text))
		if template == nil {
			if len(problems) == 0 {
				t.Fatal("neither a template nor a problem")
			}
			for _, problem := range problems {
				if problem.Rule == "" || problem.Message == "" || problem.At.IsZero() {
					t.Fatalf("a problem without rule, message or place: %+v", problem)
				}
			}
			return
		}
		result, missing, err := template.Execute(newEngineData(), bounds)
		if len(result) > bounds.Bytes {
			t.Fatalf("%d bytes of output", len(result))
		}
		var problem *Error
		if err != nil && (!errors.As(err, &problem) || problem.Rule == "" || problem.Message == "") {
			t.Fatalf("an error without rule or message: %#v", err)
		}
		again, missingAgain, errAgain := template.Execute(newEngineData(), bounds)
		if again != result || len(missing) != len(missingAgain) || (err == nil) != (errAgain == nil) ||
			(err != nil && err.Error() != errAgain.Error()) {
			t.Fatalf("%q and %v, then %q and %v", result, err, again, errAgain)
		}
	})
}
