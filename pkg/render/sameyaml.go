package render

import (
	"errors"
	"io"
	"slices"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
)

// sameShell reports whether a file that is no YAML is the one rendered with placeholders. What a
// shell would make of a string cannot be known, so one that is not plain must not occur.
func (d *disguise) sameShell(rendered, disguised string) bool {
	return rendered == d.restorer(shellInert.MatchString).Replace(disguised)
}

// sameYAML reports whether rendered YAML differs from the one with placeholders in nothing but the
// values that these stand for, to a reader of YAML 1.2 and to Kubernetes.
func (d *disguise) sameYAML(rendered, disguised string) bool {
	if rendered == disguised {
		return true
	}
	a, errA := allDocuments(rendered)
	b, errB := allDocuments(disguised)
	if errA != nil || errB != nil {
		return false
	}
	restore := d.restorer(anyText)
	if !slices.EqualFunc(a, b, func(a, b *yaml.Node) bool { return sameNode(a, b, restore) }) {
		return false
	}
	expected, err := kubernetesValues(disguised)
	if err != nil {
		return true // Kubernetes cannot read what the template makes anyway
	}
	values, err := kubernetesValues(rendered)
	return err == nil && slices.EqualFunc(values, expected, func(a, b any) bool { return sameContent(a, b, restore) })
}

// sameShape reports whether two texts of YAML differ in scalars alone.
func sameShape(one, other string) bool {
	a, errA := allDocuments(one)
	b, errB := allDocuments(other)
	if errA != nil || errB != nil {
		return errA != nil && errB != nil
	}
	var same func(a, b *yaml.Node) bool
	same = func(a, b *yaml.Node) bool { return a.Kind == b.Kind && slices.EqualFunc(a.Content, b.Content, same) }
	return slices.EqualFunc(a, b, same)
}

// sameNode compares structure and values. A value that a function made of the placeholder, so that
// it cannot be found again, may differ as long as it is still one value.
func sameNode(rendered, expected *yaml.Node, restore *strings.Replacer) bool {
	if rendered.Kind != expected.Kind || rendered.Anchor != expected.Anchor {
		return false
	}
	switch rendered.Kind {
	case yaml.AliasNode:
		return rendered.Value == expected.Value
	case yaml.ScalarNode:
		return sameScalar(rendered, expected, restore)
	}
	return slices.EqualFunc(rendered.Content, expected.Content, func(a, b *yaml.Node) bool { return sameNode(a, b, restore) })
}

func sameScalar(rendered, expected *yaml.Node, restore *strings.Replacer) bool {
	switch restored := restore.Replace(expected.Value); {
	case explicitTag(rendered) != explicitTag(expected):
		return false
	case restored != expected.Value:
		return rendered.Value == restored && isText(rendered)
	case rendered.Value == expected.Value:
		return true
	default:
		return isText(rendered) || !isText(expected) && rendered.ShortTag() == expected.ShortTag()
	}
}

// isText reports whether every reader takes a scalar for a string.
func isText(n *yaml.Node) bool {
	const quotes = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Style&quotes != 0 || explicitTag(n) == "!!str" || readsAsText(n.Value)
}

func explicitTag(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle != 0 {
		return n.ShortTag()
	}
	return ""
}

// kubernetesValues returns the documents as sigs.k8s.io/yaml understands them: its parser is this
// one, and it does not agree with that of YAML 1.2 on every plain scalar.
func kubernetesValues(content string) (values []any, err error) {
	defer func() {
		if recover() != nil {
			err = errNotYAML
		}
	}()
	decoder := yamlv2.NewDecoder(strings.NewReader(content))
	for {
		var value any
		switch err := decoder.Decode(&value); {
		case errors.Is(err, io.EOF):
			return values, nil
		case err != nil:
			return nil, err
		}
		values = append(values, value)
	}
}

func sameContent(rendered, expected any, restore *strings.Replacer) bool {
	switch expected := expected.(type) {
	case map[any]any:
		rendered, ok := rendered.(map[any]any)
		if !ok || len(rendered) != len(expected) {
			return false
		}
		for key, value := range expected {
			if text, ok := key.(string); ok {
				key = restore.Replace(text)
			}
			found, ok := rendered[key]
			if !ok || !sameContent(found, value, restore) {
				return false
			}
		}
		return true
	case []any:
		rendered, ok := rendered.([]any)
		return ok && slices.EqualFunc(rendered, expected, func(a, b any) bool { return sameContent(a, b, restore) })
	case string:
		text, ok := rendered.(string)
		restored := restore.Replace(expected)
		return ok && (restored == expected || restored == text)
	default:
		switch rendered.(type) {
		case map[any]any, []any:
			return false
		}
		return true // sameNode has compared it
	}
}
