package render

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
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
		`cp:a.yaml:4:13: error: config key "A-B" is no name that a shell variable may have (in edge/cart/platform-config.sh) [config-key]`,
		`cp:a.yaml:4:20: error: config key "9A" is no name that a shell variable may have (in edge/cart/platform-config.sh) [config-key]`,
		`cp:a.yaml:4:39: error: config key "A B" is no name that a shell variable may have (in edge/cart/platform-config.sh) [config-key]`,
		`cp:a.yaml:4:47: error: the value of config key "NUL" holds a NUL byte, which no shell variable can (in edge/cart/platform-config.sh) [config-key]`,
	}, problems(diags))
}

// hardTexts are values that a shell could misunderstand.
func hardTexts() []string {
	return []string{
		"", "plain", " blanks ", "a\nb", "\n", "trailing\n\n", `"`, `'`, `\`, `\\`, `\"`, "$HOME", "${HOME}", "$(id)", "`id`", "a\\\nb", "!x!", "~", "*", "#c",
		"a;b|c&d>e", "\t", "\r", "é€😀", "\x01\x7f", "$", "`", `\$`, `\n`, `$'x'`, "a\\", "%s", "-n",
	}
}

func shellTexts(texts []string) *config.Values {
	data := map[string]string{}
	for i, text := range texts {
		data["V"+strings.Repeat("I", i)] = text
	}
	return layered(data)
}

// meant returns a value as text: what was written, but for the quotes around a string.
func meant(values *config.Values, key, written string) string {
	if text, isText := values.Data()[key].(string); isText {
		return text
	}
	return written
}

// A real shell reads back exactly the values.
func TestEnvFileInAShell(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell here")
	}
	texts := hardTexts()
	values := shellTexts(texts)
	content, err := builtinEnvFile("", values)
	require.NoError(t, err)
	for i, text := range texts {
		name := "V" + strings.Repeat("I", i)
		out, err := exec.Command(shell, "-c", content+`printf '%s.' "$`+name+`"`).Output()
		require.NoError(t, err)
		assert.Equal(t, meant(values, name, text)+".", string(out))
	}
}

// readEnvFile reads `export KEY="value"` lines as POSIX says that a shell does.
// https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02_03
func readEnvFile(t *testing.T, content string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for content != "" {
		rest, found := strings.CutPrefix(content, "export ")
		require.True(t, found, content)
		key, rest, found := strings.Cut(rest, `="`)
		require.True(t, found, content)
		require.Regexp(t, `\A[A-Za-z_][A-Za-z0-9_]*\z`, key)
		var value strings.Builder
		end := -1
		for i := 0; i < len(rest) && end < 0; i++ {
			switch c := rest[i]; {
			case c == '"':
				end = i
			case c == '$' || c == '`':
				t.Fatalf("an expansion in %q", rest[i:])
			case c == '\\' && i+1 < len(rest) && strings.IndexByte("$`\"\\", rest[i+1]) >= 0:
				i++
				value.WriteByte(rest[i])
			case c == '\\' && i+1 < len(rest) && rest[i+1] == '\n':
				i++
			default:
				value.WriteByte(c)
			}
		}
		require.GreaterOrEqual(t, end, 0, "no end of %q", rest)
		values[key] = value.String()
		content, found = strings.CutPrefix(rest[end+1:], "\n")
		require.True(t, found)
	}
	return values
}

// FuzzEnvFile: a shell reads back exactly the values, whatever they hold.
func FuzzEnvFile(f *testing.F) {
	for _, text := range hardTexts() {
		f.Add("KEY", text, "other")
		f.Add("KEY", "x", text)
	}
	f.Add("a b", "x", "w")
	f.Fuzz(func(t *testing.T, key, first, second string) {
		data := map[string]string{key: first}
		data["ZZ"] = second
		values, want := layered(data), map[string]string{}
		for key, text := range data {
			want[key] = meant(values, key, text)
		}
		content, err := builtinEnvFile("", values)
		wrong := !shellName.MatchString(key) || strings.Contains(first+second, "\x00")
		if key == "ZZ" {
			wrong = strings.Contains(second, "\x00")
		}
		require.Equal(t, wrong, err != nil, "%v", err)
		if !wrong {
			require.Equal(t, want, readEnvFile(t, content))
		}
	})
}

// Characters that YAML allows only in escapes are written so: a file holds what the config says.
func TestBuiltInConfigMapEscapes(t *testing.T) {
	t.Parallel()
	values := layered(map[string]string{"A": "a\x7fb", "B": "a\u0080b", "C": "a\u0085b", "D": "a\ufffeb", "E": "a\uffffb", "F": "<&>\u2028\n\ufeff"})
	const want = `apiVersion: v1
data:
  A: "a\x7Fb"
  B: "a\x80b"
  C: "a\Nb"
  D: "a\uFFFEb"
  E: "a\uFFFFb"
  F: "<&>\L\n\uFEFF"
kind: ConfigMap
metadata:
  name: platform-config
  namespace: ns
`
	content, err := builtinConfigMap("ns", values)
	require.NoError(t, err)
	assert.Equal(t, want, content)
	var read struct{ Data map[string]any }
	require.NoError(t, yaml.Unmarshal([]byte(content), &read))
	assert.Equal(t, values.Data(), read.Data)
}

// FuzzBuiltInConfigMap: Kubernetes reads back exactly the values.
func FuzzBuiltInConfigMap(f *testing.F) {
	for _, text := range hardTexts() {
		f.Add("KEY", text)
	}
	f.Add("a: b", "- x")
	f.Add("a\u0085\ufffe", "\x7f\u0080\u0085\u009f\ufeff\uffff\U0001f600")
	f.Add(strings.Repeat("K", 1200), "x")
	f.Fuzz(func(t *testing.T, key, text string) {
		readable, err := json.Marshal([]string{key, text})
		require.NoError(t, err)
		var valid []string
		require.NoError(t, json.Unmarshal(readable, &valid)) // without invalid UTF-8, as all that is read
		values := layered(map[string]string{valid[0]: valid[1]})
		content, err := builtinConfigMap("ns", values)
		if len(valid[0]) > maxConfigMapKey {
			require.ErrorContains(t, err, "Kubernetes allows 253")
			return
		}
		require.NoError(t, err)
		var read struct{ Data map[string]string }
		require.NoError(t, yaml.Unmarshal([]byte(content), &read))
		require.Equal(t, map[string]string{valid[0]: meant(values, valid[0], valid[1])}, read.Data)
	})
}
