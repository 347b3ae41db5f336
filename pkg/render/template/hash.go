package template

import (
	"strconv"

	"github.com/mitchellh/hashstructure"
)

// hashText is the template function hash: hashstructure's hash of a value, decimal. Fleets have it in
// the names of objects, so it must never change.
func hashText(v any) (string, error) {
	hash, err := hashstructure.Hash(v, nil)
	if err != nil {
		return "", err
	}
	return strconv.FormatUint(hash, 10), nil
}
