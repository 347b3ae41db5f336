package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// objectYAML writes an object as sigs.k8s.io/yaml does. That takes a detour: it writes JSON and reads
// this as YAML. Characters that JSON does not escape, but YAML refuses or takes for line breaks, are
// escaped between the two, so that every string reads back as it is.
func objectYAML(object any) ([]byte, error) {
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

// notInYAML reports whether YAML needs a character escaped that JSON does not escape.
func notInYAML(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff
}
