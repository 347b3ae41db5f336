// Package digest selects the algorithm of digests.
package digest

import (
	_ "crypto/sha256"
	_ "crypto/sha512"
	"fmt"

	"github.com/opencontainers/go-digest"
)

// Canonical is the default algorithm.
var Canonical = digest.SHA256

// AlgorithmForName returns an error if the algorithm is not compiled in.
func AlgorithmForName(name string) (digest.Algorithm, error) {
	a := digest.Algorithm(name)
	if !a.Available() {
		return "", fmt.Errorf("digest algorithm %q: %w", name, digest.ErrDigestUnsupported)
	}
	return a, nil
}
