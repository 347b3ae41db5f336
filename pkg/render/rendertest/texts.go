// Package rendertest has templates, texts and configurations for the tests of rendering.
package rendertest

import (
	"slices"
)

// Flux is a template of a reconciler, Namespace one of a namespace.
const (
	Flux = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: "{{ .DeploymentTargetName }}", namespace: flux-system}
spec: {path: {{ .Manifests.path | quote }}}`
	Namespace = `apiVersion: v1
kind: Namespace
metadata: {name: "{{ .Namespace }}"}`
)

// Printings are ways in which a platform's template may print a string of an application.
func Printings() []string {
	const x = "{{ .Manifests.x }}"
	return []string{
		"a: " + x + "\nb: after\n",
		"a: \"" + x + "\"\nb: after\n",
		"a: '" + x + "'\nb: after\n",
		"a: {{ .Manifests.x | quote }}\nb: after\n",
		"a: {{ .Manifests.x | squote }}\nb: after\n",
		"a: {{ .Manifests.x | toYaml }}\nb: after\n",
		"a: {{ .Manifests.x | toJson }}\nb: after\n",
		"a: pre-" + x + "-post\n",
		"a: \"pre " + x + " post\"\n",
		"a: https://" + x + "/path\n",
		"a: before " + x + " after\n",
		"a: [one, " + x + ", two]\n",
		"a: [" + x + "]\nb: after\n",
		"a: [\"" + x + "\", two]\n",
		"a: {b: " + x + ", c: d}\n",
		"a: {b: '" + x + "'}\n",
		"a: { " + x + ": v, c: d}\n",
		"- " + x + "\n- b\n",
		"- - " + x + "\n  - b\n",
		"a: |\n  first\n  " + x + "\n  last\nb: c\n",
		"a: |\n  " + x + "\n  last\nb: c\n",
		"a: >\n  first\n  " + x + "\n  last\nb: c\n",
		"a: |-\n  " + x + "\n",
		"a: first\n  " + x + "\nb: c\n",
		"a: \"first\n  " + x + "\n  last\"\nb: c\n",
		"a: 1 # " + x + "\nb: 2\n",
		"# " + x + "\na: 1\n",
		"a: 1\n#" + x + "\nb: 2\n",
		x + ": v\nb: w\n",
		x + ":\n  c: d\nb: w\n",
		"\"" + x + "\": v\nb: w\n",
		"? " + x + "\n: v\n",
		"a:\n  b: " + x + "\n  c: d\ne: f\n",
		"a: &anchor " + x + "\nb: *anchor\n",
		"a: !!str " + x + "\nb: c\n",
		"a: !local " + x + "\n",
		x + "\n",
		"a: 1\n---\n" + x + "\n---\nb: 2\n",
		"a: " + x + "\nb: \"" + x + "\"\nc: '" + x + "'\n",
		"a: {{ .ConfigData.NESTED }}\nb: c\n",
		"a: {{ .ConfigData.QUOTED }}\nb: c\n",
		"{{ .Manifests | toYaml }}\n",
		"{{ toYaml .Manifests | indent 2 }}\n",
		"{{ range $key, $value := .Manifests }}{{ $key }}: {{ $value | quote }}\n{{ end }}",
		"a: {{ .Manifests.x | default \"main\" }}\nb: c\n",
		"a: {{ if .Manifests.x }}" + x + "{{ else }}none{{ end }}\nb: c\n",
		"a: {{ printf \"%s-%s\" .Environment .Manifests.x }}\n",
		"a: {{ list .Manifests.x \"b\" | join \",\" }}\n",
	}
}

// HostileTexts are what a tenant may try.
func HostileTexts() []string {
	return []string{
		"", " ", "a", "main", "./path", "../up", ".", "..", "...", "---", "--- a", "-", "- a", "-a", "a:", "a: b", "a:b", ":a", ": a", ":",
		"https://example.com/r.git", "git@example.com:r.git", "https://u:p@h:1/p?q=1#f", "~", "~user", "null", "Null", "true", "off", "y", "No",
		"5", "0123", "1_000", "0x1f", "0o17", "0b1", "1e3", ".5", "-.inf", ".nan", "+1", "1:30", "2024-01-01", "12345678901234567890",
		"#", "# c", "a #b", "a# b", "&a", "&a b", "*a", "*anchor", "!", "!!str", "!!int 5", "!local", "|", ">", "|-", "%TAG", "@a", "`a`",
		`"`, `'`, `""`, `''`, `a"b`, `a'b`, `a''b`, `\`, `\n`, `\x41`, `\"`, `a\/b`, `", b: "c`, `', b: 'c`, `"}, {"`, `"] #`, "'] #",
		"{", "}", "[", "]", "{}", "[]", "{a: b}", "[a]", "a, b", ",", "a]", "a}", "], [", "}, x: {", "?", "? a", "?a", "<<", "<<: *a", "=", "$HOME", "$(id)", "`id`",
		"a b", " a", "a ", "  a  ", "é", "日本", "😀", "a\u00a0b", "\u00a0", "\u200b", "{ {", "{%", "}}", "<no value>", "kalypso0placeholder0z", "kalypso0placeholder1z x",
		"%7B%7B", "\u0085", "e3sgLkVudmlyb25tZW50IH19", "benign0value", "a=b", "a+b", "100%", "(a)", "a;b", "a|b", "a&b", "a>b", "*", "\\u007b",
	}
}

