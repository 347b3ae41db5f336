package render

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/model/yamldoc"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// objectID is what Kubernetes knows an object by.
type objectID struct{ group, kind, namespace, name string }

// String returns "Namespace dev" or "GitRepository flux-system/hello".
func (id objectID) String() string {
	if id.namespace == "" {
		return id.kind + " " + id.name
	}
	return id.kind + " " + id.namespace + "/" + id.name
}

// isNamespace reports whether the object is a Namespace of Kubernetes.
func (id objectID) isNamespace() bool { return id.kind == "Namespace" && id.group == "" }

// digestSum sums up what an object says, whatever its layout.
type digestSum [sha256.Size]byte

// namedObject is an object in a file.
type namedObject struct {
	objectID
	// sum is nil if it has not been computed: files are not read again as long as no two have an
	// object with the same name.
	sum *digestSum
}

// flaw is what is wrong with rendered YAML.
type flaw struct {
	rule, message string
	// line counts from 1 in the file; 0 if it is not known.
	line int
	// lasting says that a file in which nothing changes may keep it: it may have been out there
	// for years.
	lasting bool
}

// verify reads rendered YAML as a stranger would: it must parse, without duplicate keys, and every
// document that claims an apiVersion must be a proper object.
func verify(content string) ([]namedObject, []flaw) {
	roots, err := parseDocuments(content)
	if err != nil {
		return nil, []flaw{*err}
	}
	var objects []namedObject
	var flaws []flaw
	for _, root := range roots {
		flaws = append(flaws, duplicateKeys(root)...)
		found, wrong := readObjects(root)
		objects, flaws = append(objects, found...), append(flaws, wrong...)
	}
	return objects, flaws
}

// readObjects reads a document, and the items of one that is a List: kubectl applies each of them.
func readObjects(root *yaml.Node) ([]namedObject, []flaw) {
	items := lookup(root, "items")
	if items == nil || items.Kind != yaml.SequenceNode || !strings.HasSuffix(scalar(lookup(root, "kind")), "List") {
		found, flaws := readObject(root)
		if found == nil {
			return nil, flaws
		}
		return []namedObject{*found}, flaws
	}
	var objects []namedObject
	var flaws []flaw
	for _, item := range items.Content {
		found, wrong := readObjects(item)
		objects, flaws = append(objects, found...), append(flaws, wrong...)
	}
	return objects, flaws
}

// parseDocuments returns the documents that are not empty.
func parseDocuments(content string) ([]*yaml.Node, *flaw) {
	roots, failure := allDocuments(content)
	return slices.DeleteFunc(roots, func(root *yaml.Node) bool { return root.ShortTag() == "!!null" }), failure
}

func allDocuments(content string) (roots []*yaml.Node, failure *flaw) {
	defer func() {
		if r := recover(); r != nil { // the library's parser has panicked on odd input before
			failure = &flaw{rule: "invalid-output", message: fmt.Sprintf("not valid YAML: %v", r)}
		}
	}()
	if yamldoc.TagDirective(content) >= 0 {
		return nil, &flaw{rule: "invalid-output", message: "%TAG directives are not allowed"}
	}
	decoder := yaml.NewDecoder(strings.NewReader(content))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return roots, nil
		}
		if err != nil {
			line, message := splitYAMLError(err)
			return nil, &flaw{rule: "invalid-output", message: "not valid YAML: " + message, line: line}
		}
		if len(document.Content) > 0 {
			roots = append(roots, document.Content[0])
		}
	}
}

// splitYAMLError separates the line from the library's message ("yaml: line 3: …").
func splitYAMLError(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	var rest string
	if n, _ := fmt.Sscanf(message, "line %d:", &line); n == 1 {
		_, rest, _ = strings.Cut(message, ":")
		message = strings.TrimSpace(rest)
	}
	return line, message
}

func duplicateKeys(n *yaml.Node) []flaw {
	var flaws []flaw
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				continue
			}
			if seen[key.Value] && key.Value != "<<" {
				flaws = append(flaws, flaw{"duplicate-output-key", fmt.Sprintf("key %q is there twice", key.Value), key.Line, true})
			}
			seen[key.Value] = true
		}
	}
	for _, child := range n.Content {
		flaws = append(flaws, duplicateKeys(child)...)
	}
	return flaws
}

// lookup returns the value of a key in a mapping, or nil.
func lookup(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}

