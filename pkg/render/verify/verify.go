package verify

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

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/model/yamldoc"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// ID is what Kubernetes knows an object by.
type ID struct{ Group, Kind, Namespace, Name string }

// String returns "Namespace dev" or "GitRepository flux-system/hello".
func (id ID) String() string {
	if id.Namespace == "" {
		return id.Kind + " " + id.Name
	}
	return id.Kind + " " + id.Namespace + "/" + id.Name
}

// IsNamespace reports whether the object is a Namespace of Kubernetes.
func (id ID) IsNamespace() bool { return id.Kind == "Namespace" && id.Group == "" }

// Digest sums up what an object says, whatever its layout.
type Digest [sha256.Size]byte

// Object is an object in a file.
type Object struct {
	ID
	// Sum is nil if it has not been computed: files are not read again as long as no two have an
	// object with the same name.
	Sum *Digest
}

// Flaw is what is wrong with rendered YAML.
type Flaw struct {
	Rule, Message string
	// Line counts from 1 in the file; 0 if it is not known.
	Line int
	// Lasting says that a file in which nothing changes may keep it: it may have been out there
	// for years.
	Lasting bool
}

// Read reads rendered YAML as any YAML reader would: it must parse, without duplicate keys, and every
// document that claims an apiVersion must be a proper object.
func Read(content string) ([]Object, []Flaw) {
	roots, err := ParseDocuments(content)
	if err != nil {
		return nil, []Flaw{*err}
	}
	var objects []Object
	var flaws []Flaw
	for _, root := range roots {
		flaws = append(flaws, DuplicateKeys(root)...)
		for _, item := range items(root) {
			found, wrong := ReadObject(item)
			flaws = append(flaws, wrong...)
			if found != nil {
				objects = append(objects, *found)
			}
		}
	}
	return objects, flaws
}

// items returns a document itself, or the items of one that is a List: kubectl applies each of them.
func items(root *yaml.Node) []*yaml.Node {
	list := Lookup(root, "items")
	if list == nil || list.Kind != yaml.SequenceNode || !strings.HasSuffix(Scalar(Lookup(root, "kind")), "List") {
		return []*yaml.Node{root}
	}
	var all []*yaml.Node
	for _, item := range list.Content {
		all = append(all, items(item)...)
	}
	return all
}

// ParseDocuments returns the documents that are not empty.
func ParseDocuments(content string) ([]*yaml.Node, *Flaw) {
	roots, failure := AllDocuments(content)
	return slices.DeleteFunc(roots, func(root *yaml.Node) bool { return root.ShortTag() == "!!null" }), failure
}

// AllDocuments returns all documents, empty ones too, up to the first flaw.
func AllDocuments(content string) (roots []*yaml.Node, failure *Flaw) {
	defer func() {
		if r := recover(); r != nil { // the library's parser has panicked on odd input before
			failure = &Flaw{Rule: "invalid-output", Message: fmt.Sprintf("not valid YAML: %v", r)}
		}
	}()
	if yamldoc.TagDirective(content) >= 0 {
		return nil, &Flaw{Rule: "invalid-output", Message: "%TAG directives are not allowed"}
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
			return nil, &Flaw{Rule: "invalid-output", Message: "not valid YAML: " + message, Line: line}
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

// DuplicateKeys returns a flaw for each key that a mapping below the node has twice.
func DuplicateKeys(n *yaml.Node) []Flaw {
	var flaws []Flaw
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				continue
			}
			if seen[key.Value] && key.Value != "<<" {
				flaws = append(flaws, Flaw{"duplicate-output-key", fmt.Sprintf("key %q is duplicated", key.Value), key.Line, true})
			}
			seen[key.Value] = true
		}
	}
	for _, child := range n.Content {
		flaws = append(flaws, DuplicateKeys(child)...)
	}
	return flaws
}

// Lookup returns the value of a key in a mapping, or nil.
func Lookup(n *yaml.Node, key string) *yaml.Node {
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

// Scalar returns the value of a scalar; empty for null and for what is no scalar.
func Scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}

// ReadObject checks a document that claims an apiVersion. Others, playbooks for instance, are fine.
func ReadObject(root *yaml.Node) (*Object, []Flaw) {
	id, flaws := readID(root)
	if id.Kind == "" || id.Name == "" {
		return nil, flaws
	}
	sum := digest(root)
	return &Object{id, &sum}, flaws
}

