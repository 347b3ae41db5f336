package yamltext

import (
	"strings"
	"unicode/utf8"
)

// Entry returns an entry of a map as ToYAML writes it, without the last line break; ok is false if that
// depends on the other entries.
func Entry(key string, value any) (text string, ok bool) {
	if isPlainKey(key) {
		if text, ok := appendValue([]byte(key+":"), value, mapIndent); ok {
			return string(text), true
		}
	}
	return alone(key, value, yamlV3.marshal)
}

// StringifiedEntry is Entry for Stringify.
func StringifiedEntry(key string, value any) (text string, ok bool) {
	value, err := nestedText(value)
	if err != nil {
		return "", false
	}
	return Entry(key, value)
}

// DataEntry returns an entry of the data of an object as Object writes it, without the last line break; ok is
// false if that depends on the other entries.
func DataEntry(key, value string) (text string, ok bool) {
	if !utf8.ValidString(value) {
		return "", false
	}
	return alone(key, value, inData)
}

// inData writes a map as Object writes the data of an object, but without the detour through JSON.
// How long lines get depends on their depth.
func inData(v any) (string, error) {
	text, err := yamlV2.marshal(map[string]any{"data": v})
	return strings.TrimPrefix(text, "data:\n"), err
}

// alone writes a map with one entry, if that is written just so in larger maps.
func alone(key string, value any, marshal func(any) (string, error)) (text string, ok bool) {
	text, err := marshal(map[string]any{key: value})
	if err != nil {
		return "", false
	}
	if !strings.Contains(text, "|+") && !strings.Contains(text, ">+") && utf8.ValidString(text) {
		return strings.TrimSuffix(text, "\n"), true
	}
	// The libraries end a document after a text that keeps its line breaks in a way of its own.
	const before, after = "!", "zzzzzzzz"
	both, err := marshal(map[string]any{before: "x", key: value, after: "x"})
	if err != nil || key == before || key == after || !strings.Contains(both, "\n"+text) {
		return "", false
	}
	return strings.TrimSuffix(text, "\n"), true
}