// readObject checks a document that claims an apiVersion. Others, playbooks for instance, are fine.
func readObject(root *yaml.Node) (*namedObject, []flaw) {
	apiVersion := lookup(root, "apiVersion")
	if apiVersion == nil {
		return nil, nil
	}
	metadata := lookup(root, "metadata")
	group, _, found := strings.Cut(scalar(apiVersion), "/")
	if !found {
		group = ""
	}
	id := objectID{group, scalar(lookup(root, "kind")), scalar(lookup(metadata, "namespace")), scalar(lookup(metadata, "name"))}
	if id.isNamespace() {
		id.namespace = "" // it is in none, whatever is written
	}
	flaws := slices.Concat(checkIdentity(id, root.Line), textFlaws(metadata), stringFlaws(metadata))
	if id.kind == "" || id.name == "" {
		return nil, flaws
	}
	sum := digest(root)
	return &namedObject{id, &sum}, flaws
}

// textFlaws reports names that Kubernetes would not read as strings.
func textFlaws(metadata *yaml.Node) []flaw {
	var flaws []flaw
	for _, key := range []string{"name", "namespace"} {
		if n := lookup(metadata, key); scalar(n) != "" && !yamltext.IsText(n) {
			flaws = append(flaws, flaw{"invalid-output-name", fmt.Sprintf("metadata.%s %s is not a string to YAML: put it in quotes", key, n.Value), n.Line, true})
		}
	}
	return flaws
}

// stringsOf calls each for the keys and values of labels and annotations, with a description for messages.
func stringsOf(metadata *yaml.Node, each func(what string, n *yaml.Node)) {
	for _, field := range []string{"labels", "annotations"} {
		n := lookup(metadata, field)
		if n == nil || n.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if value.Kind == yaml.ScalarNode { // otherwise it is a merge or not a map of strings
				each("the key "+key.Value+" of metadata."+field, key)
				each("metadata."+field+"."+key.Value+" "+value.Value, value)
			}
		}
	}
}

// stringFlaws reports labels and annotations that some reader does not read as strings.
func stringFlaws(metadata *yaml.Node) []flaw {
	var flaws []flaw
	stringsOf(metadata, func(what string, n *yaml.Node) {
		if n.Value != "" && !yamltext.IsText(n) {
			flaws = append(flaws, flaw{ruleOutputString, what + " is not a string to YAML: put it in quotes", n.Line, true})
		}
	})
	return flaws
}

// ruleOutputString is the rule for labels and annotations that are not strings.
const ruleOutputString = "invalid-output-string"

func checkIdentity(id objectID, line int) []flaw {
	var flaws []flaw
	add := func(format string, args ...any) {
		flaws = append(flaws, flaw{"invalid-output-name", fmt.Sprintf(format, args...), line, true})
	}
	if id.kind == "" {
		add("the document has an apiVersion but no kind")
	}
	switch {
	case id.name == "":
		add("%s has no metadata.name", orDocument(id.kind))
	case id.isNamespace():
		for _, problem := range validation.IsDNS1123Label(id.name) {
			add("Namespace name %q (%d characters) is not valid: %s", id.name, len(id.name), model.WithoutRegex(problem))
		}
	default:
		for _, problem := range nameProblems(id) {
			add("%s name %q is not valid: %s", orDocument(id.kind), id.name, model.WithoutRegex(problem))
		}
	}
	if id.namespace != "" {
		for _, problem := range validation.IsDNS1123Label(id.namespace) {
			add("metadata.namespace %q (%d characters) is not valid: %s", id.namespace, len(id.namespace), model.WithoutRegex(problem))
		}
	}
	return flaws
}

func orDocument(kind string) string {
	if kind == "" {
		return "the document"
	}
	return kind
}

// nameProblems applies the rule that Kubernetes has for most kinds; names of RBAC objects may hold
// anything that is one path segment.
func nameProblems(id objectID) []string {
	if id.group != "rbac.authorization.k8s.io" {
		return validation.IsDNS1123Subdomain(id.name)
	}
	if id.name == "." || id.name == ".." || strings.ContainsAny(id.name, "/%") {
		return []string{"it must be one path segment"}
	}
	return nil
}

func digest(n *yaml.Node) digestSum { return sha256.Sum256(appendNode(nil, n)) }

// appendNode writes every part with its length before it, so that no two nodes are written alike.
func appendNode(b []byte, n *yaml.Node) []byte {
	for _, text := range []string{n.ShortTag(), n.Value} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	b = binary.AppendUvarint(append(b, byte(n.Kind)), uint64(len(n.Content)))
	for _, child := range n.Content {
		b = appendNode(b, child)
	}
	return b
}
