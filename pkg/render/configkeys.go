package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
	"go.yaml.in/yaml/v3"
)

// newConfigKeys numbers all keys that the layers set, and gives every entry its key.
func newConfigKeys(layers []layer) []*configKey {
	byName := map[string]*configKey{}
	for _, layer := range layers {
		for _, entry := range layer.entries {
			if byName[entry.name] == nil {
				byName[entry.name] = &configKey{name: entry.name}
			}
			entry.key = byName[entry.name]
			entry.alone = newSetting(entry)
		}
	}
	keys := make([]*configKey, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		byName[name].byName = len(keys)
		keys = append(keys, byName[name])
	}
	for _, key := range keys {
		key.byYAML, key.byJSON = unknownOrder, unknownOrder
	}
	if slices.ContainsFunc(keys, (*configKey).hasOddNumber) {
		return keys
	}
	for i, n := range writtenOrder(keys, yaml.Marshal) {
		keys[n].byYAML = i
	}
	if !goInCircles(keys) {
		for i, n := range writtenOrder(keys, yamltext.Object) {
			keys[n].byJSON = i
		}
	}
	return keys
}

// unknownOrder is the position of keys of which it is not known where they are written.
const unknownOrder = -1

// hasOddNumber reports whether there is a number in the key that the libraries cannot count: they order
// numbers by what they amount to in 64 bits, or seem to.
func (k *configKey) hasOddNumber() bool {
	const longest = 18
	digits := 0
	for _, c := range k.name {
		if digits++; !unicode.IsDigit(c) {
			digits = 0
		}
		if digits > longest || digits > 0 && c > '9' {
			return true
		}
	}
	return false
}

// goInCircles reports whether the order in which sigs.k8s.io/yaml writes two keys may depend on which
// others there are. It writes "a2" before "a10", "a10" before "a22", and "a22" before "a2b", but "a2b"
// before "a10": where a letter follows a digit, and a digit stands in its place in another key.
func goInCircles(keys []*configKey) bool {
	// The beginnings of keys after which there is a letter, and all after which there is a digit.
	letters, digits := map[string]bool{}, []string{}
	for _, key := range keys {
		inNumber := false
		for i, c := range key.name {
			switch {
			case inNumber && unicode.IsLetter(c):
				letters[key.name[:i]] = true
			case inNumber && unicode.IsDigit(c):
				digits = append(digits, key.name[:i])
			}
			inNumber = unicode.IsDigit(c)
		}
	}
	return slices.ContainsFunc(digits, func(beginning string) bool { return letters[beginning] })
}

// writtenOrder asks a YAML library for the order in which it writes keys: it is neither that of bytes
// nor described anywhere ("a2" comes before "a10"). It returns positions in keys, or
// nothing if it is not to be had.
func writtenOrder(keys []*configKey, marshal func(any) ([]byte, error)) []int {
	values := make(map[string]string, len(keys))
	for i, key := range keys {
		values[key.name] = fmt.Sprint(i)
	}
	order := make([]int, 0, len(keys))
	text, _ := marshal(values) // a map of strings can always be written
	var read yaml.Node
	if yaml.Unmarshal(text, &read) == nil && len(read.Content) == 1 {
		for i := 1; i < len(read.Content[0].Content); i += 2 {
			var n int
			if _, err := fmt.Sscan(strings.TrimSpace(read.Content[0].Content[i].Value), &n); err == nil && n < len(keys) {
				order = append(order, n)
			}
		}
	}
	if len(order) != len(keys) {
		return nil // it cannot write all of them
	}
	return order
}
