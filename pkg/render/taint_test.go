package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/rendertest"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

const nestedConfig = `{NESTED: "{{ .Manifests.x }}", QUOTED: "{{ .Manifests.x | quote }}"}`

// press is a platform with a template for reconcilers, and a tenant with the workload cart-web.
type press struct {
	platform *model.Objects
	options  Options
}

func newPress(t testing.TB, template, contentType string) press {
	t.Helper()
	objects, diags := parseRepo("cp", model.Platform, []string{
		flowTemplate("flux", "reconciler", contentType, template), textTemplate("default", "namespace", rendertest.Namespace),
		clusterType("edge", ""), everywhere(), registration("shop", "retail"), platformConfig("a", "", nestedConfig),
	}, nil)
	require.False(t, diags.HasErrors(), reported(diags))
	return press{platform: objects}
}

// print returns what the template makes of the tenant's workload, and the diagnostics of all stages.
func (p press) print(workload string) (string, diag.List) {
	objects, diags := parseRepo("shop", model.Tenant, []string{workload}, p.platform.Registrations[0])
	environment := &model.Environment{Object: model.Object{Name: model.Text{Value: "dev"}}}
	fleet, more := model.NewFleet(environment, []string{"dev"}, []*model.Objects{p.platform, objects})
	diags.Add(more)
	if diags.HasErrors() {
		return "", diags
	}
	tree, more := renderFleet(fleet, p.options)
	diags.Add(more)
	for _, file := range tree.Files {
		if strings.HasSuffix(file.Path, ReconcilerFile) {
			return file.Content.String(), diags
		}
	}
	return "", diags
}

// manifests prints a workload with these manifests; ok is false if it is refused.
func (p press) manifests(manifests map[string]string) (content string, ok bool) {
	content, diags := p.print(withManifests(manifests))
	return content, !diags.HasErrors()
}

func withManifests(manifests map[string]string) string {
	quoted, _ := json.Marshal(manifests)
	written := strings.ReplaceAll(string(quoted), "\u0085", `\u0085`) // a line break to YAML, but not to JSON
	return workload("cart", "", "name: web, manifests: "+written)
}

// value prints a workload with one manifest, x.
func (p press) value(x string) (content string, ok bool) {
	return p.manifests(map[string]string{"x": x})
}

const benign = "benign0value"

// oracle knows what a template makes of a harmless string, and so of any, without knowing how
// kalypso proves it.
type oracle struct {
	press
	template string
	expected map[string][]any
}

func newOracle(t testing.TB, template string) *oracle {
	t.Helper()
	o := &oracle{newPress(t, template, "yaml"), template, map[string][]any{}}
	content, ok := o.value(benign)
	require.True(t, ok, "the template is wrong: %s", template)
	for name, read := range readers() {
		if documents, err := read(content); err == nil { // else this reader does not know what the template writes
			o.expected[name] = documents
		}
	}
	return o
}

// requireUntainted checks that a string either is refused or comes out as exactly one string wherever
// a harmless one does, and changes nothing else.
func (o *oracle) requireUntainted(t *testing.T, x string) {
	t.Helper()
	content, ok := o.value(x)
	if !ok || x == "" { // without a string at all the template's own defaults apply
		return
	}
	for name, expected := range o.expected {
		got, err := readers()[name](content)
		require.NoError(t, err, "%s cannot read %q", name, content)
		require.Equal(t, replacedIn(expected, x), any(got), "%s reads %q", name, content)
	}
}

// readers are the parsers that GitOps tools use: Kubernetes, kustomize, and those of YAML 1.1.
func readers() map[string]func(string) ([]any, error) {
	return map[string]func(string) ([]any, error){
		"YAML 1.1": func(text string) ([]any, error) {
			decoder := yamlv2.NewDecoder(strings.NewReader(text))
			return readAll(func() (document any, err error) { return document, decoder.Decode(&document) })
		},
		"YAML 1.2": func(text string) ([]any, error) {
			decoder := yaml.NewDecoder(strings.NewReader(text))
			return readAll(func() (document any, err error) { return document, decoder.Decode(&document) })
		},
		"PyYAML": func(text string) ([]any, error) {
			decoder := yaml.NewDecoder(strings.NewReader(text))
			return readAll(func() (any, error) {
				var document yaml.Node
				if err := decoder.Decode(&document); err != nil {
					return nil, err
				}
				resolveAsPyYAML(&document)
				var value any
				return value, document.Decode(&value)
			})
		},
	}
}

