package render

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// The config types that need no template. The operator had them built in when the seeds' examples
// were written.
const (
	configMapType = "configMap"
	envFileType   = "envFile"
)

// builtinConfigMap returns the standard ConfigMap, or nothing if there are no values.
func builtinConfigMap(namespace string, values *Values) (string, error) {
	if len(values.Data) == 0 {
		return "", nil
	}
	data := make(map[string]string, len(values.Data))
	for key := range values.Data {
		text, err := values.text(key)
		if err != nil {
			return "", err
		}
		data[key] = text
	}
	out, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]string{"name": model.PlatformConfigLabel, "namespace": namespace},
		"data":       data,
	})
	return string(out), err
}

var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// shellEscapes are the characters that mean something between double quotes in a POSIX shell.
var shellEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")

// builtinEnvFile returns a line `export KEY="value"` for each value, in order. A shell that reads it
// gets back exactly the values. The error is a keyErrors if keys are no names for a shell.
func builtinEnvFile(values *Values) (string, error) {
	var b strings.Builder
	var wrong keyErrors
	for _, key := range slices.Sorted(maps.Keys(values.Data)) {
		if !shellName.MatchString(key) {
			wrong = append(wrong, key)
			continue
		}
		text, err := values.text(key)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "export %s=\"%s\"\n", key, shellEscapes.Replace(text))
	}
	if len(wrong) > 0 {
		return "", wrong
	}
	return b.String(), nil
}

// keyErrors are config keys that cannot be names of shell variables.
type keyErrors []string

func (e keyErrors) Error() string {
	return "no names that shell variables may have: " + strings.Join(e, ", ")
}

// text returns a value as a string. An object that a single config sets is the text that was
// written, as the operator had it; a merged one is written anew.
func (v *Values) text(key string) (string, error) {
	value := v.Data[key]
	if text, ok := value.(string); ok {
		return text, nil
	}
	if origins := v.Origins[key]; len(origins) == 1 {
		return origins[0].Text, nil
	}
	return yamlText(value)
}