// HardTexts are values that a shell could misunderstand.
func HardTexts() []string {
	return []string{
		"", "plain", " blanks ", "a\nb", "\n", "trailing\n\n", `"`, `'`, `\`, `\\`, `\"`, "$HOME", "${HOME}", "$(id)", "`id`", "a\\\nb", "!x!", "~", "*", "#c",
		"a;b|c&d>e", "\t", "\r", "é€😀", "\x01\x7f", "$", "`", `\$`, `\n`, `$'x'`, "a\\", "%s", "-n",
	}
}

// ConfigForms are ways in which a template writes the configuration.
func ConfigForms() []string {
	return []string{
		"data:\n{{ .ConfigData | toYaml | indent 2 }}\n",
		"data:\n{{ .ConfigData | stringify | indent 2 }}\n",
		"data:\n  {{- toYaml .ConfigData | nindent 2 }}\n  last: x\n",
		"data: {{ stringify .ConfigData | nindent 4 }}\nb: c\n",
		"{{ toYaml .ConfigData }}",
		"{{ toYaml .ConfigData }}\nb: c\n",
		"a: {{ hash .ConfigData }}\nb: {{ .ConfigData | hash | quote }}\n",
		"data:\n{{- range $key, $value := .ConfigData }}\n  {{ $key }}: {{ $value | quote }}\n{{- end }}\n",
		"data:\n{{ range $key, $value := .ConfigData }}  {{ $key }}: {{ $value }}\n{{ end }}b: c\n",
		"{{ range $key, $value := .ConfigData }}{{ $key }}: {{ $value }}{{ end }}\n",
		"a: b\n{{ range $key, $value := .ConfigData }}{{ $key }}: {{ $value }}{{ end }}\n",
		"{{ range $key, $value := .ConfigData }}{{ $key }}: {{ $value | toYaml | nindent 2 }}\n{{ end }}",
		"{{ range .ConfigData }}- {{ . }}\n{{ end }}",
		"{{ range $key, $value := .ConfigData }}- name: {{ $key }}\n  value: {{ $value | quote }}\n{{ else }}[]\n{{ end }}",
		"a: |\n  {{ range $key, $value := .ConfigData }}{{ $key }}={{ $value }}\n  {{ end }}\nb: c\n",
		"a:\n{{ .ConfigData | toYaml | indent 2 }}\n    # {{ .Labels.app }}\n    {{ .Workload }}\n",
		"{{ .ConfigData | toYaml }}\n---\n{{ .ConfigData | toYaml }}\n",
		"{{ range $key, $value := .ConfigData }}\n{{ $key }}: {{ $value }}\n{{ end }}",
		"{{ range $key, $value := .ConfigData }}{{ $key }}: {{ $value }}\n\n{{ end }}kind: {{ .Labels.app }}\n",
	}
}

