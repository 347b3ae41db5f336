package render

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/pkg/render/rendertest"
)

// resolvable has templates of all types; its only cluster type may name others.
func resolvable(clusterTypeSpec string, used bool) fleetTexts {
	documents := []string{
		object("ClusterType", "edge", "", "spec: "+clusterTypeSpec),
		textTemplate("flux", "reconciler", rendertest.Flux), textTemplate("default", "namespace", rendertest.Namespace),
		textTemplate("sealed", "config", "a: 1\n"),
		target("cart", ""),
	}
	if used {
		documents = append(documents, everywhere())
	}
	return platform(documents...)
}

// What is wrong with the templates of a cluster type is an error if an assignment needs them, else a
// warning.
func TestTemplatesThatAreWrong(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, spec, want string }{
		{"right", "{reconciler: flux, namespaceService: default}", ""},
		{"right, with a config template", "{reconciler: flux, namespaceService: default, configType: sealed}", ""},
		{"built in", "{reconciler: flux, namespaceService: default, configType: envFile}", ""},
		{
			"unknown", "{reconciler: flix, namespaceService: default}",
			`cp:a.yaml:4:20: SEVERITY: Template "flix" not found (reconciler of ClusterType "edge") [unknown-template]
    hint: did you mean "flux"?
`,
		},
		{
			"unknown and not near", "{reconciler: flux, namespaceService: capsule}",
			`cp:a.yaml:4:44: SEVERITY: Template "capsule" not found (namespaceService of ClusterType "edge") [unknown-template]
    hint: one of default
`,
		},
		{
			"a config type that is nearly built in", "{reconciler: flux, namespaceService: default, configType: configmap}",
			`cp:a.yaml:4:65: SEVERITY: Template "configmap" not found (configType of ClusterType "edge") [unknown-template]
    hint: did you mean "configMap"?
`,
		},
		{
			"of another type", "{reconciler: default, namespaceService: default}",
			`cp:a.yaml:4:20: SEVERITY: Template "default" has type "namespace", not "reconciler" (reconciler of ClusterType "edge") [wrong-template-type]
    cp:a.yaml:23:9: its type is set here
    hint: one of flux
`,
		},
		{
			"all of them", "{reconciler: sealed, namespaceService: flux, configType: default}",
			`cp:a.yaml:4:20: SEVERITY: Template "sealed" has type "config", not "reconciler" (reconciler of ClusterType "edge") [wrong-template-type]
    cp:a.yaml:35:9: its type is set here
    hint: one of flux
cp:a.yaml:4:46: SEVERITY: Template "flux" has type "reconciler", not "namespace" (namespaceService of ClusterType "edge") [wrong-template-type]
    cp:a.yaml:10:9: its type is set here
    hint: one of default
cp:a.yaml:4:64: SEVERITY: Template "default" has type "namespace", not "config" (configType of ClusterType "edge") [wrong-template-type]
    cp:a.yaml:23:9: its type is set here
    hint: one of sealed, configMap, envFile
`,
		},
	}
	for _, test := range tests {
		for severity, used := range map[string]bool{"error": true, "warning": false} {
			t.Run(test.name+" "+severity, func(t *testing.T) {
				t.Parallel()
				tree, diags := resolvable(test.spec, used).render(t)
				assert.Equal(t, strings.ReplaceAll(test.want, "SEVERITY", severity), reported(diags))
				if !used {
					assert.Equal(t, map[string]string{"edge/README.md": Readme}, contents(tree))
				}
			})
		}
	}
}

// A faulty template stops the run only if something is rendered with it.
func TestTemplateErrorsNobodyNeeds(t *testing.T) {
	t.Parallel()
	for reconciler, severity := range map[string]string{"faulty": "error", "flux": "warning"} {
		_, diags := platform(textTemplate("faulty", "reconciler", "a: {{ nope }}\n"), standardTemplates(),
			object("ClusterType", "edge", "", "spec: {reconciler: "+reconciler+", namespaceService: default}"), target("cart", ""), everywhere()).render(t)
		assert.Equal(t, []string{"cp:a.yaml:8:13: " + severity + `: unknown function "nope" [unknown-function]`}, problems(diags))
	}
}

// While something could not be read, nothing is said of what is not there.
func TestTemplatesOfAnIncompleteFleet(t *testing.T) {
	t.Parallel()
	fleet := resolvable("{reconciler: elsewhere, namespaceService: default}", true).read(t)
	fleet.Incomplete, fleet.PlatformIncomplete = true, true
	_, diags := renderFleet(fleet, Options{})
	assert.Empty(t, reported(diags))
}

// A template called like what is built in takes its place.
func TestBuiltInNamesCanBeTaken(t *testing.T) {
	t.Parallel()
	documents := []string{
		object("ClusterType", "edge", "", "spec: {reconciler: flux, namespaceService: default, configType: configMap}"),
		standardTemplates(), target("cart", ""), everywhere(), platformConfig("a", "", "{K: v}"),
	}
	assert.Contains(t, platform(documents...).files(t)["edge/cart/platform-config.yaml"], "kind: ConfigMap")
	documents = append(documents, textTemplate("configMap", "config", "mine: {{ .ConfigData.K }}\n"))
	assert.Equal(t, "mine: v\n", platform(documents...).files(t)["edge/cart/platform-config.yaml"])
}
