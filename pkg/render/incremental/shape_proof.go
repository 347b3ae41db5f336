package incremental

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
	"go.yaml.in/yaml/v3"
)

// prove determines the properties of every file of the shape of a builder in which some placeholders are fixed.
//
// The YAML library reads the file with a mark in each placeholder and one entry in place of each run of entries. If the
// mark is part of one scalar, then so is every value that the kind of the placeholder allows, because it has no
// character with a meaning there. That applies to plain, quoted and block scalars. In anchors, tags and escapes the mark
// is not found or the text is not YAML, and nothing is proven. A run of entries is valid wherever one entry of a block
// mapping is; see blockEntry.
//
// FuzzShape compares this with the library.
func (s *fileShape) prove(r *builder, fixed []bool) {
	f := &shapeProof{shape: s}
	text := f.fill(r, fixed)
	roots, flaw := verify.ParseDocuments(text)
	if flaw != nil {
		return
	}
	for _, root := range roots {
		if hasReferences(root) || len(verify.DuplicateKeys(root)) > 0 {
			return
		}
		f.walk(root, false)
		f.tenantStrings(root)
		f.object(root)
	}
	if f.failed || slices.ContainsFunc(f.placeholders, func(p proofPlaceholder) bool { return p.found != 1 && !p.fixed }) ||
		slices.ContainsFunc(f.runs, func(r proofRun) bool { return !r.found }) {
		return
	}
	if slices.ContainsFunc(f.placeholders, func(p proofPlaceholder) bool { return p.mustBeFixed && !p.fixed }) {
		s.fixed, s.objects = make([]bool, len(f.placeholders)), nil
		for i, p := range f.placeholders {
			s.fixed[i] = p.mustBeFixed || p.fixed
		}
		return
	}
	s.proven = true
}

// shapeProof is the state of proving a shape.
type shapeProof struct {
	shape        *fileShape
	placeholders []proofPlaceholder
	runs         []proofRun
	failed       bool
	// lines are the numbers of lines with fixed text that may come from an application.
	lines map[int]bool
	// otherBreaks is true if the text has other line breaks than \n, so that YAML may count lines differently.
	otherBreaks bool
}

type proofPlaceholder struct {
	kind pieceKind
	// tenant is true if the placeholder may contain a string of an application.
	tenant bool
	// mark is the text that is written in place of a value.
	mark  string
	fixed bool
	// found is the number of places in which the mark was found.
	found int
	// mustBeFixed is true if the structure depends on the placeholder.
	mustBeFixed bool
}

type proofRun struct {
	key, value string
	indent     int
	found      bool
}

// fill writes the file with marks.
func (f *shapeProof) fill(r *builder, fixed []bool) string {
	var b strings.Builder
	before, first, line := byte('\n'), byte(0), 1
	for i, p := range r.pieces {
		if i > 0 {
			text := r.pieces[i-1].text
			before = text[len(text)-1]
		}
		written := b.Len()
		switch p.kind {
		case constantPiece:
			b.WriteString(p.text)
			f.note(p, line)
		case entryPiece:
			if !r.continuesRun(i) {
				f.failed = f.failed || !startsLine(p, before)
				b.WriteString(f.addRun(p))
			}
			f.failed = f.failed || !endsLine(p, r.pieces[i+1:])
		default:
			f.failed = f.failed || p.kind == printablePlaceholder && mayBeMarker(first)
			b.WriteString(f.addPlaceholder(p, fixed))
			if f.placeholders[len(f.placeholders)-1].fixed {
				f.note(p, line)
			}
		}
		first = firstOfLine(first, p.text)
		line += strings.Count(b.String()[written:], "\n")
	}
	f.otherBreaks = strings.ContainsAny(b.String(), "\r\u0085\u2028\u2029")
	f.failed = f.failed || strings.Count(b.String(), markPrefix) != f.marks()
	return b.String()
}

// note records the lines of a text that may come from an application; line is the number of the first one.
func (f *shapeProof) note(p piece, line int) {
	if !p.tenant {
		return
	}
	if f.lines == nil {
		f.lines = map[int]bool{}
	}
	for range 1 + strings.Count(p.text, "\n") {
		f.lines[line] = true
		line++
	}
}

