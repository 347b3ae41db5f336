package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
)

// harvest is the sample fleet.
const harvest = "../../testdata/fleets/harvest"

// copyOfHarvest copies the sample fleet, file after file in the order given, each as change makes it.
func copyOfHarvest(t *testing.T, order func([]string), change func(name string, content []byte) []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var names []string
	require.NoError(t, fs.WalkDir(os.DirFS(harvest), "in", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	order(names)
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(harvest, name))
		require.NoError(t, err)
		to := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.WriteFile(to, change(name, content), 0o644))
	}
	return dir
}

func asTheyAre([]string) {}

func unchanged(_ string, content []byte) []byte { return content }

// rendered runs the program on a fleet in plain directories and returns the tree that it writes; wrap
// changes how it is run.
func rendered(t *testing.T, dir string, wrap func(*exec.Cmd)) map[string]string {
	t.Helper()
	tree, _ := renderedAndSaid(t, dir, wrap)
	return tree
}

// renderedAndSaid returns what the program prints, too.
func renderedAndSaid(t *testing.T, dir string, wrap func(*exec.Cmd)) (tree map[string]string, said string) {
	t.Helper()
	dir, err := filepath.Abs(dir)
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "out")
	cmd := ourProgram(t, append([]string{"render", "--env", "dev", "--output-dir", out}, fleetArgs(t, dir)...))
	wrap(cmd)
	got := finish(t, cmd)
	require.Equal(t, cli.ExitDone, got.code, got.stderr)
	return readTree(t, out), strings.ReplaceAll(got.stdout+got.stderr, out, "OUT")
}

func asItIs(*exec.Cmd) {}

// withEnv runs the program with variables on top.
func withEnv(variables ...string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, variables...) }
}

