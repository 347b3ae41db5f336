package yamltext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// Object marshals an object as sigs.k8s.io/yaml does: it marshals to JSON and converts that to YAML. EscapeControls in
// between ensures that every string is read back unchanged. The error is that of marshaling.
func Object(object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("error marshaling into JSON: %w", err)
	}
	return yaml.JSONToYAML(EscapeControls(text))
}

// EscapeControls escapes characters in a JSON document that JSON does not escape, but that YAML rejects or reads as line
// breaks and that terminals interpret.
func EscapeControls(document []byte) []byte {
	if !bytes.ContainsFunc(document, notInYAML) {
		return document
	}
	var escaped []byte
	for _, r := range string(document) { // there are none outside of strings
		if notInYAML(r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
			continue
		}
		escaped = utf8.AppendRune(escaped, r)
	}
	return escaped
}

// notInYAML reports whether a character must be escaped in YAML but not in JSON.
func notInYAML(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff
}
