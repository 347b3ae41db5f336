package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// docBlock is a fenced block of a document.
type docBlock struct {
	// file is slash-separated, below the root of the repository; line is that of the first line of the text.
	file string
	line int
	lang string
	// indent is what stands before each line of a block within a list. The text has none of it.
	indent, text string
}

func (b docBlock) at() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// docFence begins or ends a block.
var docFence = regexp.MustCompile("^( *)(```+)(.*)$")

// blocksOf returns the fenced blocks of a document.
func blocksOf(file, text string) ([]docBlock, error) {
	var blocks []docBlock
	var open *docBlock
	fence := ""
	number := 0
	for line := range strings.Lines(text) {
		number++
		match := docFence.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case open == nil && match != nil:
			open, fence = &docBlock{file: file, line: number + 1, lang: match[3], indent: match[1]}, match[2]
		case open != nil && match != nil && match[2] == fence && match[3] == "":
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(line, open.indent)
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the block does not end", open.at())
	}
	return blocks, nil
}

// docFiles are the documents whose blocks are checked, below the root of the repository.
func docFiles(t *testing.T) []string {
	t.Helper()
	files := []string{}
	root := os.DirFS("../..")
	require.NoError(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if name != "." && name != "docs" && !strings.HasPrefix(name, "docs/") {
				return fs.SkipDir
			}
		case filepath.Ext(name) == ".md":
			files = append(files, name)
		}
		return nil
	}))
	return files
}

// readBlocks returns the blocks of all documents.
func readBlocks(t *testing.T) []docBlock {
	t.Helper()
	var all []docBlock
	for _, file := range docFiles(t) {
		text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(file)))
		require.NoError(t, err)
		blocks, err := blocksOf(file, string(text))
		require.NoError(t, err)
		all = append(all, blocks...)
	}
	return all
}

// checkBlock says what is wrong with a block. Sessions are checked for how they are written; TestDocSessions runs them.
func checkBlock(b docBlock) error {
	switch b.lang {
	case "console":
		_, err := sessionOf(b)
		return err
	case "sh":
		return checkShell(b.text)
	case "yaml":
		return checkYAML(b.text)
	case "json":
		return checkJSON(b.text)
	case "text", "mermaid", "diff":
		if i := strings.Index("\n"+b.text, "\n$ "); i >= 0 {
			return errors.New("it has a command: make it a console block, which is run")
		}
		return nil
	case "":
		return errors.New("it has no language, so nothing checks it: text, if nothing can")
	}
	return fmt.Errorf("nothing checks blocks of %s", b.lang)
}

func checkJSON(text string) error {
	var value any
	decoder := json.NewDecoder(strings.NewReader(text))
	for decoder.More() {
		if err := decoder.Decode(&value); err != nil {
			return err
		}
	}
	return nil
}

// TestDocBlocks compiles every fenced block of the documentation.
func TestDocBlocks(t *testing.T) {
	t.Parallel()
	blocks := readBlocks(t)
	require.Greater(t, len(blocks), 100)
	for _, b := range blocks {
		assert.NoError(t, checkBlock(b), b.at())
	}
}

// TestDocWorkflows compiles the workflows that people copy, as blocks of YAML are.
func TestDocWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(docsFolder, "workflows", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NoError(t, checkYAML(string(text)), file)
	}
}

