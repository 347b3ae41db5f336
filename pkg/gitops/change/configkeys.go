package change

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// differing removes from two YAML files the fields of their objects that both have. So little has to be parsed, and files
// with the same change are equal: a change can affect thousands of files. It requires the format of kalypso, with objects
// at the margin and fields indented by two blanks, and returns other files unchanged.
func (r *reducer) differing(old, now []byte) ([]byte, []byte) {
	before, after := r.old.read(old), r.now.read(now)
	if !slices.EqualFunc(before, after, section.isLike) {
		return old, now
	}
	r.old.text, r.now.text = r.old.text[:0], r.now.text[:0]
	for i := range before {
		isSame := bytes.Equal(before[i].head, after[i].head) && bytes.HasPrefix(before[i].head, []byte("apiVersion: "))
		oldFields, nowFields := inOneOnly(before[i].fields, after[i].fields)
		r.old.write(before[i], oldFields, isSame)
		r.now.write(after[i], nowFields, isSame)
	}
	return r.old.text, r.now.text
}

// reducer compares pairs of files. It reuses its memory.
type reducer struct{ old, now reduced }

// reduced is a file in sections, and the rest of it.
type reduced struct {
	sections []section
	fields   [][]byte
	text     []byte
}

// section is a line at the margin of a YAML file, with the fields below it.
type section struct {
	head   []byte
	fields [][]byte
}

// read returns the sections of a text, which are valid until the next call.
func (r *reduced) read(text []byte) []section {
	lines := bytes.Count(text, []byte("\n")) + 1
	r.sections, r.fields = r.sections[:0], slices.Grow(r.fields[:0], lines) // sections refer to it, so it must not move
	end := 0
	for line := range bytes.Lines(text) {
		end += len(line)
		if len(r.sections) == 0 || line[0] != ' ' && line[0] != '\n' {
			r.sections = append(r.sections, section{head: line})
			continue
		}
		s := &r.sections[len(r.sections)-1]
		switch n := len(s.fields); {
		case len(line) > 2 && line[0] == ' ' && line[1] == ' ' && line[2] != ' ' && line[2] != '-' && bytes.HasSuffix(s.head, []byte(":\n")):
			r.fields = append(r.fields, line)
			s.fields = r.fields[len(r.fields)-n-1:]
		case n > 0:
			s.fields[n-1] = text[end-len(line)-len(s.fields[n-1]) : end]
		default:
			s.head = text[end-len(line)-len(s.head) : end]
		}
	}
	return r.sections
}

// write adds a section with some of its fields, unless none of its fields differ.
func (r *reduced) write(s section, fields [][]byte, isSame bool) {
	if len(fields) > 0 || len(s.fields) == 0 && !isSame {
		r.text = append(r.text, s.head...)
	}
	for _, field := range fields {
		r.text = append(r.text, field...)
	}
}

// inOneOnly removes the common elements from two lists, in one pass. It finds all of them in sorted lists, as kalypso
// writes them. It changes the lists.
func inOneOnly(a, b [][]byte) (onlyA, onlyB [][]byte) {
	onlyA, onlyB = a[:0], b[:0]
	for len(a) > 0 && len(b) > 0 {
		switch order := bytes.Compare(a[0], b[0]); {
		case order == 0:
			a, b = a[1:], b[1:]
		case order < 0:
			onlyA, a = append(onlyA, a[0]), a[1:]
		default:
			onlyB, b = append(onlyB, b[0]), b[1:]
		}
	}
	return append(onlyA, a...), append(onlyB, b...)
}

// isLike reports whether two sections have the same key and kind.
func (s section) isLike(other section) bool {
	key, _, _ := bytes.Cut(s.head, []byte(":"))
	otherKey, _, _ := bytes.Cut(other.head, []byte(":"))
	return bytes.Equal(key, otherKey) && (string(key) != "kind" || bytes.Equal(s.head, other.head))
}

// parseYAMLKeys returns the values of YAML documents, by the kind of the object and the path of the value. The keys of a
// ConfigMap's data have no path.
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

// add adds the values at and below a node. It returns false if a key is duplicated.
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
	// unescape reverses the escapes of a POSIX shell.
	unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`")
)

// parseEnvFile parses the lines `export KEY="value"` of an env file of kalypso.
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
