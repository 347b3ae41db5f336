package reference

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/kalypso-gitops/kalypso/pkg/render/rendertest"
)

func shellTexts(texts []string) *config.Values {
	data := map[string]string{}
	for i, text := range texts {
		data["V"+strings.Repeat("I", i)] = text
	}
	return rendertest.Layered(data)
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
	texts := rendertest.HardTexts()
	values := shellTexts(texts)
	content, err := EnvFile("", values)
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
	for _, text := range rendertest.HardTexts() {
		f.Add("KEY", text, "other")
		f.Add("KEY", "x", text)
	}
	f.Add("a b", "x", "w")
	f.Fuzz(func(t *testing.T, key, first, second string) {
		data := map[string]string{key: first}
		data["ZZ"] = second
		values, want := rendertest.Layered(data), map[string]string{}
		for key, text := range data {
			want[key] = meant(values, key, text)
		}
		content, err := EnvFile("", values)
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
	values := rendertest.Layered(map[string]string{"A": "a\x7fb", "B": "a\u0080b", "C": "a\u0085b", "D": "a\ufffeb", "E": "a\uffffb", "F": "<&>\u2028\n\ufeff"})
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
	content, err := ConfigMap("ns", values)
	require.NoError(t, err)
	assert.Equal(t, want, content)
	var read struct{ Data map[string]any }
	require.NoError(t, yaml.Unmarshal([]byte(content), &read))
	assert.Equal(t, values.Data(), read.Data)
}

// FuzzBuiltInConfigMap: Kubernetes reads back exactly the values.
func FuzzBuiltInConfigMap(f *testing.F) {
	for _, text := range rendertest.HardTexts() {
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
		values := rendertest.Layered(map[string]string{valid[0]: valid[1]})
		content, err := ConfigMap("ns", values)
		if len(valid[0]) > MaxConfigMapKey {
			require.ErrorContains(t, err, "Kubernetes allows 253")
			return
		}
		require.NoError(t, err)
		var read struct{ Data map[string]string }
		require.NoError(t, yaml.Unmarshal([]byte(content), &read))
		require.Equal(t, map[string]string{valid[0]: meant(values, valid[0], valid[1])}, read.Data)
	})
}
