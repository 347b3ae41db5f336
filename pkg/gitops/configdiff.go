package gitops

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// keyChange is what happens to one key of a file. Two are equal if the same happens.
type keyChange struct {
	key    string
	action Action
	// old and now show the values: the part that differs, if they are long.
	old, now string
	// values tells long values apart.
	values [sha256.Size]byte
}

// maxParsed bounds the files whose keys are compared; nobody reads the keys of larger ones.
const maxParsed = 1 << 20

// keyChanges returns what happens to the keys of a file, in order of key. Without known, all that can be
// said is that the file changes: it does not parse, or what differs is no value.
func keyChanges(name string, old, now []byte) (changes []keyChange, known bool) {
	if changes, known = entryChanges(name, old, now); known {
		return changes, true
	}
	return parsedKeyChanges(name, old, now)
}

// parsedKeyChanges is keyChanges for any file. It takes its time.
func parsedKeyChanges(name string, old, now []byte) (changes []keyChange, known bool) {
	parse := parseYAMLKeys
	switch extension := path.Ext(name); {
	case len(old)+len(now) > maxParsed, extension != ".yaml" && extension != ".sh":
		return nil, false
	case extension == ".sh":
		parse = parseEnvFile
	}
	before, okBefore := parse(old)
	after, okAfter := parse(now)
	changes = diffKeys(before, after)
	if len(old) == 0 || len(now) == 0 {
		changes = slices.DeleteFunc(changes, func(c keyChange) bool { return strings.HasPrefix(c.key, configMapPrefix) })
	}
	return changes, okBefore && okAfter && len(changes) > 0
}

// configMapPrefix begins what is not a ConfigMap's data. If the whole file is new or gone, it says nothing.
const configMapPrefix = "ConfigMap "

// keyValue is the value of a key, and its YAML tag where that says something.
type keyValue struct{ text, tag string }

func diffKeys(before, after map[string]keyValue) []keyChange {
	var changes []keyChange
	for _, key := range slices.Sorted(maps.Keys(before)) {
		old := before[key]
		switch value, stays := after[key]; {
		case !stays:
			changes = append(changes, newKeyChange(key, Removed, old.text, ""))
		case old == value:
		case old.text == value.text:
			changes = append(changes, newKeyChange(key, Changed, old.tag+" "+old.text, value.tag+" "+value.text))
		default:
			changes = append(changes, newKeyChange(key, Changed, old.text, value.text))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if _, there := before[key]; !there {
			changes = append(changes, newKeyChange(key, Added, "", after[key].text))
		}
	}
	slices.SortStableFunc(changes, func(a, b keyChange) int { return strings.Compare(a.key, b.key) })
	return changes
}

func newKeyChange(key string, action Action, old, now string) keyChange {
	c := keyChange{key: key, action: action}
	if len(old) > maxValue || len(now) > maxValue {
		c.values = sha256.Sum256([]byte(old + "\x00" + now))
	}
	if action == Changed {
		old, now = whatDiffers(old, now)
	}
	c.old, c.now = shortenValue(strings.TrimSuffix(old, "\n")), shortenValue(strings.TrimSuffix(now, "\n"))
	if c.old == c.now { // they differ in how they end
		c.old, c.now = shortenValue(old), shortenValue(now)
	}
	return c
}

// maxValue bounds what is shown of a value.
const maxValue = 72

func shortenValue(text string) string { return shorten(text, maxValue) }

// whatDiffers leaves out of two long texts the lines, or else the characters, that both begin and end with.
func whatDiffers(old, now string) (string, string) {
	if max(len(old), len(now)) <= maxValue && !strings.Contains(old+now, "\n") {
		return old, now
	}
	start := strings.LastIndexByte(old[:commonPrefix(old, now)], '\n') + 1
	const context = 12
	if n := commonPrefix(old[start:], now[start:]); n > maxValue/2 {
		start += n - context
		for start > 0 && !isRuneStart(old[start]) {
			start--
		}
	}
	end := commonSuffix(old[start:], now[start:])
	if i := strings.IndexByte(old[len(old)-end:], '\n'); i >= 0 {
		end -= i
	} else {
		end = 0
	}
	return between(old, start, end), between(now, start, end)
}

// between shows a part of a text, from start to end bytes before its end.
func between(text string, start, end int) string {
	part := text[start : len(text)-end]
	if start > 0 {
		part = "…" + part
	}
	if strings.TrimSpace(text[len(text)-end:]) != "" {
		part += "…"
	}
	return part
}

func commonPrefix[T string | []byte](a, b T) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix[T string | []byte](a, b T) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// parseYAMLKeys returns the values of a file of YAML documents, each by its path and by the kind of its
// object. The keys of a ConfigMap's data are named without path, as people know them.
func parseYAMLKeys(content []byte) (map[string]keyValue, bool) {
	keys := yamlKeys{}
	kinds := map[string]int{}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
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
		ok := false
		switch {
		case name != "data":
			ok = k.add(value, prefix, name)
		case value.Kind == yaml.MappingNode:
			ok = k.add(value, "", "")
		default:
			ok = value.ShortTag() == "!!null"
		}
		if !ok {
			return false
		}
	}
	return true
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
func parseEnvFile(content []byte) (map[string]keyValue, bool) {
	keys := map[string]keyValue{}
	rest := string(content)
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
