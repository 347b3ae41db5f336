package incremental

import (
	"fmt"
	"slices"
	"strconv"
	"unicode"

	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
	"go.yaml.in/yaml/v3"
)

// keyOrders are the orders in which libraries write the keys of the configuration: the position of each key, by its number.
type keyOrders struct {
	// byYAML is the order of go-yaml v3, byJSON that of sigs.k8s.io/yaml; nil if unknown.
	byYAML, byJSON []int
}

func newKeyOrders(keys []string) *keyOrders {
	orders := &keyOrders{}
	if slices.ContainsFunc(keys, hasOddNumber) {
		return orders
	}
	orders.byYAML = writtenOrder(keys, yaml.Marshal)
	if !isIntransitive(keys) {
		orders.byJSON = writtenOrder(keys, yamltext.Object)
	}
	return orders
}

// of returns the order in which a writer writes keys, nil for byte order.
func (o *keyOrders) of(writer formWriter) (order []int, known bool) {
	switch writer {
	case inYAML, inStringified:
		return o.byYAML, o.byYAML != nil
	case inConfigMap:
		return o.byJSON, o.byJSON != nil
	default:
		return nil, true
	}
}

// hasOddNumber reports whether the key has a number that the libraries may order in another way than by its value: they
// compute with 64 bits.
func hasOddNumber(key string) bool {
	const longest = 18
	digits := 0
	for _, c := range key {
		if digits++; !unicode.IsDigit(c) {
			digits = 0
		}
		if digits > longest || digits > 0 && c > '9' {
			return true
		}
	}
	return false
}

// isIntransitive reports whether the order in which sigs.k8s.io/yaml writes two keys may depend on the other keys. It
// writes "a2" before "a10", "a10" before "a22", and "a22" before "a2b", but "a2b" before "a10": one key has a letter
// where another has a digit, both after a digit.
func isIntransitive(keys []string) bool {
	// The prefixes that end in a digit and are followed by a letter, and those followed by a digit.
	letters, digits := map[string]bool{}, []string{}
	for _, key := range keys {
		inNumber := false
		for i, c := range key {
			switch {
			case inNumber && unicode.IsLetter(c):
				letters[key[:i]] = true
			case inNumber && unicode.IsDigit(c):
				digits = append(digits, key[:i])
			}
			inNumber = unicode.IsDigit(c)
		}
	}
	return slices.ContainsFunc(digits, func(prefix string) bool { return letters[prefix] })
}

// writtenOrder returns the order in which a YAML library writes keys, or nil if it cannot write all of them. The order
// is neither byte order nor documented ("a2" is before "a10").
func writtenOrder(keys []string, marshal func(any) ([]byte, error)) []int {
	values := make(map[string]string, len(keys))
	for i, key := range keys {
		values[key] = fmt.Sprint(i)
	}
	order := make([]int, len(keys))
	text, _ := marshal(values) // a map of strings can always be written
	var read yaml.Node
	if yaml.Unmarshal(text, &read) != nil || len(read.Content) != 1 || len(read.Content[0].Content) != 2*len(keys) {
		return nil // it cannot write all of them
	}
	for position := range keys {
		n, err := strconv.Atoi(read.Content[0].Content[2*position+1].Value)
		if err != nil {
			return nil
		}
		order[n] = position
	}
	return order
}
