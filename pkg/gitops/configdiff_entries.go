package gitops

import (
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// A fleet has thousands of ConfigMaps, and one change can change them all. Those that kalypso wrote are
// compared entry by entry without being parsed; only entries that differ are.

// entryChanges is keyChanges for the ConfigMaps that kalypso wrote; it knows nothing of other files.
func entryChanges(name string, old, now []byte) (changes []keyChange, known bool) {
	if path.Base(name) != render.ConfigFileYAML {
		return nil, false
	}
	before, after, ok := changedEntries(string(old), string(now))
	if !ok {
		return nil, false
	}
	return diffKeys(before, after), true
}

// changedEntries returns the entries of two ConfigMaps that are not the same in both. It gives up on
// what is not plainly written, or differs in anything but its data.
func changedEntries(old, now string) (before, after map[string]keyValue, ok bool) {
	oldEntries, oldRest, okOld := cutData(old)
	newEntries, newRest, okNew := cutData(now)
	if !okOld || !okNew || oldRest != newRest {
		return nil, nil, false
	}
	before, after = map[string]keyValue{}, map[string]keyValue{}
	for oldEntries != "" || newEntries != "" {
		var a, b string
		a, oldEntries, okOld = cutSetting(oldEntries)
		b, newEntries, okNew = cutSetting(newEntries)
		if !okOld || !okNew {
			return nil, nil, false
		}
		if a != b && (!addEntry(before, a) || !addEntry(after, b)) {
			return nil, nil, false
		}
	}
	for key, value := range before {
		switch other, stays := after[key]; {
		case stays && other == value: // it only moved
			delete(before, key)
			delete(after, key)
		case stays && other.text == value.text: // it is a matter of YAML
			return nil, nil, false
		}
	}
	return before, after, len(before)+len(after) > 0
}

// cutData splits a ConfigMap into the lines of its data and the rest.
func cutData(text string) (entries, rest string, ok bool) {
	const head, kind = "apiVersion: v1\ndata:\n", "kind: ConfigMap\n"
	text, ok = strings.CutPrefix(text, head)
	if !ok || hasOddBreak(text) {
		return "", "", false
	}
	if rest, ok = strings.CutPrefix(text, kind); ok {
		return "", rest, true
	}
	entries, rest, ok = strings.Cut(text, "\n"+kind)
	return entries + "\n", rest, ok && !strings.Contains(rest, "\n---")
}

// hasOddBreak reports whether YAML sees a line end where there is no line feed.
func hasOddBreak(text string) bool {
	return strings.Contains(text, "\r") || strings.Contains(text, "\u0085") || strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029")
}

// cutSetting splits off the first entry: a line with two blanks before the key, and those further in
// that belong to it.
func cutSetting(entries string) (entry, rest string, ok bool) {
	if entries == "" {
		return "", "", true
	}
	end := strings.IndexByte(entries, '\n') + 1
	first := entries[:end]
	for end < len(entries) && (entries[end] == '\n' || strings.HasPrefix(entries[end:], "    ")) {
		next := strings.IndexByte(entries[end:], '\n')
		if next < 0 {
			return "", "", false
		}
		end += next + 1
	}
	return entries[:end], entries[end:], isPlainEntry(first, end > len(first))
}

// isPlainEntry reports whether the first line of an entry shows that the entry is whole: its value is
// a block, if more lines follow, and else ends where the line does.
func isPlainEntry(first string, more bool) bool {
	key, value, ok := strings.Cut(strings.TrimSuffix(first, "\n"), ": ")
	if !ok || len(key) < 3 || !strings.HasPrefix(key, "  ") || strings.ContainsFunc(key[2:], notOfKey) || value == "" {
		return false
	}
	switch value[0] {
	case '|':
		return more
	case '"', '\'':
		return !more && len(value) > 1 && value[len(value)-1] == value[0] && strings.Count(value, value[:1]) == 2 && !strings.Contains(value, `\`)
	default:
		return !more && !strings.ContainsAny(value[:1], "&*!>[]{}%@`#,?:-\t ") && !strings.Contains(value, " #") && !strings.Contains(value, ": ")
	}
}

func notOfKey(r rune) bool { return !isWord(r) && !strings.ContainsRune("._-", r) }

// addEntry parses an entry.
func addEntry(entries map[string]keyValue, entry string) bool {
	if entry == "" {
		return true
	}
	key, value, ok := parseLine(entry)
	if !ok {
		if key, value, ok = parseEntry(entry); !ok {
			return false
		}
	}
	_, twice := entries[key]
	entries[key] = value
	return !twice
}

// parseLine reads a plain entry of one line.
func parseLine(entry string) (key string, value keyValue, ok bool) {
	key, text, _ := strings.Cut(strings.TrimSuffix(entry[len("  "):], "\n"), ": ")
	if text[0] == '|' || strings.ContainsFunc(text, invisible) {
		return "", keyValue{}, false
	}
	if text[0] == '"' || text[0] == '\'' {
		return key, keyValue{text[1 : len(text)-1], "!!str"}, true
	}
	return key, keyValue{text: strings.TrimRight(text, " ")}, true
}

// parseEntry reads any entry.
func parseEntry(entry string) (key string, value keyValue, ok bool) {
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(entry), &node); err != nil || len(node.Content) != 1 {
		return "", keyValue{}, false
	}
	mapping := node.Content[0]
	if mapping.Kind != yaml.MappingNode || len(mapping.Content) != 2 || mapping.Content[1].Kind != yaml.ScalarNode {
		return "", keyValue{}, false
	}
	scalar := mapping.Content[1]
	return mapping.Content[0].Value, keyValue{scalar.Value, scalar.ShortTag()}, true
}
