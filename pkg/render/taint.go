package render

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// A tenant's string must come out as one plain value, whatever it holds. Most strings cannot be
// anything else (inert). For the rest it is proven: the files are rendered once more with
// placeholders that are inert, and may differ from the real ones in nothing but these values.

// inert matches strings that are one plain scalar wherever a template prints them, quoted or not:
// they have no character with a meaning in YAML, and do not begin like a document marker.
var inert = regexp.MustCompile(`^[A-Za-z0-9_/](?:[A-Za-z0-9._/@+=-]|:[A-Za-z0-9._/@+=-])*$|^\.{1,2}(?:/(?:[A-Za-z0-9._/@+=-]|:[A-Za-z0-9._/@+=-])*)?$`)

// shellInert matches strings that a POSIX shell takes as they are.
var shellInert = regexp.MustCompile(`^[A-Za-z0-9._/@:+,%=-]*$`)

// isInert reports whether a string needs no proof. One that YAML would read as a number, a boolean
// or null does: without quotes it would not come out as the string that it is.
func isInert(text string) bool {
	return text == "" || inert.MatchString(text) && shellInert.MatchString(text) && tag(text) == "!!str"
}

// tag returns what YAML 1.1 reads a plain scalar as, as far as that matters here.
func tag(text string) string {
	var value any
	if err := yamlv2.Unmarshal([]byte(text), &value); err != nil {
		return "!!str"
	}
	if _, isString := value.(string); isString {
		return "!!str"
	}
	return fmt.Sprintf("%T", value)
}

// placeholders returns the target's manifests with every string that is not inert replaced, and
// which placeholder stands for which string; none if there is nothing to prove.
func placeholders(target *model.DeploymentTarget, manifests map[string]string) (replaced, originals map[string]string) {
	if target.Registration == nil {
		return nil, nil // the control plane's own
	}
	for _, key := range slices.Sorted(maps.Keys(manifests)) {
		text := manifests[key]
		if isInert(text) {
			continue
		}
		if replaced == nil {
			replaced, originals = maps.Clone(manifests), map[string]string{}
		}
		placeholder := fmt.Sprintf("kalypso0placeholder%dz", len(originals))
		replaced[key], originals[placeholder] = placeholder, text
	}
	return replaced, originals
}

// taintedKeys names the manifests that are not inert, for messages.
func taintedKeys(target *model.DeploymentTarget) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(target.Manifests)) {
		if !isInert(target.Manifests[key].Value) {
			keys = append(keys, key)
		}
	}
	return keys
}

// sameButFor reports whether rendered YAML differs from the one with placeholders in nothing but the
// values that these stand for.
func sameButFor(rendered, withPlaceholders string, originals map[string]string) bool {
	if rendered == withPlaceholders {
		return true
	}
	a, errA := parseDocuments(rendered)
	b, errB := parseDocuments(withPlaceholders)
	if errA != nil || errB != nil {
		return false
	}
	var pairs []string
	for _, placeholder := range slices.Sorted(maps.Keys(originals)) {
		pairs = append(pairs, placeholder, originals[placeholder])
	}
	restore := strings.NewReplacer(pairs...)
	return slices.EqualFunc(a, b, func(a, b *yaml.Node) bool { return sameNode(a, b, restore) })
}

// sameNode compares structure and values. A value that a function made of the placeholder, so that
// it cannot be found again, may differ as long as it is still one value.
func sameNode(rendered, expected *yaml.Node, restore *strings.Replacer) bool {
	if rendered.Kind != expected.Kind || rendered.Anchor != expected.Anchor {
		return false
	}
	if rendered.Kind == yaml.ScalarNode {
		restored := restore.Replace(expected.Value)
		if restored == expected.Value {
			return explicitTag(rendered) == explicitTag(expected)
		}
		return rendered.Value == restored && (quoted(rendered) || tag(rendered.Value) == "!!str")
	}
	return slices.EqualFunc(rendered.Content, expected.Content, func(a, b *yaml.Node) bool { return sameNode(a, b, restore) })
}

func quoted(n *yaml.Node) bool {
	const quotes = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Style&quotes != 0
}

func explicitTag(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle != 0 {
		return n.Tag
	}
	return ""
}
