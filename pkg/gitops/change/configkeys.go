package change

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