// pyYAML has the patterns of PyYAML's resolver.py for scalars that are not strings.
var pyYAML = regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF|` +
	`[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|` +
	`[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|` +
	`[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+|<<|~|null|Null|NULL|=|[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]|` +
	`[0-9][0-9][0-9][0-9]-[0-9][0-9]?-[0-9][0-9]?(?:[Tt]|[ \t]+)[0-9][0-9]?:[0-9][0-9]:[0-9][0-9](?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9][0-9]?(?::[0-9][0-9])?))?)$`)

// resolveAsPyYAML makes other texts of plain scalars that PyYAML takes for something else than a string, such as
// keys without a value.
func resolveAsPyYAML(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && yamltext.IsPlainScalar(n) && n.ShortTag() == "!!str" && (yamltext.ExplicitTag(n) == "" && pyYAML.MatchString(n.Value) || strings.HasSuffix(n.Value, ":")) {
		n.Value = "no string: " + n.Value
	}
	for _, child := range n.Content {
		resolveAsPyYAML(child)
	}
}

func readAll(next func() (any, error)) (documents []any, err error) {
	for {
		switch document, err := next(); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, err
		default:
			documents = append(documents, withTextKeys(document))
		}
	}
}

func replacedIn(value any, x string) any {
	switch value := value.(type) {
	case string:
		return strings.ReplaceAll(value, benign, x)
	case []any:
		items := make([]any, len(value))
		for i := range value {
			items[i] = replacedIn(value[i], x)
		}
		return items
	case map[string]any:
		items := map[string]any{}
		for key, item := range value {
			items[strings.ReplaceAll(key, benign, x)] = replacedIn(item, x)
		}
		return items
	default:
		return value
	}
}

// TestS3: whatever a tenant writes into its manifests, it comes out as one string or is refused.
func TestS3(t *testing.T) {
	t.Parallel()
	for _, template := range rendertest.Printings() {
		t.Run(template, func(t *testing.T) {
			t.Parallel()
			o := newOracle(t, template)
			for i, x := range rendertest.HostileTexts() {
				if i%6 == len(template)%6 && !rendertest.RaceDetector || i%10 == 0 || thorough() { // the race detector has no more to find
					o.requireUntainted(t, x)
				}
			}
		})
	}
}

// A proof that refuses everything proves nothing: these are fine.
func TestTaintRefusesNoMoreThanItMust(t *testing.T) {
	t.Parallel()
	tests := []struct{ template, x, want string }{
		{"a: {{ .Manifests.x }}\n", "https://example.com/r.git", "a: https://example.com/r.git\n"},
		{"a: {{ .Manifests.x }}\n", "git@example.com:team/r.git", "a: git@example.com:team/r.git\n"},
		{"a: {{ .Manifests.x }}\n", "./a/b-c_d", "a: ./a/b-c_d\n"},
		{"a: {{ .Manifests.x }}\n", "two words", "a: two words\n"},
		{"a: {{ .Manifests.x }}\n", "~user/é", "a: ~user/é\n"},
		{"a: {{ .Manifests.x }}\n", "2024-01-01b", "a: 2024-01-01b\n"},
		{"a: {{ .Manifests.x | quote }}\n", "2024-01-01", "a: \"2024-01-01\"\n"},
		{"a: {{ .Manifests.x }}\n", "", "a: \n"},
		{"a: \"{{ .Manifests.x }}\"\n", "0123", "a: \"0123\"\n"},
		{"a: '{{ .Manifests.x }}'\n", `a "b" # c`, "a: 'a \"b\" # c'\n"},
		{"a: !!str {{ .Manifests.x }}\n", "0123", "a: !!str 0123\n"},
		{"a: {{ .Manifests.x | quote }}\n", `", b: 'c' \ #`, `a: "\", b: 'c' \\ #"` + "\n"},
		{"a: |\n  {{ .Manifests.x }}\n", "- a: &b [c", "a: |\n  - a: &b [c\n"},
		{"a: {{ .Manifests.x | quote }} # {{ .Manifests.x }}\n", "a: b #", "a: \"a: b #\" # a: b #\n"},
		{"a: {{ .Manifests.x | upper | quote }}\n", "a: b", "a: \"A: B\"\n"},
		{"a: {{ .Manifests.x | sha256sum | trunc 8 | quote }}\n", "a: b", "a: \"75cd1899\"\n"},
		{"a: {{ len .Manifests.x }}\n", "a: b", "a: 4\n"},
		{"a: {{ default \"main\" .Manifests.nothing }}\nb: {{ .Manifests.x | quote }}\n", "a: b", "a: main\nb: \"a: b\"\n"},
		// The value stays within one string, whatever functions made of it.
		{"a: {{ .Manifests.x | replace \".\" \"-\" | quote }}\n", "1.0", "a: \"1-0\"\n"},
		{"a: {{ .Manifests.x | replace \" \" \"-\" | quote }}\n", "1 0", "a: \"1-0\"\n"},
		{"a: {{ .Manifests.x | trim | quote }}\n", " a: b ", "a: \"a: b\"\n"},
		{"a: |\n{{ toYaml .Manifests | indent 2 }}\nb: c\n", "5", "a: |\n  x: \"5\"\nb: c\n"},
		{"a: |\n{{ toYaml .Manifests | indent 2 }}\nb: c\n", "true", "a: |\n  x: \"true\"\nb: c\n"},
		{"a: |\n{{ toYaml .Manifests | indent 2 }}\nb: c\n", "a: b", "a: |\n  x: 'a: b'\nb: c\n"},
		{"a: |-\n  first\n\n{{ toYaml .Manifests | indent 2 }}", "# a", "a: |-\n  first\n\n  x: '# a'"},
		{"a: {{ toYaml .Manifests | quote }}\n", "a: b", "a: \"x: 'a: b'\"\n"},
		{"a: {{ toYaml .Manifests | quote }}\n", "5", "a: \"x: \\\"5\\\"\"\n"},
		{"a: {{ toJson .Manifests | quote }}\n", `a\b "c"`, `a: "{\"x\":\"a\\\\b \\\"c\\\"\"}"` + "\n"},
		{"a: |\n  {{ .Manifests.x | quote }}\n", `a "b" \ c`, "a: |\n  \"a \\\"b\\\" \\\\ c\"\n"},
		{"a: |\n  {{ toJson .Manifests }}\n", `a "b" \ c`, "a: |\n  {\"x\":\"a \\\"b\\\" \\\\ c\"}\n"},
		// An empty value leaves a string, or null where it is alone, or the template asks whether it is empty.
		{"a: nginx{{ .Manifests.x }}\n", "", "a: nginx\n"},
		{"a: {{ .Manifests.x }}{{ .Manifests.x }}\n", "", "a: \n"},
		{"a: \"b:{{ .Manifests.x }}\"\n", "", "a: \"b:\"\n"},
		{"a:\n- b{{ with .Manifests.x }}:{{ . }}{{ end }}\n", "", "a:\n- b\n"},
		{"a: {{ if .Manifests.x }}b{{ else }}3{{ end }}\n", "", "a: 3\n"},
		{"a: {{ .Manifests.x | default 5 }}\n", "", "a: 5\n"},
		{"{{ range splitList \",\" .Manifests.x }}a: [{{ . }}]\n{{ end }}", "", "a: []\n"},
		// The template asks for the value.
		{"a: {{ eq .Manifests.x \"true\" }}\n", "true", "a: true\n"},
		{"{{ if eq .Manifests.x \"1\" }}a: one\n---\n{{ end }}b: c\n", "1", "a: one\n---\nb: c\n"},
		{"a: {{ if eq .Manifests.x \"on\" }}./on{{ else }}./off{{ end }}\n", "on", "a: ./on\n"},
		{"a: {{ atoi .Manifests.x | add 1 }}\n", "8080", "a: 8081\n"},
		{"a: {{ atoi .Manifests.x }}\n", "8080", "a: 8080\n"},
		{"a: {{ int .Manifests.x }}\n", "3", "a: 3\n"},
		{"a: {{ if eq .Manifests.x \"web\" }}3{{ else }}auto{{ end }}\n", "web", "a: 3\n"},
		{"a: {{ if eq .Manifests.x \"web\" }}3{{ else }}{{ .Manifests.x }}{{ end }}\n", "web", "a: 3\n"},
		{"{{ if eq .Manifests.x \"true\" }}a: true\n{{ end }}b: c\n", "true", "a: true\nb: c\n"},
		{"a: {{ .Manifests.x | replace \"latest\" \"0\" }}\n", "latest", "a: 0\n"},
		{"a: 5\nb: {{ .Manifests.x }}/{{ .Manifests.x }}\nc: 2024-01-01\n", "5", "a: 5\nb: 5/5\nc: 2024-01-01\n"},
	}
	for _, test := range tests {
		content, ok := newPress(t, test.template, "yaml").value(test.x)
		assert.True(t, ok, "%s with %q", test.template, test.x)
		assert.Equal(t, test.want, content)
	}
}