// TestDocBlocksRefused shows what each of the checks finds.
func TestDocBlocksRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ lang, text, want string }{
		{"", "kalypso render\n", "it has no language"},
		{"toml", "a = 1\n", "nothing checks blocks of toml"},
		{"text", "kalypso says:\n$ kalypso render\n", "it has a command"},
		{"json", `{"a": }`, "invalid character '}'"},
		{"json", `{"a": 1`, "unexpected EOF"},

		{"console", "kalypso version\n", "does not begin with a command"},
		{"console", "", "does not begin with a command"},
		{"console", "$ kalypso version \\\n", "the command does not end"},

		{"sh", "kalypso render --env dev |\n", "must be followed by a statement"},
		{"sh", "kalypso rander --env dev\n", `unknown command "rander"`},
		{"sh", "if true; then ./kalypso render --enw dev; fi\n", "unknown flag: --enw"},
		{"sh", "ENV=dev kalypso render --timeout soon\n", `invalid argument "soon"`},
		{"sh", "echo $(kalypso version --short)\n", "unknown flag: --short"},
		{"sh", "kalypso explain target\n", "missing argument NAME"},
		{"sh", "kalypso explain nobody\n", `unknown rule or command "nobody"`},
		{"sh", "kalypso version # and\nkalypso version 1.0\n", "version"},
		{"sh", "make everything\n", "make has no target everything"},
		{"sh", "go test ./pkg/nothing\n", "./pkg/nothing has no tests"},
		{"sh", "go test ./pkg/diag -run TestAssign/order\n", "there is no test TestAssign"},
		{"sh", "go test ./pkg/schedule -run TestAssign/order\n", ""},

		{"yaml", "a: [1\n", "did not find expected"},
		{"yaml", "a: 1\nb: {c: 1, c: 2}\n", "already defined"},
		{"yaml", "a: 1\na: 2\n", "already defined"},
		{"yaml", ours("ClusterType", "metadata: {name: a}\nspec: {reconciler: a, namespaceServize: b}"), `unknown field "namespaceServize"`},
		{"yaml", "a: 1\n---\n" + ours("Environment", "metadata: {name: a}\nspec: {}"), "controlPlane"},
		{"yaml", ours("Workload", "metadata: {name: a}\nspec: {deploymentTargets: [{name: b}]}"), "environment"},
		{"yaml", ours("Clustertype", "metadata: {name: a}"), `unknown kind "Clustertype"`},
		{"yaml", "kind: Template\nmetadata: {name: a}\n", "has no apiVersion"},
		{"yaml", "- uses: kalypso-gitops/kalypso@COMMIT\n  with: {enviroment: dev}\n", "the action has no input enviroment"},
		{"yaml", "- uses: kalypso-gitops/kalypso@COMMIT\n  with: {command: validate, args: --env=dev}\n", ""},
		{"yaml", "- uses: kalypso-gitops/kalypso@COMMIT\n  with: {command: validate, args: --dry-run}\n", "unknown flag: --dry-run"},
		{"yaml", "- uses: kalypso-gitops/kalypso@COMMIT\n  with: {command: validate, args: \"${{ inputs.how }}\\n--envs\"}\n", "unknown flag: --envs"},
		{"yaml", "- uses: kalypso-gitops/kalypso@v1\n", "in place of COMMIT"},
		{"yaml", "- uses: actions/checkout@v5\n", "not pinned"},
		{"yaml", "- run: kalypso rendar\n", `unknown command "rendar"`},
		{"yaml", "- run: echo ${{ github.actor }}\n", "an expression in its script"},
		{"yaml", "jobs: {a: {steps: [{run: kalypso render}]}}\n", "no permissions"},
		{"yaml", "permissions: {}\njobs: {a: {steps: [{uses: actions/checkout@v5}]}}\n", "not pinned"},
	} {
		err := checkBlock(docBlock{file: "a.md", line: 2, lang: test.lang, text: test.text})
		if test.want == "" {
			assert.NoError(t, err, test.text)
		} else {
			assert.ErrorContains(t, err, test.want, test.text)
		}
	}
}

// ours is an object of one of our kinds.
func ours(kind, rest string) string {
	return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: " + kind + "\n" + rest + "\n"
}

func TestDocBlocksAreFound(t *testing.T) {
	t.Parallel()
	blocks, err := blocksOf("a.md", "# A\n```sh\nmake\n```\n\n1. Do\n\n   ```yaml\n   a:\n     b: 1\n   ```\n````text\n```\n````\n")
	require.NoError(t, err)
	assert.Equal(t, []docBlock{
		{"a.md", 3, "sh", "", "make\n"},
		{"a.md", 9, "yaml", "   ", "a:\n  b: 1\n"},
		{"a.md", 13, "text", "", "```\n"},
	}, blocks)
	_, err = blocksOf("a.md", "```sh\nmake\n")
	assert.EqualError(t, err, "a.md:2: the block does not end")
}

// TestCommandExamples compiles the examples that commands show in their help.
func TestCommandExamples(t *testing.T) {
	t.Parallel()
	root := newRoot(&cli.Host{IO: term.IO{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Env: func(string) string { return "" }, WorkingDir: os.Getwd}})
	found := 0
	commands := root.Commands()
	for len(commands) > 0 {
		cmd := commands[0]
		commands = append(commands[1:], cmd.Commands()...)
		if cmd.Example != "" {
			found++
			require.NoError(t, checkShell(cmd.Example), cmd.CommandPath())
		}
	}
	assert.Greater(t, found, 5)
}
