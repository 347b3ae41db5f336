package change

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// differing leaves out of two YAML files the fields of their objects that both have, so that little has to be parsed, and
// that files are the same in which the same changes: a fleet has thousands of them, and a change can change them all. It
// relies on what is written as kalypso writes it, with objects at the margin and their fields two blanks in, and returns
// anything else as it is.
func differing(old, now string) (string, string) {
	before, after := sectionsOf(old), sectionsOf(now)
	if !slices.EqualFunc(before, after, section.isLike) {
		return old, now
	}
	var a, b strings.Builder
	a.Grow(len(old) / 2)
	b.Grow(len(now) / 2)
	for i := range before {
		before[i].writeWithout(&a, after[i])
		after[i].writeWithout(&b, before[i])
	}
	return a.String(), b.String()
}

// section is a line at the margin of a YAML file, with the fields below it.
type section struct {
	head   string
	fields []string
}

func sectionsOf(text string) []section {
	all, fields := make([]section, 0, 4), make([]string, 0, strings.Count(text, "\n")+1)
	for line := range strings.Lines(text) {
		if len(all) == 0 || line[0] != ' ' && line[0] != '\n' {
			all = append(all, section{head: line})
			continue
		}
		s := &all[len(all)-1]
		switch n := len(s.fields); {
		case len(line) > 2 && line[:2] == "  " && line[2] != ' ' && line[2] != '-' && strings.HasSuffix(s.head, ":\n"):
			fields = append(fields, line)
			s.fields = fields[len(fields)-n-1:]
		case n > 0:
			s.fields[n-1] += line
		default:
			s.head += line
		}
	}
	return all
}

// isLike reports whether two sections have the same key, which tells them apart with their place, and the same kind.
func (s section) isLike(other section) bool {
	key, _, _ := strings.Cut(s.head, ":")
	otherKey, _, _ := strings.Cut(other.head, ":")
	return key == otherKey && (key != "kind" || s.head == other.head)
}

// writeWithout writes a section without the fields that another has too; nothing if it has no other fields.
func (s section) writeWithout(b *strings.Builder, other section) {
	head := s.head
	if len(s.fields) == 0 && (head != other.head || !strings.HasPrefix(head, "apiVersion: ")) {
		b.WriteString(head)
	}
	if slices.Equal(s.fields, other.fields) {
		return
	}
	known := map[string]bool{}
	for _, field := range other.fields {
		known[field] = true
	}
	for _, field := range s.fields {
		if !known[field] {
			b.WriteString(head)
			b.WriteString(field)
			head = ""
		}
	}
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
		root, prefix := document.Content[0], ""
		for i, node := range root.Content {
			if i%2 == 0 && node.Value == "kind" && root.Kind == yaml.MappingNode {
				prefix = root.Content[i+1].Value
			}
		}
		if kinds[prefix]++; kinds[prefix] > 1 {
			prefix += fmt.Sprintf(" (%d)", kinds[prefix])
		}
		if !keys.add(root, strings.TrimPrefix(prefix+" ", " "), "") {
			return nil, false
		}
	}
}

type yamlKeys map[string]keyValue

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
	const data = configMapPrefix + "data"
	if key == data { // without any
		return true
	}
	key = strings.TrimPrefix(key, data+".")
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

var (
	exportForm = regexp.MustCompile(`(?s)^\n*export ([^= \t\n"']*)="((?:[^"\\]|\\.)*)"(?:\n|$)`)
	// unescape undoes the escapes of a POSIX shell.
	unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`")
)

// parseEnvFile reads the lines `export KEY="value"` that kalypso writes.
func parseEnvFile(content string) (map[string]keyValue, bool) {
	keys := map[string]keyValue{}
	for strings.TrimSpace(content) != "" {
		found := exportForm.FindStringSubmatch(content)
		if found == nil {
			return nil, false
		}
		if _, twice := keys[found[1]]; twice {
			return nil, false
		}
		keys[found[1]], content = keyValue{text: unescape.Replace(found[2])}, content[len(found[0]):]
	}
	return keys, true
}
