package reference

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// The config types that need no template. The operator had them built in when the seeds' examples
// were written.
const (
	ConfigMapType = "configMap"
	envFileType   = "envFile"
)

// ConfigMap returns the standard ConfigMap, or nothing if there are no values.
func ConfigMap(namespace string, values *config.Values) (string, error) {
	if len(values.Settings) == 0 {
		return "", nil
	}
	data := make(map[string]string, len(values.Settings))
	var wrong keyErrors
	for _, s := range values.Settings {
		key := s.Key.Name
		if len(key) > MaxConfigMapKey {
			wrong = append(wrong, keyError{key, fmt.Sprintf("a config key has %d characters, but Kubernetes allows %d", len(key), MaxConfigMapKey)})
			continue
		}
		text, err := s.Text()
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

// MaxConfigMapKey is how long a key of a ConfigMap may be; longer ones would not be read as keys by
// every YAML parser either.
const MaxConfigMapKey = 253

var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// shellEscapes are the characters that mean something between double quotes in a POSIX shell.
var shellEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")

// EnvFile returns a line `export KEY="value"` for each value, in order. A shell that reads it
// gets back exactly the values. The error is a keyErrors for what a shell cannot hold.
func EnvFile(_ string, values *config.Values) (string, error) {
	var b strings.Builder
	var wrong keyErrors
	for _, s := range values.Settings {
		line, problem, err := EnvFileLine(s)
		if err != nil {
			return "", err
		}
		if problem != "" {
			wrong = append(wrong, keyError{s.Key.Name, problem})
		}
		b.WriteString(line)
	}
	if len(wrong) > 0 {
		return "", wrong
	}
	return b.String(), nil
}

// EnvFileLine returns the line that sets a shell variable to the value, or what is wrong with it.
func EnvFileLine(s *config.Setting) (line, problem string, err error) {
	if !shellName.MatchString(s.Key.Name) {
		return "", fmt.Sprintf("config key %q is not a valid shell variable name", s.Key.Name), nil
	}
	text, err := s.Text()
	if err != nil {
		return "", "", err
	}
	if strings.Contains(text, "\x00") {
		return "", fmt.Sprintf("the value of config key %q contains a NUL byte, which a shell variable cannot contain", s.Key.Name), nil
	}
	return fmt.Sprintf("export %s=\"%s\"\n", s.Key.Name, shellEscapes.Replace(text)), "", nil
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
