package incremental

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/reference"
	"github.com/kalypso-gitops/kalypso/pkg/render/rendertest"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// composeCase is what a template is rendered with.
type composeCase struct {
	label, manifest string
	configs         []map[string]string
}

func (c composeCase) facts() (reference.Data, *model.DeploymentTarget) {
	target := &model.DeploymentTarget{
		Registration: &model.WorkloadRegistration{},
		Manifests:    map[string]model.Text{"x": {Value: c.manifest}, "path": {Value: "./p"}, "repo": {Value: c.manifest}},
	}
	target.Labels = map[string]model.Text{"app": {Value: c.label}, "tier-name": {Value: "web"}}
	return reference.Data{
		DeploymentTargetName: "web", Namespace: "dev-edge-" + c.label, Environment: "dev", Workspace: "retail", Workload: "cart", ClusterType: "edge",
		Labels: map[string]string{"app": c.label, "tier-name": "web"}, ClusterTypeLabels: map[string]string{"region": c.label, "size": "large"},
		Manifests: map[string]string{"x": c.manifest, "path": "./p", "repo": c.manifest}, Repo: c.manifest, Path: "./p",
	}, target
}

// requireComposed renders a file in both ways, twice so that caches are used, and checks the result of the fast one. It
// reports whether that one rendered the file.
func (c composeCase) requireComposed(t *testing.T, shapes *fileShapes, parsed *template.Template, bounds template.Bounds) bool {
	t.Helper()
	facts, target := c.facts()
	configurator := rendertest.Configured(c.configs...)
	values := configurator.All()
	clusterType := &model.ClusterType{}
	compiled := &reference.Template{Manifests: []*reference.Manifest{{Texts: []*reference.Text{{Template: parsed}}}}}
	fast := New(&model.Fleet{Contents: model.Contents{Targets: []*model.DeploymentTarget{target}, ClusterTypes: []*model.ClusterType{clusterType}}},
		[]*reference.Template{compiled}, configurator.Keys(), bounds)
	fast.shapes = shapes
	for range 2 {
		s := &reference.Subject{Assignment: &schedule.Assignment{Target: target, ClusterType: clusterType}, Facts: facts, Values: values}
		s.View = func(d *reference.Data) any { return d }
		file := reference.File{YAML: true}
		if !fast.Render(s, compiled, &file) {
			return false
		}
		facts.ConfigData = values.Data()
		want, missing, err := parsed.Execute(&facts, bounds)
		require.NoError(t, err)
		require.Empty(t, missing)
		require.Equal(t, want, file.Content.String())
		require.Equal(t, want == "", file.Content.IsEmpty())
		requireVerified(t, file)
	}
	return true
}

// requireVerified checks the properties that a shape proves for a file.
func requireVerified(t *testing.T, file reference.File) {
	t.Helper()
	if !file.Verified {
		return
	}
	objects, flaws := verify.Read(file.Content.String())
	require.Empty(t, flaws, "%q", file.Content.String())
	require.Len(t, file.Objects, len(objects), "%q", file.Content.String())
	for i, want := range objects {
		require.Equal(t, want.ID, file.Objects[i].ID)
		if file.Objects[i].Sum != nil {
			require.Equal(t, *want.Sum, *file.Objects[i].Sum)
		}
	}
}

func composeCases() []composeCase {
	nested := map[string]string{
		"KEY": "v", "NESTED": "{{ .Environment }}-{{ .Labels.app }}", "MAP": "{host: a, port: 5432, list: [x, {name: y}]}", "LIST": "[{name: a, weight: 1}]", "LINES": "one\ntwo\n",
		"NUMBER": "5", "QUOTED": "'5'", "BLANK": "", "LONG": strings.Repeat("word ", 40), "a10": "x", "a9": "y", "B_c-d.e": "z", "KEEP": "a\n\n", "TAB": "a\tb", "TRAIL": "a ", "é": "ü",
	}
	over := map[string]string{"MAP": "{host: b}", "LIST": "[{name: a, weight: 2}, {name: b}]", "KEY": "w", "NESTED": "{{ .Manifests.x }}"}
	cases := []composeCase{
		{"shop", "main", nil},
		{"shop", "main", []map[string]string{{"KEY": "value"}}},
		{"5", "0123", []map[string]string{{"KEY": "a: b"}, {"KEY": "c: d"}}},
		{"a-b.c", "two words", []map[string]string{nested}},
		{"", "", []map[string]string{nested, over}},
	}
	for _, x := range rendertest.HostileTexts() {
		cases = append(cases, composeCase{x, x, []map[string]string{{"KEY": x}}}, composeCase{"shop", x, []map[string]string{{"A": "b", x: "y"}}})
	}
	return cases
}

