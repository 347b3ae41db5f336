package render

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// builtIn is a fleet of one target with a built-in config type.
func builtIn(configType string, configs ...string) fleetTexts {
	return platform(append(configs, standardTemplates(), target("cart", ""), everywhere(),
		object("ClusterType", "edge", "", "spec: {reconciler: flux, namespaceService: default, configType: "+configType+"}"))...)
}

func TestBuiltInConfigMap(t *testing.T) {
	t.Parallel()
	configs := []string{
		platformConfig("a", "", "\n  TEXT: text\n  NUMBER: '5'\n  QUOTED: \"'5'\"\n  LINES: |\n    one\n    two\n  MAP: '{b: 1, a: [x]}'\n  MERGED: '{b: 1, a: [x]}'\n  REPLACED: '[x]'"),
		platformConfig("b", "", "{MERGED: 'a: [z]', REPLACED: '{b: 1, a: 2}'}"),
	}
	const want = `apiVersion: v1
data:
  LINES: |
    one
    two
  MAP: '{b: 1, a: [x]}'
  MERGED: |-
    a:
        - x
        - z
    b: 1
  NUMBER: "5"
  QUOTED: "5"
  REPLACED: '{b: 1, a: 2}'
  TEXT: text
kind: ConfigMap
metadata:
  name: platform-config
  namespace: dev-edge-cart
`
	for _, configType := range []string{"configMap", `""`, "null"} {
		assert.Equal(t, want, builtIn(configType, configs...).files(t)["edge/cart/platform-config.yaml"], configType)
	}
}

func TestBuiltInConfigIsLeftOutIfThereAreNoValues(t *testing.T) {
	t.Parallel()
	for _, configType := range []string{"configMap", "envFile"} {
		files := builtIn(configType, platformConfig("a", "cluster-type: cloud", "{K: v}"), platformConfig("b", "", "{}")).files(t)
		assert.Len(t, files, 3, "%v", files)
	}
}

func TestBuiltInEnvFile(t *testing.T) {
	t.Parallel()
	files := builtIn("envFile", platformConfig("a", "", "\n  b: plain\n  _A: \"'5'\"\n  Z9: '\"$HOME\" `id` \\'\n  LIST: '[x, w]'\n  MERGED: 'a: 1'\n  EMPTY: ''"),
		platformConfig("b", "", "{MERGED: 'b: 2'}")).files(t)
	assert.Equal(t, `export EMPTY=""
export LIST="[x, w]"
export MERGED="a: 1
b: 2"
export Z9="\"\$HOME\" \`+"`id\\`"+` \\"
export _A="5"
export b="plain"
`, files["edge/cart/platform-config.sh"])
}

func TestBuiltInEnvFileKeys(t *testing.T) {
	t.Parallel()
	_, diags := builtIn("envFile", platformConfig("a", "", `{A-B: v, 9A: v, GOOD: v, "A B": v, NUL: "a\0b"}`)).render(t)
	assert.Equal(t, []string{
		`cp:a.yaml:4:13: error: config key "A-B" is not a valid shell variable name (in edge/cart/platform-config.sh) [config-key]`,
		`cp:a.yaml:4:20: error: config key "9A" is not a valid shell variable name (in edge/cart/platform-config.sh) [config-key]`,
		`cp:a.yaml:4:39: error: config key "A B" is not a valid shell variable name (in edge/cart/platform-config.sh) [config-key]`,
		`cp:a.yaml:4:47: error: the value of config key "NUL" contains a NUL byte, which a shell variable cannot contain (in edge/cart/platform-config.sh) [config-key]`,
	}, problems(diags))
}
