package verify

import "fmt"

// Check returns an error for the first flaw of rendered YAML: it must parse, without duplicate keys, and every
// document that claims an apiVersion must be an object that Kubernetes could take.
func Check(content string) error {
	_, flaws := Read(content)
	if len(flaws) == 0 {
		return nil
	}
	return fmt.Errorf("line %d: %s", max(flaws[0].Line, 1), flaws[0].Message)
}