// What is no text as a template printed it does not stay what it is in a block or in quotes.
func TestTaintRefusesOtherTexts(t *testing.T) {
	t.Parallel()
	tests := []struct{ template, x string }{
		{"a: \"{{ .Manifests.x }}\"\n", `a\nb`},
		{"a: \"{{ .Manifests.x | trim }}\"\n", `a\nb`},
		{"a: \"{{ .Manifests.x | trim }}\"\n", `a\u0041`},
		{"a: '{{ .Manifests.x }}'\n", `a''b`},
		{"a: |\n  {{ .Manifests.x }}\n", "  a"},
		{"a: |\n  {{ .Manifests.x }}\nb: c\n", " a "},
		{"a: |\n  {{ .Manifests.x | b64dec }}\n", "YQpiOiBj"}, // a, line break, b: c
		{"a: >\n  {{ .Manifests.x | quote }}\n", `a "b"`},
		{"a: {{ .Manifests.x | replace \" \" \"-\" }}\n", "1 0"},
	}
	for _, test := range tests {
		content, ok := newPress(t, test.template, "yaml").value(test.x)
		assert.False(t, ok, "%s with %q: %s", test.template, test.x, content)
	}
}

func TestTaintMessages(t *testing.T) {
	t.Parallel()
	x := func(text string) map[string]string { return map[string]string{"x": text} }
	ax := func(a, x string) map[string]string { return map[string]string{"a": a, "x": x} }
	tests := []struct {
		name, template string
		manifests      map[string]string
		want           string
	}{
		{"structure", "a: {{ .Manifests.x }}\n", x("b: c"), `the value "b: c" of manifests.x`},
		{"the one at fault", "a: {{ .Manifests.a | quote }}\nx: {{ .Manifests.x }}\n", ax("b: c", "d: e"), `the value "d: e" of manifests.x`},
		{"both of them", "a: \"{{ .Manifests.a }}\"\nx: {{ .Manifests.x }}\n", ax(`"`, ": "), `the value "\"" of manifests.a`},
		{"none alone", "a: {{ .Manifests.a }}{{ .Manifests.x }}b\n", ax("c:", " d"), `the value "c:" of manifests.a`},
		{"a key", "{{ range $key, $value := .Manifests }}{{ $key }}: {{ $value }}\n{{ end }}", map[string]string{"a: b, c": "d"}, `the value "d" of manifests.a: b, c`},
		{"a merge key", "{{ .Manifests.x }}: {b: c}\nd: e\n", x("<<"), `the value "<<" of manifests.x`},
		{"a decoded text", "a: {{ .Manifests.x | b64dec }}\n", x("YTogYg=="), `the value "YTogYg==" of manifests.x`},
		{"a number after a function", "a: {{ .Manifests.x | trimPrefix \"(\" }}\n", x("(5"), `the value "(5" of manifests.x`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, diags := newPress(t, test.template, "yaml").print(withManifests(test.manifests))
			require.True(t, diags.HasErrors())
			found := ""
			for _, d := range diags {
				if d.Rule == "tenant-value" {
					found = diag.Format(d, diag.Style{})
				}
			}
			assert.Regexp(t, `^shop:a.yaml:6:\d+: error: `, found)
			assert.Contains(t, found, test.want+" is not rendered as one plain value (in edge/cart-web/reconciler.yaml) [tenant-value]\n"+
				"    cp:a.yaml:3:18: printed by this template\n"+
				"    hint: use a value without special characters, or print it with {{ … | quote }} in the template\n")
		})
	}
}

