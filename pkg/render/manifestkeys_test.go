package render

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A key of manifests that a template may read, in whatever way, is no mistake.
func TestUnusedManifestKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		template string
		warns    bool
	}{
		{`x: "{{ .Path }}"`, true},
		{`x: "{{ .Manifests.pah }}"`, false},
		{`x: "{{ with .Labels }}{{ $.Manifests.pah }}{{ end }}"`, false},
		{`x: "{{ index .Manifests "pah" }}"`, false},
		{`x: "{{ index .Manifests "path" }}"`, true},
		{`x: "{{ index .Labels "pah" }}{{ .Path }}"`, true},
		{`x: "{{ range $key, $value := .Manifests }}{{ $value }}{{ end }}"`, false},
		{`x: "{{ range .Labels }}{{ . }}{{ end }}{{ .Path }}"`, true},
		{`x: "{{ $all := . }}{{ $all.Manifests.pah }}"`, false},
		{`{{ define "x" }}{{ .pah }}{{ end }}x: "{{ template "x" .Manifests }}"`, false},
		{`x: "{{ .ConfigData.KEY }}"`, false},
	}
	for _, tt := range tests {
		fleet := platform(
			clusterType("edge", ""), everywhere(), platformConfig("common", "", "{KEY: a}"),
			textTemplate("flux", "reconciler", tt.template), textTemplate("default", "namespace", "{}"),
			object("DeploymentTarget", "cart", "", "spec: {environment: dev, manifests: {pah: s, other: o}}"))
		_, diags := fleet.render(t)
		warned := false
		for _, d := range diags {
			warned = warned || d.Rule == "unused-manifest-key"
		}
		assert.Equal(t, tt.warns, warned, tt.template)
	}
}
