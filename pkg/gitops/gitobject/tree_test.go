package gitobject

import (
	"bytes"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rawTree writes a tree object from "mode name" lines, all with the same id.
func rawTree(entries ...string) []byte {
	var b bytes.Buffer
	for _, entry := range entries {
		id := blobID("x")
		b.WriteString(entry + "\x00")
		b.Write(id[:])
	}
	return b.Bytes()
}

func TestS4TreeNames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		entries []string
		want    string
	}{
		{"dot dot", []string{"100644 .."}, `the name ".."`},
		{"dot", []string{"40000 ."}, `the name "."`},
		{"empty", []string{"100644 "}, `the name ""`},
		{"slash", []string{"100644 a/b"}, `the name "a/b"`},
		{"absolute", []string{"100644 /etc/passwd"}, `the name "/etc/passwd"`},
		{"climbing", []string{"100644 ../../x"}, `the name "../../x"`},
		{"git", []string{"40000 .git"}, `the name ".git"`},
		{"git in capitals", []string{"40000 .GIT"}, `the name ".GIT"`},
		{"duplicate", []string{"100644 a", "100644 a"}, `two entries "a"`},
		{"file and directory", []string{"100644 a", "100644 b", "40000 a"}, `two entries "a"`},
		{"setuid", []string{"104755 a"}, `the mode "104755"`},
		{"device", []string{"60000 a"}, `the mode "60000"`},
		{"no mode", []string{" a"}, `the mode ""`},
		{"escape sequence", []string{"100644 \x1b[31m/"}, `the name "[31m/"`},
	} {
		_, err := parseTree(rawTree(tc.entries...))
		require.ErrorContains(t, err, tc.want, tc.name)
	}
	_, err := parseTree(rawTree("100644 a")[:15])
	require.ErrorContains(t, err, "cut off")
	_, err = parseTree([]byte("100644"))
	require.ErrorContains(t, err, "cut off")
}

func TestTreeEntries(t *testing.T) {
	t.Parallel()
	entries, err := parseTree(rawTree("100644 a.b", "40000 a", "100755 run", "100664 old", "120000 link", "160000 sub", "040000 z", "100644 \xff"))
	require.NoError(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name+" "+e.fileMode().String())
	}
	assert.Equal(t, []string{
		"a d---------", "a.b ----------", "link L---------", "old ----------", "run ----------",
		"sub ?---------", "z d---------", "\xff ?---------",
	}, got)
}

func TestNeededFiles(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{}
	for _, name := range []string{
		"a.yaml", "a.yml", "a.json", "a.YAML", ".hidden.yaml", ".sourceignore", "x/.sourceignore", "x/b.yaml", "x/y/c.yml",
		"x/.github/d.yaml", "x/.environments/e.yaml", ".environments/dev.yaml", "other/f.yaml",
	} {
		fsys[name] = &fstest.MapFile{Data: []byte("x")}
	}
	for root, want := range map[string][]string{
		".": {
			".environments/dev.yaml", ".hidden.yaml", ".sourceignore", "a.yaml", "a.yml", "other/f.yaml",
			"x/.environments/e.yaml", "x/.sourceignore", "x/b.yaml", "x/y/c.yml",
		},
		"x/y":      {"x/.sourceignore", ".sourceignore", "x/y/c.yml"},
		"x/b.yaml": {"x/.sourceignore", ".sourceignore", "x/b.yaml"},
		"a.json":   {".sourceignore", "a.json"},
	} {
		got, err := NeededFiles(fsys, root)
		require.NoError(t, err)
		assert.ElementsMatch(t, want, got, root)
	}
}