// readID returns the zero ID for a document without an apiVersion.
func readID(root *yaml.Node) (ID, []Flaw) {
	apiVersion := Lookup(root, "apiVersion")
	if apiVersion == nil {
		return ID{}, nil
	}
	metadata := Lookup(root, "metadata")
	group, _, found := strings.Cut(Scalar(apiVersion), "/")
	if !found {
		group = ""
	}
	id := ID{group, Scalar(Lookup(root, "kind")), Scalar(Lookup(metadata, "namespace")), Scalar(Lookup(metadata, "name"))}
	if id.IsNamespace() {
		id.Namespace = "" // it is in none, whatever is written
	}
	return id, slices.Concat(checkIdentity(id, root.Line), textFlaws(metadata), stringFlaws(metadata))
}

// textFlaws reports names that Kubernetes would not read as strings.
func textFlaws(metadata *yaml.Node) []Flaw {
	var flaws []Flaw
	for _, key := range []string{"name", "namespace"} {
		if n := Lookup(metadata, key); Scalar(n) != "" && !yamltext.IsText(n) {
			flaws = append(flaws, Flaw{"invalid-output-name", fmt.Sprintf("metadata.%s %s is not a string to YAML: put it in quotes", key, n.Value), n.Line, true})
		}
	}
	return flaws
}

// StringsOf calls each for the keys and values of labels and annotations. n is the key itself or its value.
func StringsOf(metadata *yaml.Node, each func(field string, key, n *yaml.Node)) {
	for _, field := range []string{"labels", "annotations"} {
		n := Lookup(metadata, field)
		if n == nil || n.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if value.Kind == yaml.ScalarNode { // otherwise it is a merge or not a map of strings
				each(field, key, key)
				each(field, key, value)
			}
		}
	}
}

// stringFlaws reports labels and annotations that some reader does not read as strings.
func stringFlaws(metadata *yaml.Node) []Flaw {
	var flaws []Flaw
	StringsOf(metadata, func(field string, key, n *yaml.Node) {
		if n.Value != "" && !yamltext.IsText(n) {
			what := "metadata." + field + "." + key.Value + " " + n.Value
			if n == key {
				what = "the key " + key.Value + " of metadata." + field
			}
			flaws = append(flaws, Flaw{RuleOutputString, what + " is not a string to YAML: put it in quotes", n.Line, true})
		}
	})
	return flaws
}

// RuleOutputString is the rule for labels and annotations that are not strings.
const RuleOutputString = "invalid-output-string"

func checkIdentity(id ID, line int) []Flaw {
	var flaws []Flaw
	add := func(format string, args ...any) {
		flaws = append(flaws, Flaw{"invalid-output-name", fmt.Sprintf(format, args...), line, true})
	}
	if id.Kind == "" {
		add("the document has an apiVersion but no kind")
	}
	switch {
	case id.Name == "":
		add("%s has no metadata.name", orDocument(id.Kind))
	case id.IsNamespace():
		for _, problem := range validation.IsDNS1123Label(id.Name) {
			add("Namespace name %q (%d characters) is not valid: %s", id.Name, len(id.Name), model.WithoutRegex(problem))
		}
	default:
		for _, problem := range nameProblems(id) {
			add("%s name %q is not valid: %s", orDocument(id.Kind), id.Name, model.WithoutRegex(problem))
		}
	}
	if id.Namespace != "" {
		for _, problem := range validation.IsDNS1123Label(id.Namespace) {
			add("metadata.namespace %q (%d characters) is not valid: %s", id.Namespace, len(id.Namespace), model.WithoutRegex(problem))
		}
	}
	return flaws
}

// HintFor returns what to do about a flaw; "" if its message is enough.
func HintFor(f Flaw) string {
	if strings.HasSuffix(f.Message, validation.MaxLenError(validation.DNS1123LabelMaxLength)) {
		return "shorten the name of the cluster type, workload or deployment target"
	}
	return ""
}

func orDocument(kind string) string {
	if kind == "" {
		return "the document"
	}
	return kind
}

// nameProblems applies the rule that Kubernetes has for most kinds; names of RBAC objects may hold
// anything that is one path segment.
func nameProblems(id ID) []string {
	if id.Group != "rbac.authorization.k8s.io" {
		return validation.IsDNS1123Subdomain(id.Name)
	}
	if id.Name == "." || id.Name == ".." || strings.ContainsAny(id.Name, "/%") {
		return []string{"it must be one path segment"}
	}
	return nil
}

func digest(n *yaml.Node) Digest { return sha256.Sum256(appendNode(nil, n)) }

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

// Problem is a problem in one file of the output.
type Problem struct {
	Path string
	Flaw
	At diag.Place
	// Related is a second place, if there is one.
	Related *diag.Related
	Hint    string
}
