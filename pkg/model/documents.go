package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// document is one YAML document of a file. The nodes' lines count from the top of the file.
type document struct {
	file *diag.File
	root *yaml.Node
	// lines are the lines of the whole file, for what a node does not tell (see Block).
	lines []string
}

func (d *document) place(n *yaml.Node) diag.Place {
	return diag.Place{File: d.file, Line: n.Line, Column: n.Column}
}

// separator ends a document. It takes the line break before it along: this is how kustomize, and
// with it every fleet that the operator ran, splits files, and it decides whether a literal block
// at the end of a document has a final newline.
// https://github.com/kubernetes-sigs/kustomize/blob/master/kyaml/kio/byteio_reader.go
var separator = regexp.MustCompile(`\n---[^\n]*\n`)

// documents splits a file into its documents. Empty ones are left out.
func documents(file *diag.File, content []byte, limits Limits) ([]document, diag.List) {
	var diags diag.List
	text, ok := readableText(file, content, &diags)
	if !ok {
		return nil, diags
	}
	lines := strings.Split(text, "\n")
	var docs []document
	for _, chunk := range split(text) {
		for _, root := range parseChunk(file, chunk, limits.Documents-len(docs), &diags) {
			docs = append(docs, document{file: file, root: root, lines: lines})
		}
		if limits.Documents > 0 && len(docs) > limits.Documents {
			diags.Error("too-many-documents", diag.Place{File: file},
				fmt.Sprintf("the file holds more than %d documents", limits.Documents))
			return nil, diags
		}
	}
	return docs, diags
}

// readableText checks the encoding and removes what editors on other systems leave behind: a byte
// order mark and carriage returns.
func readableText(file *diag.File, content []byte, diags *diag.List) (string, bool) {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	if i := bytes.IndexByte(content, 0); i >= 0 {
		diags.Error("not-text", placeAt(file, content, i), "the file holds a NUL byte, so it is no YAML",
			diag.Hint("save it as UTF-8 text"))
		return "", false
	}
	if !utf8.Valid(content) {
		diags.Error("not-text", placeAt(file, content, invalidAt(content)), "the file is not valid UTF-8",
			diag.Hint("save it as UTF-8 text"))
		return "", false
	}
	return strings.ReplaceAll(string(content), "\r\n", "\n"), true
}

func invalidAt(content []byte) int {
	for i := 0; i < len(content); {
		r, size := utf8.DecodeRune(content[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(content)
}

func placeAt(file *diag.File, content []byte, offset int) diag.Place {
	before := content[:offset]
	return diag.Place{
		File: file, Line: 1 + bytes.Count(before, []byte("\n")), Column: offset - bytes.LastIndexByte(before, '\n'),
	}
}

// chunk is the text between two separators and how many lines stand before it.
type chunk struct {
	text       string
	lineOffset int
}

func split(text string) []chunk {
	var chunks []chunk
	line, start := 0, 0
	for start <= len(text) {
		// The separator needs a line break before it, which may be the end of the one before.
		found := separator.FindStringIndex(text[start:])
		if found == nil {
			return append(chunks, chunk{text[start:], line})
		}
		end, next := start+found[0], start+found[1]
		chunks = append(chunks, chunk{text[start:end], line})
		line += strings.Count(text[start:next], "\n")
		start = next
	}
	return chunks
}

// parseChunk parses what is almost always one document ("..." or a leading "---" may still
// separate some), at most limit of them and one more.
func parseChunk(file *diag.File, c chunk, limit int, diags *diag.List) []*yaml.Node {
	if strings.TrimSpace(c.text) == "" {
		return nil
	}
	var roots []*yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(c.text))
	for limit < 0 || len(roots) <= limit {
		var node yaml.Node
		err := decodeNode(decoder, &node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			diags.Error("invalid-yaml", yamlErrorPlace(file, c, err), "invalid YAML: "+yamlErrorText(err))
			break
		}
		if len(node.Content) == 1 && !isNull(node.Content[0]) {
			shift(node.Content[0], c.lineOffset)
			roots = append(roots, node.Content[0])
		}
	}
	return roots
}

// decodeNode keeps a panic of the YAML library, of which there have been some, from ending the run.
func decodeNode(decoder *yaml.Decoder, node *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return decoder.Decode(node)
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// shift moves the lines of a node and all below it. Aliases point to nodes that are moved where
// they stand.
func shift(n *yaml.Node, lines int) {
	if lines == 0 {
		return
	}
	n.Line += lines
	for _, child := range n.Content {
		shift(child, lines)
	}
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s+)?line (\d+): `)

// yamlErrorPlace reads the line from the library's message. A scanner error has none if it is in
// the first line.
func yamlErrorPlace(file *diag.File, c chunk, err error) diag.Place {
	line := 1
	if match := yamlLine.FindStringSubmatch(err.Error()); match != nil {
		line, _ = strconv.Atoi(match[1])
	}
	return diag.Place{File: file, Line: line + c.lineOffset}
}

func yamlErrorText(err error) string {
	text := yamlLine.ReplaceAllString(err.Error(), "")
	text = strings.TrimPrefix(text, "yaml: ")
	return strings.Join(strings.Fields(text), " ")
}
