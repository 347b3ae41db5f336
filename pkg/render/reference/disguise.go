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

// shellInert matches strings that a POSIX shell takes as they are.
var shellInert = regexp.MustCompile(`^[A-Za-z0-9._/@:+,%=-]*$`)

// isWild reports whether a string could change the structure of a file that it is printed in, as it
// is or after a template has decoded it.
func isWild(text string) bool {
	return text != "" && (!yamltext.IsInert(text) || slices.ContainsFunc(model.Decoded(text), func(decoded string) bool { return !yamltext.IsInert(decoded) }))
}

// disguise is a target's manifests with placeholders for the strings that are wild.
type disguise struct {
	manifests map[string]string
	// originals tells what each placeholder stands for.
	originals map[string]string
	// entries are those of the manifests in which something is replaced, in order of key.
	entries []disguisedEntry
}

// disguisedEntry is an entry of the manifests as it is, and in disguise.
type disguisedEntry struct{ key, text, disguisedKey, disguisedText string }

// newDisguise returns nil if nothing is wild.
func newDisguise(manifests map[string]string) *disguise {
	d := &disguise{manifests: make(map[string]string, len(manifests)), originals: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(manifests)) {
		e := disguisedEntry{key, manifests[key], key, manifests[key]}
		keyIsWild, textIsWild := isWild(e.key), isWild(e.text)
		if keyIsWild {
			e.disguisedKey = d.placeholder(e.key)
		}
		if textIsWild {
			e.disguisedText = d.placeholder(e.text)
		}
		d.manifests[e.disguisedKey] = e.disguisedText
		if keyIsWild || textIsWild {
			d.entries = append(d.entries, e)
		}
	}
	if len(d.entries) == 0 {
		return nil
	}
	return d
}

// reveal returns the manifests with one entry as it is, and the disguise that hides no other.
func (d *disguise) reveal(e disguisedEntry) (map[string]string, *disguise) {
	revealed := maps.Clone(d.manifests)
	delete(revealed, e.disguisedKey)
	revealed[e.key] = e.text
	hidden := &disguise{manifests: d.manifests, originals: map[string]string{}, entries: []disguisedEntry{e}}
	for _, placeholder := range []string{e.disguisedKey, e.disguisedText} {
		if original, ok := d.originals[placeholder]; ok {
			hidden.originals[placeholder] = original
		}
	}
	return revealed, hidden
}

// probes returns the manifests with placeholders that break double quotes unless a function escapes them.
func (d *disguise) probes() map[string]string {
	const mark = `"\` // the text after the backslash is not a valid escape
	manifests := maps.Clone(d.manifests)
	probe := func(text string) string {
		if _, ok := d.originals[text]; ok {
			return mark + text + mark
		}
		return text
	}
	for _, e := range d.entries {
		delete(manifests, e.disguisedKey)
		manifests[probe(e.disguisedKey)] = probe(e.disguisedText)
	}
	return manifests
}

func (d *disguise) placeholder(original string) string {
	placeholder := fmt.Sprintf("kalypso0placeholder%dz", len(d.originals))
	d.originals[placeholder] = original
	return placeholder
}

// restorer puts those of the strings back that are wanted.
func (d *disguise) restorer(wanted func(original string) bool) *strings.Replacer {
	var pairs []string
	for _, placeholder := range slices.Sorted(maps.Keys(d.originals)) {
		if original := d.originals[placeholder]; wanted(original) {
			pairs = append(pairs, placeholder, original)
		}
	}
	return strings.NewReplacer(pairs...)
}

func anyText(string) bool { return true }
