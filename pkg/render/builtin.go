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
// gets back exactly the values. The error is a shellErrors for what a shell cannot hold.
func builtinEnvFile(values *Values) (string, error) {
	var b strings.Builder
	var wrong shellErrors
	for _, key := range slices.Sorted(maps.Keys(values.Data)) {
		if !shellName.MatchString(key) {
			wrong = append(wrong, shellError{key, fmt.Sprintf("config key %q is no name that a shell variable may have", key)})
			continue
		}
		text, err := values.text(key)
		if err != nil {
			return "", err
		}
		if strings.Contains(text, "\x00") {
			wrong = append(wrong, shellError{key, fmt.Sprintf("the value of config key %q holds a NUL byte, which no shell variable can", key)})
			continue
		}
		fmt.Fprintf(&b, "export %s=\"%s\"\n", key, shellEscapes.Replace(text))
	}
	if len(wrong) > 0 {
		return "", wrong
	}
	return b.String(), nil
}

// shellErrors are config keys and values that cannot be those of shell variables.
type shellErrors []shellError

type shellError struct{ key, message string }

func (e shellErrors) Error() string {
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