// inShell runs shell commands before the program, in its process.
func inShell(commands string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		shell := exec.Command("sh", append([]string{"-c", commands + `; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)...)
		cmd.Path, cmd.Args = shell.Path, shell.Args
	}
}

// TestR17DeterministicBytes compiles the sample fleet in circumstances that must not matter.
func TestR17DeterministicBytes(t *testing.T) {
	t.Parallel()
	want := readTree(t, filepath.Join(harvest, "want", "dev"))
	_, wantSaid := renderedAndSaid(t, harvest, asItIs)
	for name, wrap := range map[string]func(*exec.Cmd){
		"once more":         asItIs,
		"time zone":         withEnv("TZ=Pacific/Kiritimati"),
		"no time zone":      withEnv("TZ=Nowhere/Nothing"),
		"Turkish":           withEnv("LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "LANGUAGE=tr"),
		"C":                 withEnv("LANG=C", "LC_ALL=C"),
		"one processor":     withEnv("GOMAXPROCS=1"),
		"64 processors":     withEnv("GOMAXPROCS=64"),
		"open umask":        inShell("umask 000"),
		"closed umask":      inShell("umask 077"),
		"little memory":     withEnv("GOMEMLIMIT=64MiB", "GOGC=10"),
		"another directory": func(cmd *exec.Cmd) { cmd.Dir = t.TempDir() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, said := renderedAndSaid(t, harvest, wrap)
			assertSameFiles(t, want, tree)
			assert.Equal(t, wantSaid, said)
		})
	}
	t.Run("files made in another order", func(t *testing.T) {
		t.Parallel()
		assertSameFiles(t, want, rendered(t, copyOfHarvest(t, slices.Reverse[[]string], unchanged), asItIs))
	})
	t.Run("CRLF and a byte order mark", func(t *testing.T) {
		t.Parallel()
		windows := copyOfHarvest(t, asTheyAre, func(name string, content []byte) []byte {
			content = bytes.ReplaceAll(content, []byte("\n"), []byte("\r\n"))
			switch {
			case path.Base(name) == "replace.txt":
				return bytes.ReplaceAll(content, []byte("\r"), nil) // not the program's
			case isManifestName(name):
				return append([]byte("\ufeff"), content...)
			}
			return content
		})
		assertSameFiles(t, want, rendered(t, windows, asItIs))
	})
}

func isManifestName(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// TestR18NothingOfTheMachine compiles the sample fleet in a hostile environment, and with files from
// long ago and far ahead.
func TestR18NothingOfTheMachine(t *testing.T) {
	t.Parallel()
	want := readTree(t, filepath.Join(harvest, "want", "dev"))
	var poison []string
	for _, name := range []string{
		"USER", "LOGNAME", "HOSTNAME", "HOST", "PWD", "OLDPWD", "SHELL", "LANG", "LC_ALL", "TZ", "ZONEINFO", "TERM", "TMPDIR",
		"SOURCE_DATE_EPOCH", "KUBECONFIG", "NAMESPACE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "EDITOR", "PAGER",
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_GLOBAL", "GIT_AUTHOR_DATE",
		"GITHUB_SHA", "GITHUB_REF", "GITHUB_REF_NAME", "GITHUB_WORKSPACE", "GITHUB_TOKEN", "GH_TOKEN", "CI", "NETRC",
		"REGION", "REPLICAS", "LOG_LEVEL", "Environment", "ConfigData",
	} {
		poison = append(poison, name+"=poison-{{ .Environment }}")
	}
	poison = append(poison, "HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "ALL_PROXY=http://127.0.0.1:1")
	assertSameFiles(t, want, rendered(t, harvest, withEnv(poison...)))

	for _, year := range []int{1970, 2200} {
		dir := copyOfHarvest(t, asTheyAre, unchanged)
		when := time.Date(year, time.January, 19, 3, 14, 8, 0, time.UTC)
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			require.NoError(t, err)
			return os.Chtimes(path, when, when)
		}))
		assertSameFiles(t, want, rendered(t, dir, asItIs), year)
	}
}

// TestR20OrderIndependence shuffles the sample fleet: the keys of all maps, labels among them; the
// documents of a file; which file of a directory they stand in; the order on the command line.
func TestR20OrderIndependence(t *testing.T) {
	t.Parallel()
	want := readTree(t, filepath.Join(harvest, "want", "dev"))
	for seed := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, 20))
		dir := copyOfHarvest(t, asTheyAre, func(name string, content []byte) []byte {
			if !isManifestName(name) {
				return content
			}
			return shuffledYAML(t, content, random)
		})
		renameManifests(t, dir, random)
		assertSameFiles(t, want, rendered(t, dir, func(cmd *exec.Cmd) {
			replacements := cmd.Args[len(cmd.Args)-14:] // seven pairs, none of which covers another
			require.Equal(t, "--replace", replacements[0])
			random.Shuffle(7, func(i, j int) {
				replacements[2*i+1], replacements[2*j+1] = replacements[2*j+1], replacements[2*i+1]
			})
		}), "seed %d", seed)
	}
}

// shuffledYAML puts the documents of a file and the keys of all maps in another order.
func shuffledYAML(t *testing.T, content []byte, random *rand.Rand) []byte {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var documents []*yaml.Node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		shuffleKeys(&document, random)
		documents = append(documents, &document)
	}
	random.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	for _, document := range documents {
		require.NoError(t, encoder.Encode(document))
	}
	require.NoError(t, encoder.Close())
	return b.Bytes()
}

func shuffleKeys(node *yaml.Node, random *rand.Rand) {
	node.HeadComment, node.LineComment, node.FootComment = "", "", ""
	if pairs := node.Content; node.Kind == yaml.MappingNode {
		random.Shuffle(len(pairs)/2, func(i, j int) {
			pairs[2*i], pairs[2*j] = pairs[2*j], pairs[2*i]
			pairs[2*i+1], pairs[2*j+1] = pairs[2*j+1], pairs[2*i+1]
		})
	}
	for _, child := range node.Content {
		shuffleKeys(child, random)
	}
}

// renameManifests gives the files of the control plane names in another order.
func renameManifests(t *testing.T, dir string, random *rand.Rand) {
	t.Helper()
	for _, branch := range []string{"dev", "main/templates", "main/configs"} {
		var files []string
		require.NoError(t, filepath.WalkDir(filepath.Join(dir, "in", "control-plane", branch), func(path string, entry fs.DirEntry, err error) error {
			if !entry.IsDir() && isManifestName(path) && entry.Name() != "arc-flux-next.draft.yaml" { // which .sourceignore names
				files = append(files, path)
			}
			return err
		}))
		require.NotEmpty(t, files)
		for _, file := range files {
			require.NoError(t, os.Rename(file, filepath.Join(filepath.Dir(file), string(rune('a'+random.IntN(26)))+"-"+filepath.Base(file))))
		}
	}
}

// TestR21Locality changes one workload: nothing changes but the directories of its own targets.
func TestR21Locality(t *testing.T) {
	t.Parallel()
	before := readTree(t, filepath.Join(harvest, "want", "dev"))
	dir := copyOfHarvest(t, asTheyAre, func(name string, content []byte) []byte {
		if name != "in/supply-chain/workload/replenishment.yaml" {
			return content
		}
		changed := bytes.ReplaceAll(content, []byte("branch: "), []byte("branch: changed-"))
		require.NotEqual(t, content, changed)
		return changed
	})
	after := rendered(t, dir, asItIs)
	changes := 0
	for name, content := range after {
		if before[name] == content {
			continue
		}
		changes++
		target := path.Base(path.Dir(name))
		assert.True(t, strings.HasPrefix(target, "replenishment-"), name)
	}
	assert.Positive(t, changes)
	for name := range before {
		assert.Contains(t, after, name)
	}
}