// tenantStrings checks that plain scalars with text of an application are strings. Those with placeholders are
// recorded, because they must be checked for each file.
func (f *shapeProof) tenantStrings(n *yaml.Node) {
	for _, child := range n.Content {
		f.tenantStrings(child)
	}
	if n.Kind != yaml.ScalarNode || !yamltext.IsPlainScalar(n) {
		return
	}
	switch {
	case slices.ContainsFunc(f.placeholders, func(p proofPlaceholder) bool { return p.tenant && !p.fixed && strings.Contains(n.Value, p.mark) }):
		f.shape.strings = append(f.shape.strings, f.pattern(n))
	case n.Value != "" && !yamltext.IsText(n):
		f.failed = f.failed || f.lines[n.Line] || len(f.lines) > 0 && (f.otherBreaks || strings.ContainsAny(n.Value, " \t\n"))
	}
}

// objectStrings checks that labels and annotations are strings, from whatever source, because Kubernetes requires it.
func (f *shapeProof) objectStrings(metadata *yaml.Node) {
	verify.StringsOf(metadata, func(_ string, _, n *yaml.Node) {
		switch {
		case slices.ContainsFunc(f.runs, func(r proofRun) bool { return n.Value == r.key || n.Value == r.value }):
			f.failed = true
		case !yamltext.IsPlainScalar(n):
		case f.varies(n):
			f.shape.strings = append(f.shape.strings, f.pattern(n))
		default:
			f.failed = f.failed || n.Value != "" && !yamltext.IsText(n)
		}
	})
}

// markPrefix is in all marks, and must not be in any other text.
const markPrefix = "kalypso0"

// marks returns the number of marks that were written.
func (f *shapeProof) marks() int {
	count := 2 * len(f.runs)
	for _, p := range f.placeholders {
		if !p.fixed {
			count++
		}
	}
	return count
}

// firstOfLine returns the first byte of the last line of a text, 0 if that line is empty. first is the first byte of the
// line in which the text begins.
func firstOfLine(first byte, text string) byte {
	if at := strings.LastIndexByte(text, '\n'); at >= 0 {
		first, text = 0, text[at+1:]
	}
	if first == 0 && text != "" {
		return text[0]
	}
	return first
}

// mayBeMarker reports whether a line with that first byte could be "---" or "...", which end a document even in quotes.
func mayBeMarker(first byte) bool { return first == 0 || first == '-' || first == '.' }

// startsLine and endsLine report whether a segment begins at the start and ends at the end of a line.
func startsLine(p piece, before byte) bool {
	return p.segment.Leading && !p.trimmed || before == '\n'
}

func endsLine(p piece, rest []piece) bool {
	return !p.segment.Leading || len(rest) == 0 || rest[0].text[0] == '\n'
}

func (f *shapeProof) addRun(p piece) string {
	number := len(f.runs)
	run := proofRun{key: fmt.Sprintf(markPrefix+"key%dz", number), value: fmt.Sprintf(markPrefix+"value%dz", number), indent: p.segment.Indent}
	f.runs = append(f.runs, run)
	line := strings.Repeat(" ", run.indent) + run.key + ": " + run.value
	switch {
	case !p.segment.Leading:
		return line + "\n"
	case p.trimmed:
		return line
	default:
		return "\n" + line
	}
}

func (f *shapeProof) addPlaceholder(p piece, fixed []bool) string {
	number := len(f.placeholders)
	placeholder := proofPlaceholder{kind: p.kind, tenant: p.tenant, mark: fmt.Sprintf(markPrefix+"text%dz", number), fixed: fixed != nil && fixed[number]}
	switch p.kind {
	case pathPlaceholder:
		placeholder.mark = "./" + placeholder.mark
	case printablePlaceholder:
		placeholder.mark = "two words " + placeholder.mark
	}
	f.placeholders = append(f.placeholders, placeholder)
	switch {
	case placeholder.fixed:
		return p.text
	case p.kind == quotedPlaceholder:
		return `"` + placeholder.mark + `"`
	default:
		return placeholder.mark
	}
}

// walk looks for marks in a node and below it. inKey says that it is part of a key.
func (f *shapeProof) walk(n *yaml.Node, inKey bool) {
	for i := range f.placeholders {
		f.look(&f.placeholders[i], n, inKey)
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			f.walk(n.Content[i], true)
			f.walk(n.Content[i+1], inKey)
		}
		f.findRun(n)
	default:
		for _, child := range n.Content {
			f.walk(child, inKey)
		}
	}
}

