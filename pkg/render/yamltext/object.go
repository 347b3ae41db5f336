package yamltext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// Object marshals an object as sigs.k8s.io/yaml does: it marshals to JSON and converts that to YAML. In
// between it escapes characters that JSON does not escape but YAML rejects or reads as line breaks, so that
// every string is read back unchanged. The error is that of marshaling.
func Object(object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("error marshaling into JSON: %w", err)
	}
	if !bytes.ContainsFunc(text, notInYAML) {
		return yaml.JSONToYAML(text)
	}
	var escaped []byte
	for _, r := range string(text) {
		if notInYAML(r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
			continue
		}
		escaped = utf8.AppendRune(escaped, r)
	}
	return yaml.JSONToYAML(escaped)
}

// notInYAML reports whether a character must be escaped in YAML but not in JSON.
func notInYAML(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff
}