// What a shell makes of a string cannot be known, so it must be one that means nothing to a shell.
func TestTaintInShellFiles(t *testing.T) {
	t.Parallel()
	if rendertest.RaceDetector {
		t.Skip("nothing here is done at once")
	}
	for i, template := range []string{
		"x={{ .Manifests.x }}\n", "x=\"{{ .Manifests.x }}\"\n", "x='{{ .Manifests.x }}'\n", "echo {{ .Manifests.x }} > $HOME/log\n",
		"cat <<EOF\n{{ .Manifests.x }}\nEOF\n", "# {{ .Manifests.x }}\n", "x={{ .Manifests.x | squote }}\n", "x={{ .Manifests.x | quote }}\n",
	} {
		p := newPress(t, template, "sh")
		for j, x := range rendertest.HostileTexts() {
			if (i+j)%3 != 0 && !thorough() {
				continue // each text in some templates
			}
			content, ok := p.value(x)
			harmless := regexp.MustCompile(`^[A-Za-z0-9._/@:+,%=-]*$`).MatchString(x)
			if harmless {
				assert.True(t, ok, "%q in %q", x, template)
			} else if ok {
				assert.NotContains(t, content, x, "in %q", template)
			}
		}
	}
}

// A control plane's own targets are trusted: their values may be anything that YAML can be.
func TestTaintIsForTenants(t *testing.T) {
	t.Parallel()
	files := platform(
		flowTemplate("flux", "reconciler", "yaml", "a: {{ .Manifests.x }}\n"), textTemplate("default", "namespace", rendertest.Namespace), clusterType("edge", ""), everywhere(),
		object("DeploymentTarget", "cart-web", "", `spec: {environment: dev, manifests: {x: "{b: [c]}"}}`),
	).files(t)
	assert.Equal(t, "a: {b: [c]}\n", files["edge/cart-web/reconciler.yaml"])
}

