package change

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
)

// changedFiles is a change of one file in each of some targets on the cluster type "edge".
func changedFiles(file string, targets []string, text func(target string) (old, now string)) *Change {
	change := &Change{ClusterTypes: 1}
	slices.Sort(targets)
	for _, target := range targets {
		old, now := text(target)
		change.Targets = append(change.Targets, TargetChange{"edge", target, Changed, []string{file}})
		change.Files = append(change.Files, FileChange{"edge/" + target + "/" + file, Changed, []byte(old), content.New(now)})
	}
	return change
}

// found lists the groups: on how many targets, and what.
func found(change *Change) []string {
	var all []string
	groups, _ := change.Values(1000, nil)
	for _, group := range groups {
		all = append(all, fmt.Sprintf("%d: %s", len(group.Targets), describe(group.Changes)))
	}
	return all
}

func TestEqualChangesAreOne(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file     string
		old, now string // with %[1]s for the target
		want     []string
	}{
		"files that differ in their names": {
			render.ReconcilerFile, "kind: K\nname: %[1]s\nns: dev-edge-%[1]s\nprune: true\n", "kind: K\nname: %[1]s\nns: dev-edge-%[1]s\nprune: false\n",
			[]string{"3: ~K prune: true -> false"},
		},
		"values that hold the name": {
			render.ReconcilerFile, "kind: K\npath: ./%[1]s\n", "kind: K\npath: ./new/%[1]s\n",
			[]string{"1: ~K path: ./cart -> ./new/cart", "1: ~K path: ./kind -> ./new/kind", "1: ~K path: ./shop -> ./new/shop"},
		},
		"keys that are the name": {
			render.ReconcilerFile, "%[1]s: 1\n", "%[1]s: 2\n", []string{"1: -1 kind: 1 -> \n+2 kind:  -> 2", "1: ~cart: 1 -> 2", "1: ~shop: 1 -> 2"},
		},
		"the name as a kind": {
			render.ReconcilerFile, "kind: %[1]s\nx: 1\n", "kind: %[1]s\nx: 2\n", []string{"1: ~cart x: 1 -> 2", "1: ~kind x: 1 -> 2", "1: ~shop x: 1 -> 2"},
		},
		"the name as a key that says how to read the rest": {
			render.ReconcilerFile, "%[1]s: K\nx: 1\n", "%[1]s: K\nx: 2\n", []string{"2: ~x: 1 -> 2", "1: ~K x: 1 -> 2"},
		},
		"what does not parse": {
			render.NamespaceFile, "[%[1]s\n", "[\n", []string{"3: ~namespace.yaml: changed"},
		},
		"configurations": {
			render.ConfigFileYAML, configMap("  A: one\n  B: %[1]s\n  C: x\n"), configMap("  A: two\n  B: new-%[1]s\n"),
			[]string{"3: -C: x -> \n~A: one -> two", "1: ~B: cart -> new-cart", "1: ~B: kind -> new-kind", "1: ~B: shop -> new-shop"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := changedFiles(test.file, []string{"shop", "cart", "kind"}, func(target string) (string, string) {
				fill := func(format string) string {
					if !slices.Contains([]byte(format), '%') {
						return format
					}
					return fmt.Sprintf(format, target)
				}
				return fill(test.old), fill(test.now)
			})
			assert.Equal(t, test.want, found(change))
		})
	}
}

// TestKeysBeyondTheBoundsAreCounted: what is not kept is counted, and what is not parsed is a file that changes.
func TestKeysBeyondTheBoundsAreCounted(t *testing.T) {
	t.Parallel()
	var targets []string
	for i := range 10 {
		targets = append(targets, fmt.Sprintf("app-%d", i))
	}
	change := changedFiles(render.ReconcilerFile, targets, func(target string) (string, string) { return "x: 1\n", "x: " + target + "\n" })
	groups, dropped := change.Values(4, nil)
	assert.Len(t, groups, 4)
	assert.Equal(t, 6, dropped)

	differ := newValueDiffer(nil)
	differ.budget = 10
	changes := differ.changes(change.Files[0])
	assert.Equal(t, []ValueChange{{Key: render.ReconcilerFile, WholeFile: true, Action: Changed, sum: "file"}}, changes)
}
