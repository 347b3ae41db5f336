package verify

import "fmt"

// Check returns an error for the first flaw of rendered YAML: it must parse, without duplicate keys, and every
// document that claims an apiVersion must be an object that Kubernetes could take.
func Check(content string) error {
	roots, failure := ParseDocuments(content)
	if failure != nil {
		return failure.asError()
	}
	for _, root := range roots {
		flaws := DuplicateKeys(root)
		for _, item := range items(root) { // not Read: it also computes a digest of each object
			_, wrong := readID(item)
			flaws = append(flaws, wrong...)
		}
		if len(flaws) > 0 {
			return flaws[0].asError()
		}
	}
	return nil
}

func (f Flaw) asError() error { return fmt.Errorf("line %d: %s", max(f.Line, 1), f.Message) }
