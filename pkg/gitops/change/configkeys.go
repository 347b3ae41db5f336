package change

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	dataHead = "apiVersion: v1\ndata:\n"
	dataTail = "kind: ConfigMap\n"
)

// differingEntries returns one YAML document with the entries that two ConfigMaps do not have in common, those of each
// below a key, so that little has to be parsed: a fleet has thousands of them, and a change can change them all. It
// fails for anything else: what is not written as kalypso writes it, or differs in anything but its data.
func differingEntries(old, now string) (document string, ok bool) {
	oldEntries, oldRest, okOld := cutData(old)
	newEntries, newRest, okNew := cutData(now)
	if !okOld || !okNew || oldRest != newRest {
		return "", false
	}
	var b strings.Builder
	b.WriteString("old:\n")
	writeEntries(&b, oldEntries, newEntries)
	b.WriteString("new:\n")
	writeEntries(&b, newEntries, oldEntries)
	return b.String(), true
}

// writeEntries writes the entries that are not among others.
func writeEntries(b *strings.Builder, entries, others []string) {
	known := make(map[string]bool, len(others))
	for _, entry := range others {
		known[entry] = true
	}
	for _, entry := range entries {
		if !known[entry] {
			b.WriteString(entry)
		}
	}
}

// parseEntries returns the values in a document of differingEntries.
func parseEntries(document string) (old, now yamlKeys, ok bool) {
	var both struct{ Old, New yaml.Node }
	if yaml.Unmarshal([]byte(document), &both) != nil {
		return nil, nil, false
	}
	old, now = yamlKeys{}, yamlKeys{}
	return old, now, old.addData(&both.Old) && now.addData(&both.New)
}

// cutData returns the entries of a ConfigMap's data, and the rest of it. It fails if the entries are not plainly apart.
func cutData(text string) (entries []string, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, dataHead)
	if !ok || slices.ContainsFunc([]string{"\r", "\u0085", "\u2028", "\u2029", "\n---"}, func(end string) bool {
		return strings.Contains(text, end) // faster than ContainsAny
	}) { // other line ends of YAML, or another document
		return nil, "", false
	}
	read := 0
	for line := range strings.Lines(text) {
		last := len(entries) - 1
		switch read += len(line); {
		case line == dataTail:
			return entries, text[read:], isWhole(entries)
		case last >= 0 && (line == "\n" || strings.HasPrefix(line, "    ")):
			entries[last] += line
		case isWhole(entries):
			entries = append(entries, line)
		default:
			return nil, "", false
		}
	}
	return nil, "", false
}

// isWhole reports whether the last entry is plainly a key and its value: a block, or a scalar that ends where its line does.
func isWhole(entries []string) bool {
	if len(entries) == 0 {
		return true
	}
	first, more, _ := strings.Cut(entries[len(entries)-1], "\n")
	key, value, ok := strings.Cut(first, ": ")
	key, indented := strings.CutPrefix(key, "  ")
	if !ok || !indented || key == "" || value == "" || strings.ContainsFunc(key, notOfKey) {
		return false
	}
	switch quote := value[:1]; quote {
	case "|":
		return more != ""
	case `"`, "'":
		return more == "" && strings.Index(value[1:], quote) == len(value)-2 && !strings.Contains(value, `\`)
	default:
		return more == "" && !strings.ContainsAny(quote, "&*!>[]{}%@`#,?:-\t ")
	}
}

func notOfKey(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
}

// parseYAMLKeys returns the values of a file of YAML documents, each by its path and by the kind of its
// object. The keys of a ConfigMap's data are named without path, as people know them.
func parseYAMLKeys(content string) (map[string]keyValue, bool) {
	keys := yamlKeys{}
	kinds := map[string]int{}
	decoder := yaml.NewDecoder(strings.NewReader(content))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return keys, true
		}
		if err != nil || len(document.Content) != 1 {
			return nil, false
		}
		root := document.Content[0]
		kind := scalarOf(root, "kind")
		kinds[kind]++
		if !keys.addDocument(root, kind, kinds[kind]) {
			return nil, false
		}
	}
}

type yamlKeys map[string]keyValue

// addDocument adds a document that is the nth of its kind.
func (k yamlKeys) addDocument(root *yaml.Node, kind string, n int) bool {
	prefix := kind
	if n > 1 {
		prefix += fmt.Sprintf(" (%d)", n)
	}
	if prefix != "" {
		prefix += " "
	}
	if kind == "ConfigMap" && n == 1 {
		return k.addConfigMap(root, prefix)
	}
	return k.add(root, prefix, "")
}

func (k yamlKeys) addConfigMap(root *yaml.Node, prefix string) bool {
	for i := 0; i+1 < len(root.Content); i += 2 {
		name, value := root.Content[i].Value, root.Content[i+1]
		if name == "data" && !k.addData(value) || name != "data" && !k.add(value, prefix, name) {
			return false
		}
	}
	return true
}

// addData adds the data of a ConfigMap, which may be null.
func (k yamlKeys) addData(data *yaml.Node) bool {
	if data.Kind != yaml.MappingNode {
		return data.ShortTag() == "!!null"
	}
	return k.add(data, "", "")
}

// add adds what is at and below a node. It fails if a key is there twice.
func (k yamlKeys) add(node *yaml.Node, prefix, at string) bool {
	if node.Kind != yaml.MappingNode || len(node.Content) == 0 {
		return k.addValue(node, prefix+at)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i].Value
		if at != "" {
			key = at + "." + key
		}
		if !k.add(node.Content[i+1], prefix, key) {
			return false
		}
	}
	return true
}

func (k yamlKeys) addValue(node *yaml.Node, key string) bool {
	if _, twice := k[key]; twice {
		return false
	}
	value := keyValue{node.Value, node.ShortTag()}
	switch node.Kind {
	case yaml.AliasNode:
		value.text = "*" + node.Value
	case yaml.SequenceNode:
		text, err := yaml.Marshal(node)
		if err != nil {
			return false
		}
		value.text = string(text)
	}
	k[key] = value
	return true
}

func scalarOf(mapping *yaml.Node, key string) string {
	if mapping.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key && mapping.Content[i+1].Kind == yaml.ScalarNode {
			return mapping.Content[i+1].Value
		}
	}
	return ""
}

// parseEnvFile reads the lines `export KEY="value"` that kalypso writes.
func parseEnvFile(content string) (map[string]keyValue, bool) {
	keys := map[string]keyValue{}
	rest := content
	for strings.TrimSpace(rest) != "" {
		line, found := strings.CutPrefix(strings.TrimLeft(rest, "\n"), "export ")
		key, quoted, assigned := strings.Cut(line, `="`)
		if !found || !assigned || strings.ContainsAny(key, " \t\n\"'") {
			return nil, false
		}
		value, after, closed := cutQuoted(quoted)
		if _, twice := keys[key]; twice || !closed || after != "" && after[0] != '\n' {
			return nil, false
		}
		keys[key], rest = keyValue{text: value}, after
	}
	return keys, true
}

// cutQuoted reads on to the double quote that ends a value, and undoes the escapes of a POSIX shell.
func cutQuoted(text string) (value, after string, closed bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], true
		case c == '\\' && i+1 < len(text) && strings.IndexByte("\\\"$`", text[i+1]) >= 0:
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
