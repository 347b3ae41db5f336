package verify

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestR29CheckYAML: what a cluster would not take, or would take in another way than some reader, is not published.
func TestR29CheckYAML(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n": "",
		"- hosts: all\n": "",
		"":               "",
		"apiVersion: v1\nkind: ConfigMapList\nitems: []\n": "",
		"apiVersion: v1\nmetadata: {name: a}\n":            "no kind",
		"apiVersion: v1\nkind: Namespace\n":                "Namespace has no metadata.name",
		"a: 1\n---\nb: 1\nb: 2\n":                          `line 4: key "b" is duplicated`,
		"a: {b: {c: 1, c: 2}}":                             `key "c" is duplicated`,
		"a: [":                                             "not valid YAML",
		"a: *nowhere":                                      "not valid YAML",
		"base: &b {x: 1}\nderived: {<<: *b, y: 2}\n":       "",
	} {
		err := Check(content)
		if want == "" {
			assert.NoError(t, err, content)
		} else {
			assert.ErrorContains(t, err, want, content)
		}
	}
}
