package render

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// The config types that need no template. The operator had them built in when the seeds' examples
// were written.
const (
	configMapType = "configMap"
	envFileType   = "envFile"
)

// builtinConfigMap returns the standard ConfigMap, or nothing if there are no values.
func builtinConfigMap(namespace string, values *Values) (string, error) {
	if len(values.settings) == 0 {
		return "", nil
	}
	data := make(map[string]string, len(values.settings))
	var wrong keyErrors
	for _, s := range values.settings {
		key := s.key.name
		if len(key) > maxConfigMapKey {
			wrong = append(wrong, keyError{key, fmt.Sprintf("a config key is %d characters long, Kubernetes allows %d", len(key), maxConfigMapKey)})
			continue
		}
		text, err := s.text()
		if err != nil {
			return "", err
		}
		data[key] = text
	}
	if len(wrong) > 0 {
		return "", wrong
	}
	out, err := yamltext.Object(map[string]any{
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
func builtinEnvFile(_ string, values *Values) (string, error) {
	var b strings.Builder
	var wrong keyErrors
	for _, s := range values.settings {
		line, problem, err := s.envFileLine()
		if err != nil {
			return "", err
		}
		if problem != "" {
			wrong = append(wrong, keyError{s.key.name, problem})
		}
		b.WriteString(line)
	}
	if len(wrong) > 0 {
		return "", wrong
	}
	return b.String(), nil
}

// envFileLine returns the line that sets a shell variable to the value, or what is wrong with it.
func (s *setting) envFileLine() (line, problem string, err error) {
	if !shellName.MatchString(s.key.name) {
		return "", fmt.Sprintf("config key %q is no name that a shell variable may have", s.key.name), nil
	}
	text, err := s.text()
	if err != nil {
		return "", "", err
	}
	if strings.Contains(text, "\x00") {
		return "", fmt.Sprintf("the value of config key %q holds a NUL byte, which no shell variable can", s.key.name), nil
	}
	return fmt.Sprintf("export %s=\"%s\"\n", s.key.name, shellEscapes.Replace(text)), "", nil
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

// text returns the value as a string. An object that the last config sets by itself is the text that
// was written, as the operator had it; one that others have a part in is written anew.
func (s *setting) text() (string, error) {
	if text, ok := s.value.(string); ok {
		return text, nil
	}
	if s.before == nil || s.like != nil || reflect.DeepEqual(s.last().value, s.value) {
		return s.last().origin.Text, nil
	}
	return yamltext.ToYAML(s.value)
}