// The composed text is the same as that of Execute, and what its shape proves is true.
func TestComposeIsExecute(t *testing.T) {
	t.Parallel()
	bounds := template.Bounds{Steps: 20_000, Bytes: 20_000}
	composed, tried := 0, 0
	cases := composeCases()
	for i, text := range rendertest.AllTemplates() {
		parsed, problems := template.Parse(textBlock(text))
		if len(problems) > 0 {
			continue
		}
		shapes := newFileShapes()
		step := share(15, 5)
		for j := range cases {
			if j%step != i%step && j != 4 { // the empty strings are for every template
				continue
			}
			tried++
			if cases[j].requireComposed(t, shapes, parsed, bounds) {
				composed++
			}
		}
	}
	assert.Greater(t, composed, tried/4, "most is left to Execute")
}

// FuzzCompose: for any template and data, the composed text is the same as that of Execute without an error, and what a
// shape proves is true for all its files.
func FuzzCompose(f *testing.F) {
	for i, text := range append(rendertest.AllTemplates(), "{{ range 300000000 }}{{ end }}", `{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`,
		`{{ $x := "a" }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}`, "{{ range 1000000 }}{{ $.ConfigData.list }}{{ end }}", "{{ .ConfigData.doubling }}") {
		x := rendertest.HostileTexts()[i%len(rendertest.HostileTexts())]
		f.Add(text, "shop", "main", x, x, "KEY", "value", "a: b", "c: d")
	}
	f.Fuzz(func(t *testing.T, text, label, manifest, otherLabel, otherManifest, key, value, config, over string) {
		for _, s := range []string{text, label, manifest, otherLabel, otherManifest, key, value, config, over} {
			if strings.ToValidUTF8(s, "") != s || len(s) > 5000 {
				return
			}
		}
		parsed, problems := template.Parse(textBlock(text))
		if len(problems) > 0 {
			return
		}
		shapes, bounds := newFileShapes(), template.Bounds{Steps: 20_000, Bytes: 20_000}
		one := composeCase{label, manifest, []map[string]string{{key: value, "OTHER": config}}}
		other := composeCase{otherLabel, otherManifest, []map[string]string{{key: config, "NESTED": "{{ .Labels.app }}"}, {key: over, "MORE": value}}}
		one.requireComposed(t, shapes, parsed, bounds)
		other.requireComposed(t, shapes, parsed, bounds)
	})
}

// A text that exceeds the bounds as a whole exceeds them in pieces, too.
func TestBoundsOfPieces(t *testing.T) {
	t.Parallel()
	loop := "{{ range until 1000 }}{{ end }}"
	calls := `{{ define "a" }}{{ if gt . 0 }}{{ template "a" (sub . 1 | int) }}{{ end }}{{ end }}{{ template "a" %d }}`
	long := map[string]string{}
	for i := range 30 {
		long[fmt.Sprintf("KEY%d", i)] = "{{/*" + strings.Repeat(" ", 1000) + "*/}}"
	}
	for _, test := range []struct {
		name, text string
		config     map[string]string
		fails      bool
	}{
		{"loops", strings.Repeat("a: "+loop+"\n", 15), nil, false},
		{"more loops", strings.Repeat("a: "+loop+"\n", 25), nil, true},
		{"loops over labels", strings.Repeat("{{ range .Labels }}"+loop+"{{ end }}\n", 12), nil, true},
		{"loops in entries", "{{ range $key, $value := .ConfigData }}{{ $key }}: {{ range until 1000 }}{{ end }}\n{{ end }}", long, true},
		{"loops in values", "{{ toYaml .ConfigData }}", map[string]string{"A": strings.Repeat(loop, 15), "B": strings.Repeat(loop, 10)}, true},
		{"a long text of comments", "{{ toYaml .ConfigData }}", long, true},
		{"deep calls", fmt.Sprintf(calls, 998), nil, false},
		{"too deep calls", fmt.Sprintf(calls, 999), nil, true},
	} {
		parsed, problems := template.Parse(textBlock(test.text))
		require.Empty(t, problems)
		bounds := template.Bounds{Steps: 20_000, Bytes: 20_000}
		c := composeCase{"shop", "main", []map[string]string{test.config}}
		facts, _ := c.facts()
		facts.ConfigData = rendertest.Layered(c.configs...).Data()
		_, _, err := parsed.Execute(&facts, bounds)
		assert.Equal(t, test.fails, err != nil, "%s: %v", test.name, err)
		assert.Equal(t, !test.fails, c.requireComposed(t, newFileShapes(), parsed, bounds), test.name)
	}
}

func textBlock(text string) model.Block {
	return model.Block{Text: model.Text{Value: text}, Indent: -1}
}
