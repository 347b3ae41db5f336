package fleettest

import (
	"fmt"
	"strings"
)

// A label is a key and its value. Lists of them are written in the order they have.
type label struct{ key, value string }

// object begins the document of an object, up to its specification.
func object(kind, name string, labels []label) string {
	return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: " + kind + "\n" + metadata(name, labels)
}

func metadata(name string, labels []label) string {
	return fmt.Sprintf("metadata:\n  name: %q\n", name) + labelLines("  ", labels)
}

// labelLines writes a field of labels, if there are any.
func labelLines(indent string, labels []label) string {
	if len(labels) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(indent + "labels:\n")
	for _, l := range labels {
		fmt.Fprintf(&b, "%s  %s: %q\n", indent, l.key, l.value)
	}
	return b.String()
}

// scalar writes a string as a value in YAML: a text of several lines as it stands.
func scalar(indent, text string) string {
	if !strings.Contains(text, "\n") {
		return fmt.Sprintf(" %q\n", text)
	}
	return " |\n" + indented(indent, text)
}

func indented(indent, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(indent + line)
	}
	return b.String()
}