// Names and labels are bound by Kubernetes' rules: whatever they are, no structure can come of them.
func TestS3NamesAndLabels(t *testing.T) {
	t.Parallel()
	const template = "a: {{ .Labels.x }}\nb: [{{ .Labels.x }}, {{ .Workload }}]\n\"{{ .Labels.x }}\": {{ .DeploymentTargetName }}\n# {{ .Labels.x }}\n{{ range $k, $v := .Labels }}{{ $k }}: {{ $v }}\n{{ end }}"
	p := newPress(t, template, "yaml")
	structure := func(name, label string) string {
		key, value := fmt.Sprintf("%q", "example.com/"+label), fmt.Sprintf("%q", label)
		content, diags := p.print(workload(name, "x: "+value+", "+key+`: "one"`, "name: web, manifests: {repo: r}"))
		if diags.HasErrors() {
			return "refused"
		}
		roots, failure := verify.ParseDocuments(content)
		require.Nil(t, failure)
		require.Len(t, roots, 1)
		return outline(roots[0])
	}
	want := structure("cart", "benign")
	require.NotEqual(t, "refused", want)
	for _, text := range rendertest.HostileTexts() {
		assert.Contains(t, []string{want, "refused"}, structure("cart", text), text)
		assert.Contains(t, []string{want, "refused"}, structure(text, "benign"), text)
	}
}

