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

// shellInert matches strings that a POSIX shell takes as they are.
var shellInert = regexp.MustCompile(`^[A-Za-z0-9._/@:+,%=-]*$`)

// isWild reports whether a string could change the structure of a file that it is printed in, as it
// is or after a template has decoded it.
func isWild(text string) bool {
	return text != "" && (!isInert(text) || slices.ContainsFunc(model.Decoded(text), func(decoded string) bool { return !isInert(decoded) }))
}

// isTyped reports whether YAML would read a string that is not wild as a number, a boolean or null:
// without quotes it would not come out as the string that it is.
func isTyped(text string) bool { return text != "" && !isWild(text) && !readsAsText(text) }

// readsAsText reports whether a plain scalar is a string under YAML 1.1, as Kubernetes reads it, and
// under YAML 1.2. Dates are strings to Kubernetes.
func readsAsText(text string) bool {
	if text != "" && isLetter(text[0]) && (len(text) > len("false") || !strings.ContainsRune("yYnNtTfFoO", rune(text[0]))) {
		return true // none of the words that mean something begins so, or is so long
	}
	switch (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).ShortTag() {
	case "!!str", "!!timestamp":
	default:
		return false
	}
	var value any
	if err := yamlv2.Unmarshal([]byte(text), &value); err != nil {
		return true
	}
	_, isString := value.(string)
	return isString
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// suspicion says what must be proven of an entry of the manifests.
type suspicion func(key, text string) (keyIsSuspect, textIsSuspect bool)

func suspectWild(key, text string) (bool, bool) { return isWild(key), isWild(text) }

func suspectTyped(_, text string) (bool, bool) { return false, isTyped(text) }

// disguise is a target's manifests with placeholders for the strings that are suspect.
type disguise struct {
	manifests map[string]string
	// originals tells what each placeholder stands for.
	originals map[string]string
	// entries are those of the manifests in which something is replaced, in order of key.
	entries []disguisedEntry
}

// disguisedEntry is an entry of the manifests as it is, and in disguise.
type disguisedEntry struct{ key, text, disguisedKey, disguisedText string }

// newDisguise returns nil if nothing is suspect.
func newDisguise(manifests map[string]string, suspect suspicion) *disguise {
	d := &disguise{manifests: make(map[string]string, len(manifests)), originals: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(manifests)) {
		e := disguisedEntry{key, manifests[key], key, manifests[key]}
		keyIsSuspect, textIsSuspect := suspect(e.key, e.text)
		if keyIsSuspect {
			e.disguisedKey = d.placeholder(e.key)
		}
		if textIsSuspect {
			e.disguisedText = d.placeholder(e.text)
		}
		d.manifests[e.disguisedKey] = e.disguisedText
		if keyIsSuspect || textIsSuspect {
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

// disguises are those of a deployment target, nil where nothing needs one.
type disguises struct{ wild, typed *disguise }

func newDisguises(target *model.DeploymentTarget, manifests map[string]string) disguises {
	if target.Registration == nil {
		return disguises{} // the control plane's own
	}
	return disguises{newDisguise(manifests, suspectWild), newDisguise(manifests, suspectTyped)}
}
