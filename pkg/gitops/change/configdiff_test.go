package change

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// describe writes changes of keys in short.
func describe(changes []ValueChange) string {
	var lines []string
	for _, c := range changes {
		if c.WholeFile {
			lines = append(lines, c.Action.Sign()+c.Key+": "+c.Action.String())
			continue
		}
		lines = append(lines, fmt.Sprintf("%s%s: %s -> %s", c.Action.Sign(), c.Key, c.Old, c.New))
	}
	return strings.Join(lines, "\n")
}

func configMap(data string) string {
	return "apiVersion: v1\ndata:\n" + data + "kind: ConfigMap\nmetadata:\n  name: platform-config\n  namespace: dev-edge-shop\n"
}

func TestKeyChanges(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for name, test := range map[string]struct {
		file, old, now string
		want           string // "?" if all that is known is that it changes
	}{
		"a value":          {"platform-config.yaml", configMap("  A: one\n  B: x\n"), configMap("  A: two\n  B: x\n"), "~A: one -> two"},
		"a new key":        {"platform-config.yaml", configMap("  B: x\n"), configMap("  A: \"5\"\n  B: x\n"), "+A:  -> 5"},
		"a key that goes":  {"platform-config.yaml", configMap("  A: '5'\n  B: x\n"), configMap("  B: x\n"), "-A: 5 -> "},
		"keys in between":  {"platform-config.yaml", configMap("  A: a\n  C: c\n  D: d\n"), configMap("  A: a\n  B: b\n  D: d\n"), "+B:  -> b\n-C: c -> "},
		"a renamed key":    {"platform-config.yaml", configMap("  A: a\n"), configMap("  B: a\n"), "-A: a -> \n+B:  -> a"},
		"an empty value":   {"platform-config.yaml", configMap("  A: \"\"\n"), configMap("  A: x\n"), "~A:  -> x"},
		"an escaped value": {"platform-config.yaml", configMap("  A: \"a\\tb\"\n"), configMap("  A: \"a\\tc\"\n"), "~A: a\tb -> a\tc"},
		"a quoted quote":   {"platform-config.yaml", configMap("  A: 'it''s'\n"), configMap("  A: 'it''s not'\n"), "~A: it's -> it's not"},
		"lines": {
			"platform-config.yaml", configMap("  A: |\n    one\n    two\n    three\n"), configMap("  A: |\n    one\n    2\n    three\n"), "~A: …two… -> …2…",
		},
		"a block that ends otherwise": {"platform-config.yaml", configMap("  A: |-\n    one\n"), configMap("  A: |\n    one\n"), "~A: one -> one\n"},
		"a block becomes a line":      {"platform-config.yaml", configMap("  A: |-\n    one\n    two\n"), configMap("  A: one\n"), "~A: one\ntwo -> one"},
		"two values that begin alike": {
			"platform-config.yaml", configMap("  A: " + long + "/old\n"), configMap("  A: " + long + "/new\n"), "~A: …xxxxxxxxxxx/old -> …xxxxxxxxxxx/new",
		},
		"the namespace":           {"platform-config.yaml", configMap(""), strings.ReplaceAll(configMap(""), "shop", "cart"), "~ConfigMap metadata.namespace: dev-edge-shop -> dev-edge-cart"},
		"a continued plain value": {"platform-config.yaml", configMap("  A: one\n    two\n"), configMap("  A: one\n    three\n"), "~A: one two -> one three"},
		"from nothing":            {"platform-config.yaml", "", configMap("  A: x\n"), "+A:  -> x"},
		"an object that is flat":  {"values.yaml", "a: 1\nb: {c: 2, d: 3}\n", "a: 1\nb: {c: 4}\n", "~b.c: 2 -> 4\n-b.d: 3 -> "},
		"a list":                  {"values.yaml", "a: [x, y]\n", "a: [x, z]\n", "~a: [x, y] -> [x, z]"},
		"its type alone":          {"values.yaml", "a: 5\n", "a: \"5\"\n", "~a: !!int 5 -> !!str 5"},
		"two documents":           {"reconciler.yaml", "kind: A\nx: 1\n---\nkind: B\nx: 1\n", "kind: A\nx: 1\n---\nkind: B\nx: 2\n", "~B x: 1 -> 2"},
		"two of a kind":           {"reconciler.yaml", "kind: A\nx: 1\n---\nkind: A\nx: 1\n", "kind: A\nx: 1\n---\nkind: A\nx: 2\n", "~A (2) x: 1 -> 2"},
		"a value turned an alias": {"values.yaml", "a: &x 1\nb: 1\n", "a: &x 1\nb: *x\n", "~b: 1 -> *x"},
		"a comment alone":         {"values.yaml", "a: 1\n", "a: 1 # one\n", "?"},
		"no YAML":                 {"values.yaml", "a: [\n", "a: 1\n", "?"},
		"a key twice":             {"values.yaml", "a: 1\na: 2\n", "a: 1\n", "?"},
		"a large file":            {"values.yaml", "a: 1\n", "a: " + strings.Repeat("x", maxParsed) + "\n", "?"},
		"another type of file":    {"notes.txt", "a: 1\n", "a: 2\n", "?"},

		"a variable":         {"platform-config.sh", "export A=\"1\"\nexport B=\"x\"\n", "export A=\"2\"\nexport B=\"x\"\n", "~A: 1 -> 2"},
		"escaped variables":  {"platform-config.sh", "export A=\"\\\"\\$x\\` \\\\ \\n\"\n", "export A=\"y\"\n", "~A: \"$x` \\ \\n -> y"},
		"lines of variables": {"platform-config.sh", "export A=\"one\ntwo\"\n", "export A=\"one\ntwo\"\nexport B=\"\"\n", "+B:  -> "},
		"no UTF-8":           {"platform-config.sh", "export A=\"" + strings.Repeat("\x80", 90) + "\"\n", "export A=\"" + strings.Repeat("\x80", 91) + "\"\n", "~A: … -> …"},
		"a script":           {"platform-config.sh", "A=1\n", "A=2\n", "?"},
		"an open quote":      {"platform-config.sh", "export A=\"1\n", "export A=\"1\"\n", "?"},
		"a command behind":   {"platform-config.sh", "export A=\"1\"; x\n", "export A=\"1\"\n", "?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes := newValueDiffer(nil).diff(test.file, []byte(test.old), []byte(test.now))
			if test.want == "?" {
				assert.Empty(t, changes)
				return
			}
			assert.Equal(t, test.want, describe(changes))
		})
	}
}

func TestLongValuesAreToldApart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	a := diffFiles(".yaml", "a: "+long+"1"+long+"\n", "a: 2\n")
	b := diffFiles(".yaml", "a: "+long+"3"+long+"\n", "a: 2\n")
	assert.Equal(t, describe(a), describe(b))
	assert.NotEqual(t, a, b)
	assert.Less(t, len(a[0].Old), 100)
}
