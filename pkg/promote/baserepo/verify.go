package baserepo

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// verifyCommit checks that a file was changed in nothing but the commit of the BaseRepo at a place, which is the one
// given now. It trusts nothing of what made the change.
func verifyCommit(before, after []byte, at diag.Place, commit string) error {
	if err := verifyModel(readBases(before), readBases(after), at, commit); err != nil {
		return err
	}
	was, is := chunks(before), chunks(after)
	held := holding(was, at.Line)
	if bytes.HasPrefix(before, []byte(byteOrderMark)) != bytes.HasPrefix(after, []byte(byteOrderMark)) || !sameChunks(was, is, held) {
		return errors.New("other documents of the file would change as well")
	}
	return verifyChunk(was[held], is[held], at)
}

// verifyModel compares what the model reads.
func verifyModel(was, is reading, at diag.Place, commit string) error {
	target := baseRepoAt(is, at)
	switch {
	case target == nil || len(was.bases) != len(is.bases) || is.errors > was.errors:
		return errors.New("the file could not be read any more")
	case target.Broken:
		return errors.New("the BaseRepo has errors, which are to be mended first")
	case target.Commit.Value != commit:
		return errors.New("the commit would not be read as it is written")
	}
	for i, base := range is.bases {
		if base != target && base.Commit.Value != was.bases[i].Commit.Value {
			return fmt.Errorf("the commit of BaseRepo %q would change as well", base.Name.Value)
		}
	}
	return nil
}

// sameChunks compares all chunks but one byte by byte.
func sameChunks(a, b []chunk, but int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].separator != b[i].separator || i != but && a[i].text != b[i].text {
			return false
		}
	}
	return true
}

// verifyChunk compares the documents of the chunk in which the BaseRepo is, value by value.
func verifyChunk(was, is chunk, at diag.Place) error {
	d := &baseDocument{chunk: was, starts: lineStarts(was.text)}
	before, err := was.roots()
	if err != nil {
		return err
	}
	after, err := is.roots()
	if err != nil {
		return err
	}
	if len(before) != len(after) {
		return errors.New("the file would hold another number of documents")
	}
	if alias := sharedBy(after); alias != nil {
		return fmt.Errorf("the alias *%s stands for the commit, or for what it is in, so that more than the commit would change", alias.Value)
	}
	for i := range before {
		a, b := before[i], after[i]
		if samePlace(d.place(a), at) {
			if !sameKeys(a, b) {
				return errors.New("the fields of the BaseRepo would change their order")
			}
			a, b = withoutCommit(a), withoutCommit(b)
		}
		if !sameTree(a, b) {
			return errors.New("more than the commit would change")
		}
	}
	if !slices.Equal(comments(was.text), comments(is.text)) {
		return errors.New("comments would get lost")
	}
	return nil
}

// sameKeys reports whether spec has the keys that it had, in their order, with the commit last if it is new.
func sameKeys(before, after *yaml.Node) bool {
	was, is := specKeys(before), specKeys(after)
	if !slices.Contains(was, "commit") {
		was = append(was, "commit")
	}
	return slices.Equal(was, is)
}

func specKeys(root *yaml.Node) []string {
	spec, _ := fieldOf(root, "spec")
	var keys []string
	for i := 0; spec.value != nil && i+1 < len(spec.value.Content); i += 2 {
		keys = append(keys, aliased(spec.value.Content[i]).Value)
	}
	return keys
}

// withoutCommit returns a document without its spec.commit; the document itself stays as it is.
func withoutCommit(root *yaml.Node) *yaml.Node {
	spec, ok := fieldOf(root, "spec")
	if !ok || spec.value.Kind != yaml.MappingNode {
		return root
	}
	commit, ok := fieldOf(spec.value, "commit")
	if !ok || aliased(commit.value).Kind != yaml.ScalarNode {
		return root
	}
	shorter, without := *root, *spec.value
	without.Content = slices.DeleteFunc(slices.Clone(without.Content), func(n *yaml.Node) bool { return n == commit.key || n == commit.value })
	shorter.Content = slices.Clone(root.Content)
	shorter.Content[slices.Index(shorter.Content, spec.value)] = &without
	return &shorter
}

// sharedBy returns an alias that stands for the spec of a BaseRepo or for its commit, or nil.
func sharedBy(roots []*yaml.Node) *yaml.Node {
	shared := map[*yaml.Node]bool{}
	for _, root := range roots {
		if spec, ok := fieldOf(root, "spec"); ok && isBaseRepo(root) {
			shared[spec.value] = true
			commit, _ := fieldOf(spec.value, "commit")
			shared[commit.key], shared[commit.value] = true, true
		}
	}
	var found *yaml.Node
	for _, root := range roots {
		eachNode(root, func(n *yaml.Node) {
			if n.Kind == yaml.AliasNode && shared[n.Alias] {
				found = n
			}
		})
	}
	return found
}

// isBaseRepo tells the document of a BaseRepo.
func isBaseRepo(root *yaml.Node) bool {
	version, _ := fieldOf(root, "apiVersion")
	kind, _ := fieldOf(root, "kind")
	return version.value != nil && kind.value != nil &&
		aliased(version.value).Value == model.APIVersion && aliased(kind.value).Value == "BaseRepo"
}

// eachNode visits a node and all below it. Aliases are not followed.
func eachNode(n *yaml.Node, visit func(*yaml.Node)) {
	visit(n)
	for _, child := range n.Content {
		eachNode(child, visit)
	}
}

// sameTree reports whether two values are the same as far as can be told without following aliases. Quotes count, as
// they can make a text of a number; so does the order of keys.
func sameTree(a, b *yaml.Node) bool {
	const quotes = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return a.Kind == b.Kind && a.Value == b.Value && a.Anchor == b.Anchor && a.ShortTag() == b.ShortTag() &&
		(a.Style&quotes != 0) == (b.Style&quotes != 0) && slices.EqualFunc(a.Content, b.Content, sameTree)
}

// comments returns all that may be a comment: what follows a # that begins a line or stands behind a blank. Those that
// the library finds do not serve, as it loses some where a key is added.
func comments(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if at := commentStart.FindStringIndex(line); at != nil {
			all = append(all, strings.TrimSpace(line[at[0]:]))
		}
	}
	return all
}

var commentStart = regexp.MustCompile(`(?:^|[ \t])#`)
