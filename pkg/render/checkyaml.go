package render

import "fmt"

// CheckYAML returns an error for the first flaw of rendered YAML: it must parse, without duplicate keys, and every
// document that claims an apiVersion must be an object that Kubernetes could take.
func CheckYAML(content string) error {
	_, flaws := verify(content)
	if len(flaws) == 0 {
		return nil
	}
	return fmt.Errorf("line %d: %s", max(flaws[0].line, 1), flaws[0].message)
}
