package change

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	target := []string{"edge/" + gitopstest.Readme, "edge/a/namespace.yaml=n", "edge/a/reconciler.yaml=r"}
	tests := map[string]struct {
		old, new []string
		plan     string
		files    string
	}{
		"nothing published": {
			nil, target, "1 target on 1 cluster type, 1 assignment: +1 ~0 -0",
			"+edge/README.md +edge/a/namespace.yaml +edge/a/reconciler.yaml",
		},
		"no difference": {target, target, "1 target on 1 cluster type, 1 assignment: +0 ~0 -0", ""},
		"a changed file": {
			target,
			[]string{"edge/" + gitopstest.Readme, "edge/a/namespace.yaml=n", "edge/a/reconciler.yaml=other"},
			"1 target on 1 cluster type, 1 assignment: +0 ~1 -0", "~edge/a/reconciler.yaml",
		},
		"a target goes": {
			append(target, "edge/b/namespace.yaml=n", "edge/b/reconciler.yaml=r", "edge/b/notes/x.md=x"), target,
			"1 target on 1 cluster type, 1 assignment: +0 ~0 -1", "-edge/b/namespace.yaml -edge/b/notes/x.md -edge/b/reconciler.yaml",
		},
		"a cluster type goes, but not what people put there": {
			append(target, "gone/"+gitopstest.Readme, "gone/b/namespace.yaml=n", "gone/b/reconciler.yaml=r", "gone/notes.md=x", "gone/docs/x.md=x"), target,
			"1 target on 1 cluster type, 1 assignment: +0 ~0 -1", "-gone/README.md -gone/b/namespace.yaml -gone/b/reconciler.yaml",
		},
		"directories of people stay": {
			append(target, "docs/x.md=x", "docs/README.md=ours?", "LICENSE=x", ".github/workflows/x.yaml=x"), target,
			"1 target on 1 cluster type, 1 assignment: +0 ~0 -0", "",
		},
		"a README with one line more is not ours to remove": {
			append(target, "gone/README.md="+render.Readme+"\n", "gone/b/namespace.yaml=n", "gone/b/reconciler.yaml=r"), target,
			"1 target on 1 cluster type, 1 assignment: +0 ~0 -0", "",
		},
		"a directory without namespace.yaml is no target": {
			append(target, "edge/c/reconciler.yaml=r"), target, "1 target on 1 cluster type, 1 assignment: +0 ~0 -0", "",
		},
		"leftovers alone are no change": {
			append(target, "edge/a/config.yaml=old", "edge/a/deep/x=old"), target, "1 target on 1 cluster type, 1 assignment: +0 ~0 -0", "",
		},
		"leftovers go with a real change": {
			append(target, "edge/a/config.yaml=old"),
			[]string{"edge/" + gitopstest.Readme, "edge/a/namespace.yaml=other", "edge/a/reconciler.yaml=r"},
			"1 target on 1 cluster type, 1 assignment: +0 ~1 -0", "-edge/a/config.yaml ~edge/a/namespace.yaml",
		},
		"the last configuration value goes": {
			append(target, "edge/a/platform-config.yaml=c"), target,
			"1 target on 1 cluster type, 1 assignment: +0 ~1 -0", "-edge/a/platform-config.yaml",
		},
		"a configuration of another type is a leftover": {
			append(target, "edge/a/platform-config.sh=c", "edge/a/platform-config.yaml=old"), append(target, "edge/a/platform-config.sh=c"),
			"1 target on 1 cluster type, 1 assignment: +0 ~0 -0", "",
		},
		"a README that differs is written anew": {
			[]string{"edge/README.md=" + render.Readme + "\n", "edge/a/namespace.yaml=n", "edge/a/reconciler.yaml=r"},
			target,
			"1 target on 1 cluster type, 1 assignment: +1 ~0 -0", "~edge/README.md",
		},
		"the tracking file is never removed": {
			append(target, render.TrackingFile+"=abc"), target, "1 target on 1 cluster type, 1 assignment: +0 ~0 -0", "",
		},
		"the tracking file alone changes no target": {
			append(target, render.TrackingFile+"=abc"), append(target, render.TrackingFile+"=def"),
			"1 target on 1 cluster type, 1 assignment: +0 ~0 -0", "~" + render.TrackingFile,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var old fs.FS
			if test.old != nil {
				old = gitopstest.Published(test.old...)
			}
			change, err := Compare(t.Context(), old, gitopstest.Tree(test.new...))
			require.NoError(t, err)
			var files []string
			for _, f := range change.Files {
				files = append(files, f.Action.Sign()+f.Path)
			}
			assert.Equal(t, test.plan, change.Plan().String())
			assert.Equal(t, test.files, strings.Join(files, " "))
		})
	}
}

// TestComparePartial removes nothing that a partial output does not have, but for what is in the folders
// that it has.
func TestComparePartial(t *testing.T) {
	t.Parallel()
	files := []string{"edge/" + gitopstest.Readme, "gone/" + gitopstest.Readme, "edge/a/platform-config.yaml=a: 1\n"}
	for _, folder := range []string{"edge/a", "edge/b", "gone/c"} {
		files = append(files, folder+"/namespace.yaml=n", folder+"/reconciler.yaml=r")
	}
	wanted := gitopstest.Tree("edge/a/namespace.yaml=n", "edge/a/reconciler.yaml=r", "edge/"+gitopstest.Readme)
	wanted.Partial = true
	diff, err := Compare(t.Context(), gitopstest.Published(files...), wanted)
	require.NoError(t, err)
	assert.Equal(t, "3 targets on 2 cluster types, 3 assignments: +0 ~1 -0", diff.Plan().String())
	require.Len(t, diff.Files, 1)
	assert.Equal(t, "edge/a/"+render.ConfigFileYAML, diff.Files[0].Path)
	assert.Equal(t, Removed, diff.Files[0].Action)
}
