package reference

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// shellPlain matches strings without characters that are special to a POSIX shell.
var shellPlain = regexp.MustCompile(`^[A-Za-z0-9._/@:+,%=-]*$`)

// needsPlaceholder reports whether a string, or what a template decodes from it, could change the structure of a file
// in which it is printed.
func needsPlaceholder(text string) bool {
	return text != "" && (!yamltext.IsPlainAnywhere(text) || slices.ContainsFunc(model.Decoded(text), func(decoded string) bool { return !yamltext.IsPlainAnywhere(decoded) }))
}

// placeholders are the manifests of a target in which placeholders replace some of the strings.
type placeholders struct {
	manifests map[string]string
	// originals are the replaced strings by placeholder.
	originals map[string]string
	// entries are those of the manifests in which something is replaced, in order of key.
	entries []replacedEntry
}

// replacedEntry is an entry of the manifests, and its placeholders.
type replacedEntry struct{ key, text, keyPlaceholder, textPlaceholder string }

// newPlaceholders returns nil if no string needs a placeholder.
func newPlaceholders(manifests map[string]string) *placeholders {
	d := &placeholders{manifests: make(map[string]string, len(manifests)), originals: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(manifests)) {
		e := replacedEntry{key, manifests[key], key, manifests[key]}
		replaceKey, replaceText := needsPlaceholder(e.key), needsPlaceholder(e.text)
		if replaceKey {
			e.keyPlaceholder = d.placeholder(e.key)
		}
		if replaceText {
			e.textPlaceholder = d.placeholder(e.text)
		}
		d.manifests[e.keyPlaceholder] = e.textPlaceholder
		if replaceKey || replaceText {
			d.entries = append(d.entries, e)
		}
	}
	if len(d.entries) == 0 {
		return nil
	}
	return d
}

// restore returns the manifests with one entry restored, and the placeholders of this entry alone.
func (d *placeholders) restore(e replacedEntry) (map[string]string, *placeholders) {
	restored := maps.Clone(d.manifests)
	delete(restored, e.keyPlaceholder)
	restored[e.key] = e.text
	hidden := &placeholders{manifests: d.manifests, originals: map[string]string{}, entries: []replacedEntry{e}}
	for _, placeholder := range []string{e.keyPlaceholder, e.textPlaceholder} {
		if original, ok := d.originals[placeholder]; ok {
			hidden.originals[placeholder] = original
		}
	}
	return restored, hidden
}

// probes returns the manifests with placeholders that break double quotes unless a function escapes them.
func (d *placeholders) probes() map[string]string {
	const mark = `"\` // the text after the backslash is not a valid escape
	manifests := maps.Clone(d.manifests)
	probe := func(text string) string {
		if _, ok := d.originals[text]; ok {
			return mark + text + mark
		}
		return text
	}
	for _, e := range d.entries {
		delete(manifests, e.keyPlaceholder)
		manifests[probe(e.keyPlaceholder)] = probe(e.textPlaceholder)
	}
	return manifests
}

func (d *placeholders) placeholder(original string) string {
	placeholder := fmt.Sprintf("kalypso0placeholder%dz", len(d.originals))
	d.originals[placeholder] = original
	return placeholder
}

// restorer replaces placeholders with the originals that are wanted.
func (d *placeholders) restorer(wanted func(original string) bool) *strings.Replacer {
	var pairs []string
	for _, placeholder := range slices.Sorted(maps.Keys(d.originals)) {
		if original := d.originals[placeholder]; wanted(original) {
			pairs = append(pairs, placeholder, original)
		}
	}
	return strings.NewReplacer(pairs...)
}

func anyText(string) bool { return true }
