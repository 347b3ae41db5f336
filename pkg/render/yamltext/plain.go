package yamltext

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// appendPlainYAML appends a map or list as go-yaml v3 writes it, without the last line break. It knows
// how to write the plainest of values alone, which are most of those in configurations and are written
// tens of thousands of times; ok is false for all else, which the library has to write.
//
// FuzzPlainYAML holds it against the library.
func appendPlainYAML(b []byte, v any) (text []byte, ok bool) {
	switch v.(type) {
	case map[string]any, []any:
		return appendBlock(b, v, 0, true)
	default:
		return b, false
	}
}

const (
	// mapIndent divides the indentation of what is below a key.
	mapIndent = 4
	// itemIndent is the width of "- ".
	itemIndent = 2
)

// appendBlock appends a map or list that is not empty. started says that the place of its first line
// is where b ends.
func appendBlock(b []byte, v any, indent int, started bool) ([]byte, bool) {
	switch v := v.(type) {
	case map[string]any:
		return appendMap(b, v, indent, started)
	case []any:
		return appendList(b, v, indent, started)
	default:
		return b, false
	}
}

func appendMap(b []byte, m map[string]any, indent int, started bool) ([]byte, bool) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !isWord(key) {
			return b, false // the library's order is another, or it puts the key in quotes
		}
		b = append(startLine(b, indent, started), key...)
		var ok bool
		if b, ok = appendValue(append(b, ':'), m[key], (indent/mapIndent+1)*mapIndent); !ok {
			return b, false
		}
		started = false
	}
	return b, len(m) > 0
}

func appendList(b []byte, list []any, indent int, started bool) ([]byte, bool) {
	for _, item := range list {
		b = append(startLine(b, indent, started), "- "...)
		var ok bool
		if m, isMap := item.(map[string]any); isMap {
			b, ok = appendMap(b, m, indent+itemIndent, true)
		} else {
			b, ok = appendScalar(b, item)
		}
		if !ok {
			return b, false
		}
		started = false
	}
	return b, len(list) > 0
}

func startLine(b []byte, indent int, started bool) []byte {
	if started {
		return b
	}
	b = append(b, '\n')
	for range indent {
		b = append(b, ' ')
	}
	return b
}

// appendValue appends what follows a key and its colon.
func appendValue(b []byte, v any, indent int) ([]byte, bool) {
	switch v.(type) {
	case map[string]any, []any:
		return appendBlock(b, v, indent, false)
	default:
		return appendScalar(append(b, ' '), v)
	}
}

func appendScalar(b []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case string:
		return append(b, v...), isPlainText(v)
	case int:
		return strconv.AppendInt(b, int64(v), 10), true
	case bool:
		return strconv.AppendBool(b, v), true
	default:
		return b, false
	}
}

// isWord reports whether a key is made of letters alone, which the libraries order as bytes, and means
// nothing else.
func isWord(key string) bool {
	for i := range len(key) {
		if !IsLetter(key[i]) {
			return false
		}
	}
	return isPlainKey(key)
}

// isPlainKey is isPlainText for keys: the libraries write longer ones after a question mark.
func isPlainKey(key string) bool {
	const longest = 128
	return len(key) <= longest && isPlainText(key)
}

// yamlWords are those that are no strings, to YAML 1.1 at least.
func yamlWords() []string {
	return []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
}

// isPlainText reports whether the libraries write a text as it is, without quotes; it may say no where
// they do.
func isPlainText(text string) bool {
	const longest = 300
	if len(text) > longest || !IsPlainAnywhere(text) {
		return false
	}
	switch first := text[0]; {
	case IsLetter(first):
		return len(text) > len("false") || !slices.Contains(yamlWords(), strings.ToLower(text))
	case '0' <= first && first <= '9':
		// Numbers and dates have none of these: 64Mi, 10m.
		return strings.ContainsAny(text, "ghijklmpqrsuvwyGHIJKLMPQRSUVWY")
	default:
		return false
	}
}