// AllTemplates are templates that read everything in all ways.
func AllTemplates() []string {
	texts := slices.Concat(Printings(), ConfigForms(), []string{
		Flux, Namespace,
		"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ .Namespace }}\n  labels:\n{{ toYaml .Labels | indent 4 }}\n",
		"apiVersion: v1\nkind: {{ .Labels.app }}\nmetadata: {name: {{ .Workload }}-{{ .Labels.app }}, namespace: \"{{ .Labels.app }}\"}\n",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: {{ .Labels.app }}}\n- {kind: x}\n",
		"apiVersion: {{ .Labels.app }}\nkind: A\nmetadata:\n  name: a\n",
		"{{ .Labels.app }}: {{ .ClusterTypeLabels.region }}\n", "{{ .Labels.app }}{{ .ClusterTypeLabels.region }}: a\nb: c\n",
		"{{ $x := .Labels.app }}a: {{ $x }}\nb: {{ .Workload }}\n", "{{ $x := .Labels.app }}a: b\n", "{{ $x := fail \"x\" }}a: b\n",
		"{{ $x := fail .Labels.app }}a: {{ .Workload }}\n{{ if false }}{{ $x }}{{ end }}", "{{ if false }}{{ fail \"x\" }}{{ end }}a: b",
		"{{ with .Labels.app }}a: {{ . }}{{ $.Workload }}{{ end }}", "{{ range $key, $value := .Labels }}{{ $key }}: {{ $value }}\n{{ end }}",
		"a: {{ index .Labels \"app\" }}\nb: {{ index .Labels \"nothing\" | quote }}\nc: {{ .Labels.nothing }}\n",
		"a: {{ .Labels.nothing | quote }}\n", "a: {{ quote .Labels.app }}{{ quote .Workload }}\n", "a: {{ .Labels.app }}{{ quote .Workload }}\n",
		"a: {{ .ConfigData.KEY }}\n", "a: {{ .ConfigData.nothing }}\n", "{{ define \"n\" }}{{ .Workload }}{{ end }}a: {{ template \"n\" . }}\n",
		"a: \"x\n{{ .Manifests.x }}\n  y\"\n", "a: \"x\n\n  -{{ .Manifests.x }}\"\n", "a: &{{ .Labels.app }} b\nc: {{ .Workload }}\n",
		"%TAG ! {{ .Labels.app }}\n---\na: b\n", "a: !{{ .Labels.app }} {{ .ClusterTypeLabels.region }}\n", "{ {{ .Labels.app }}\n", "{{{ .Labels.app }}}\n",
		"a: \"\\{{ .Labels.app }}\"\n", "a: \"\\x{{ .Labels.app }}\"\n", "a: {{ .Labels.app }}:{{ .Workload }}\n", "- {{ .Labels.app }}:\n- -{{ .Labels.app }}\n-{{ .Workload }}: b\n",
		"[{{ .Labels.app }}, {{ .Workload }}]: b\n", "{a:{{ .Labels.app }}, \"b\":{{ .Workload }}}\n", "a: |2\n  {{ .Labels.app }}\n   {{ .Manifests.x }}\n", "a: >-\n\n  {{ .Labels.app }}\n\n  b\n",
	})
	return append(texts, `{{ $x := .Labels.app }}a: {{ upper $x }}{{ trunc 2 $x }}{{ b64enc $x | quote }}
b: {{ list $x .Workload | join "," }}{{ dict "a" $x | toJson }}{{ default "d" .ConfigData.nothing }}
c: {{ regexReplaceAll "a+" $x "b" }}{{ semverCompare ">1" "2.0.0" }}{{ until 3 }}{{ nindent 2 $x }}{{ .Labels | keys | sortAlpha }}
`)
}