func outline(n *yaml.Node) string {
	var b strings.Builder
	fmt.Fprint(&b, n.Kind)
	for _, child := range n.Content {
		b.WriteString("(" + outline(child) + ")")
	}
	return b.String()
}

// TestS2: what a tenant writes is never evaluated, neither at once nor by way of a function or a
// second rendering.
func TestS2(t *testing.T) {
	t.Parallel()
	payloads := []string{
		"{{ .Environment }}", "{{ env \"HOME\" }}", "a{{", "}}{{", "{{/* */}}", "{{- .Environment -}}", "{", "x{",
		// These are no templates until a function has had them.
		"{ { .Environment } }", "{/{ .Environment }/}", "e3sgLkVudmlyb25tZW50IH19", "%7B%7B .Environment %7D%7D", `\u007b\u007b .Environment \u007d\u007d`,
		"({ .Environment })", "}} .Environment {{",
	}
	templates := append(rendertest.Printings(),
		"a: {{ .Manifests.x | nospace }}\n", "a: {{ .Manifests.x | nospace | quote }}\n", "a: {{ .Manifests.x | replace \"/\" \"\" | quote }}\n",
		"a: {{ .Manifests.x | b64dec | quote }}\n", "a: {{ $y := .Manifests.x }}{{ $y | b64dec }}\n", "a: {{ (urlParse .Manifests.x).path | quote }}\n",
		"a: {{ printf \"\\\"%s\\\"\" .Manifests.x | fromJson }}\n", "a: {{ .Manifests.x | replace \"(\" \"{\" | quote }}\n",
		"a: {{ printf \"{%s}\" .Manifests.x | quote }}\n", "a: {{ .ConfigData.NESTED | replace \"/\" \"\" }}\n",
	)
	for _, template := range templates {
		p := newPress(t, template, "yaml")
		for _, payload := range payloads {
			content, ok := p.value(payload)
			if ok {
				assert.NotRegexp(t, `\bdev\b`, strings.ReplaceAll(content, "dev-", ""), "%s with %q", template, payload)
			}
		}
	}
}

// FuzzTaint: whatever a tenant writes, wherever a template prints it, it comes out as exactly one
// string to every reader and changes nothing else, or is refused.
func FuzzTaint(f *testing.F) {
	var oracles []*oracle
	for _, template := range rendertest.Printings() {
		oracles = append(oracles, newOracle(f, template))
	}
	for i, x := range rendertest.HostileTexts() {
		f.Add(uint8(i), x)
	}
	f.Fuzz(func(t *testing.T, template uint8, x string) {
		x = strings.ToValidUTF8(x, "?") // nothing else gets past the model
		oracles[int(template)%len(oracles)].requireUntainted(t, x)
	})
}

// FuzzTaintInKeys: the keys of manifests are a tenant's too.
func FuzzTaintInKeys(f *testing.F) {
	for _, x := range rendertest.HostileTexts() {
		f.Add(x)
	}
	p := newPress(f, "{{ range $key, $value := .Manifests }}{{ $key }}: {{ $value | quote }}\n{{ end }}", "yaml")
	f.Fuzz(func(t *testing.T, key string) {
		key = strings.ToValidUTF8(key, "?")
		content, ok := p.manifests(map[string]string{key: "value"})
		if !ok {
			return
		}
		for name, read := range readers() {
			got, err := read(content)
			require.NoError(t, err, name)
			require.Len(t, got, 1)
			entries, isMap := got[0].(map[string]any)
			if isMap { // a number or boolean for a key stays one
				require.Equal(t, map[string]any{key: "value"}, entries, name)
			} else {
				require.Len(t, got[0], 1)
			}
		}
	})
}

// withTextKeys gives maps whose keys are all strings the type map[string]any.
func withTextKeys(value any) any {
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			value[i] = withTextKeys(item)
		}
	case map[any]any:
		named := make(map[string]any, len(value))
		for key, item := range value {
			value[key] = withTextKeys(item)
			if name, ok := key.(string); ok {
				named[name] = value[key]
			}
		}
		if len(named) == len(value) {
			return named
		}
	}
	return value
}