// look counts a mark in one node.
func (f *shapeProof) look(p *proofPlaceholder, n *yaml.Node, inKey bool) {
	if p.fixed {
		return
	}
	for _, comment := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		p.found += strings.Count(comment, p.mark)
		if p.kind == printablePlaceholder && strings.Contains(comment, p.mark) {
			f.failed = true
		}
	}
	times := strings.Count(n.Value, p.mark)
	if times == 0 || n.Kind != yaml.ScalarNode {
		return
	}
	p.found += times
	p.mustBeFixed = p.mustBeFixed || inKey
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		f.failed = true
	case p.kind == printablePlaceholder:
		f.failed = f.failed || n.Style&yaml.DoubleQuotedStyle == 0
	case p.kind == quotedPlaceholder:
		whole := n.Style&yaml.DoubleQuotedStyle != 0 && n.Value == p.mark
		f.failed = f.failed || !whole && n.Style&yaml.LiteralStyle == 0
	}
}

// findRun looks for the runs of entries in a mapping.
func (f *shapeProof) findRun(n *yaml.Node) {
	for i := range f.runs {
		run := &f.runs[i]
		for at := 0; at+1 < len(n.Content); at += 2 {
			key, value := n.Content[at], n.Content[at+1]
			if key.Value != run.key {
				continue
			}
			good := !run.found && n.Style&yaml.FlowStyle == 0 && key.Column == run.indent+1 && key.Style == 0 && n.Column == run.indent+1 &&
				value.Kind == yaml.ScalarNode && value.Value == run.value && value.Style == 0
			run.found, f.failed = true, f.failed || !good
			f.reserve(n)
		}
	}
}

// reserve forbids entries with a key that the mapping has already, or that identifies an object.
func (f *shapeProof) reserve(n *yaml.Node) {
	if f.shape.reserved == nil {
		f.shape.reserved = map[string]bool{"apiVersion": true, "kind": true, "metadata": true, "items": true, "name": true, "namespace": true}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		f.shape.reserved[n.Content[i].Value] = true
	}
}

// object records the objects in a document, by the same rules as package verify.
func (f *shapeProof) object(root *yaml.Node) {
	f.fix(verify.Lookup(root, "kind"))
	items := verify.Lookup(root, "items")
	if items != nil && items.Kind == yaml.SequenceNode && strings.HasSuffix(verify.Scalar(verify.Lookup(root, "kind")), "List") {
		for _, item := range items.Content {
			f.object(item)
		}
		return
	}
	apiVersion := verify.Lookup(root, "apiVersion")
	if apiVersion == nil {
		return
	}
	f.fix(apiVersion)
	read, _ := verify.ReadObject(root)
	if read == nil {
		f.failed = true
		return
	}
	metadata := verify.Lookup(root, "metadata")
	f.objectStrings(metadata)
	o := objectShape{group: read.Group, kind: read.Kind, name: f.pattern(verify.Lookup(metadata, "name")), namespace: f.pattern(verify.Lookup(metadata, "namespace"))}
	if !f.varies(root) {
		o.sum = read.Sum
	}
	f.shape.objects = append(f.shape.objects, o)
}

// fix requires the placeholders in a scalar to be fixed.
func (f *shapeProof) fix(n *yaml.Node) {
	if n == nil {
		return
	}
	for i := range f.placeholders {
		if p := &f.placeholders[i]; !p.fixed && strings.Contains(n.Value, p.mark) {
			p.mustBeFixed = true
		}
	}
}

// varies reports whether a node or one below it has a mark.
func (f *shapeProof) varies(n *yaml.Node) bool {
	return slices.ContainsFunc(f.placeholders, func(p proofPlaceholder) bool { return !p.fixed && strings.Contains(n.Value, p.mark) }) ||
		slices.ContainsFunc(f.runs, func(r proofRun) bool { return n.Value == r.key }) ||
		slices.ContainsFunc(n.Content, f.varies)
}

// pattern splits the value of a scalar at its marks.
func (f *shapeProof) pattern(n *yaml.Node) namePattern {
	if verify.Scalar(n) == "" {
		return namePattern{}
	}
	marks := make([]string, len(f.placeholders))
	for i, p := range f.placeholders {
		if !p.fixed {
			marks[i] = p.mark
		}
	}
	return namePattern{parts: splitAt(n.Value, marks), text: !yamltext.IsPlainScalar(n)}
}

// splitAt splits a text at marks; empty marks are ignored.
func splitAt(text string, marks []string) []textPart {
	var parts []textPart
	for text != "" {
		at, placeholder := len(text), -1
		for i, mark := range marks {
			if found := strings.Index(text, mark); mark != "" && found >= 0 && found < at {
				at, placeholder = found, i
			}
		}
		if at > 0 {
			parts = append(parts, textPart{text[:at], -1})
		}
		if placeholder < 0 {
			break
		}
		parts = append(parts, textPart{"", placeholder})
		text = text[at+len(marks[placeholder]):]
	}
	return parts
}
