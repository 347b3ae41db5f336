package render

import (
	"fmt"
	"maps"
	"reflect"
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
	var wrong keyErrors
	for _, key := range slices.Sorted(maps.Keys(values.Data)) {
		if len(key) > maxConfigMapKey {
			wrong = append(wrong, keyError{key, fmt.Sprintf("a config key is %d characters long, Kubernetes allows %d", len(key), maxConfigMapKey)})
			continue
		}
		text, err := values.text(key)
		if err != nil {
			return "", err
		}
		data[key] = text
	}
	if len(wrong) > 0 {
		return "", wrong
	}
	out, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]string{"name": model.PlatformConfigLabel, "namespace": namespace},
		"data":       data,
	})
	return string(out), err
}

// maxConfigMapKey is how long a key of a ConfigMap may be; longer ones would not be read as keys by
// every YAML parser either.
const maxConfigMapKey = 253

var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// shellEscapes are the characters that mean something between double quotes in a POSIX shell.
var shellEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")

// builtinEnvFile returns a line `export KEY="value"` for each value, in order. A shell that reads it
// gets back exactly the values. The error is a keyErrors for what a shell cannot hold.
func builtinEnvFile(values *Values) (string, error) {
	var b strings.Builder
	var wrong keyErrors
	for _, key := range slices.Sorted(maps.Keys(values.Data)) {
		if !shellName.MatchString(key) {
			wrong = append(wrong, keyError{key, fmt.Sprintf("config key %q is no name that a shell variable may have", key)})
			continue
		}
		text, err := values.text(key)
		if err != nil {
			return "", err
		}
		if strings.Contains(text, "\x00") {
			wrong = append(wrong, keyError{key, fmt.Sprintf("the value of config key %q holds a NUL byte, which no shell variable can", key)})
			continue
		}
		fmt.Fprintf(&b, "export %s=\"%s\"\n", key, shellEscapes.Replace(text))
	}
	if len(wrong) > 0 {
		return "", wrong
	}
	return b.String(), nil
}

// keyErrors are config keys that a built-in form cannot have, or cannot have with their values.
type keyErrors []keyError

type keyError struct{ key, message string }

func (e keyErrors) Error() string {
	var messages []string
	for _, wrong := range e {
		messages = append(messages, wrong.message)
	}
	return strings.Join(messages, "; ")
}

// text returns a value as a string. An object that the last config sets by itself is the text that
// was written, as the operator had it; one that others have a part in is written anew.
func (v *Values) text(key string) (string, error) {
	value := v.Data[key]
	if text, ok := value.(string); ok {
		return text, nil
	}
	if origins := v.Origins[key]; len(origins) > 0 {
		last := origins[len(origins)-1].Text
		if len(origins) == 1 {
			return last, nil
		}
		if alone, _ := parseConfigValue(last); reflect.DeepEqual(alone, value) {
			return last, nil
		}
	}
	return yamlText(value)
}
