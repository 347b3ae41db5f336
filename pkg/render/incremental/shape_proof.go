package incremental

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
	"go.yaml.in/yaml/v3"
)

// prove finds out what is true of every file of the shape of a builder, of which some holes are fixed.
//
// The file is read by the YAML library with a placeholder in each hole, and one entry in the place of
// each run of entries. Where a placeholder comes out as part of one scalar, anything that the kind of
// the hole allows does: it has no character that means something there. That is so in plain, quoted
// and block scalars, but not in anchors, tags, escapes and the like, where the placeholder is not
// found again or the text is no YAML, and nothing is proven. A run of entries may stand wherever one
// entry of a block mapping can: each is complete in itself, see blockEntry.
//
// FuzzShape holds this against the library.
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
	if f.failed || slices.ContainsFunc(f.holes, func(h proofHole) bool { return h.found != 1 && !h.fixed }) ||
		slices.ContainsFunc(f.runs, func(r proofRun) bool { return !r.found }) {
		return
	}
	if slices.ContainsFunc(f.holes, func(h proofHole) bool { return h.mustBeFixed && !h.fixed }) {
		s.fixed, s.objects = make([]bool, len(f.holes)), nil
		for i, h := range f.holes {
			s.fixed[i] = h.mustBeFixed || h.fixed
		}
		return
	}
	s.proven = true
}

// shapeProof is a shape on its way to be proven.
type shapeProof struct {
	shape  *fileShape
	holes  []proofHole
	runs   []proofRun
	failed bool
	// lines are the numbers of lines with fixed text that may come from an application.
	lines map[int]bool
	// otherBreaks says that the text has other line breaks than \n, so that YAML may count lines differently.
	otherBreaks bool
}

type proofHole struct {
	kind pieceKind
	// tenant says that the hole may contain a string of an application.
	tenant bool
	// placeholder is what a node that holds it has in its value.
	placeholder string
	fixed       bool
	// found counts the places in which the placeholder came out.
	found int
	// mustBeFixed says that the structure depends on the hole.
	mustBeFixed bool
}

type proofRun struct {
	key, value string
	indent     int
	found      bool
}

// fill writes the file with placeholders.
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
			f.failed = f.failed || p.kind == wildHole && mayBeMarker(first)
			b.WriteString(f.addHole(p, fixed))
			if f.holes[len(f.holes)-1].fixed {
				f.note(p, line)
			}
		}
		first = firstOfLine(first, p.text)
		line += strings.Count(b.String()[written:], "\n")
	}
	f.otherBreaks = strings.ContainsAny(b.String(), "\r\u0085\u2028\u2029")
	f.failed = f.failed || strings.Count(b.String(), placeholderMark) != f.placeholders()
	return b.String()
}

// note records the lines of a text that may come from an application; line is the number of its first line.
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

// tenantStrings checks that plain scalars with text of an application are strings. Those with holes are
// recorded, because they must be checked for each file.
func (f *shapeProof) tenantStrings(n *yaml.Node) {
	for _, child := range n.Content {
		f.tenantStrings(child)
	}
	if n.Kind != yaml.ScalarNode || !yamltext.IsPlainScalar(n) {
		return
	}
	switch {
	case slices.ContainsFunc(f.holes, func(h proofHole) bool { return h.tenant && !h.fixed && strings.Contains(n.Value, h.placeholder) }):
		f.shape.strings = append(f.shape.strings, f.pattern(n))
	case n.Value != "" && !yamltext.IsText(n):
		f.failed = f.failed || f.lines[n.Line] || len(f.lines) > 0 && (f.otherBreaks || strings.ContainsAny(n.Value, " \t\n"))
	}
}

// objectStrings does the same for labels and annotations, which Kubernetes requires to be strings, whatever
// their source.
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

// placeholderMark is in all placeholders, and may be nowhere else.
const placeholderMark = "kalypso0"

// placeholders returns how many were written.
func (f *shapeProof) placeholders() int {
	count := 2 * len(f.runs)
	for _, h := range f.holes {
		if !h.fixed {
			count++
		}
	}
	return count
}

// firstOfLine returns the first byte of the line in which a text ends, 0 if that is empty. first is that
// of the line in which the text begins.
func firstOfLine(first byte, text string) byte {
	if at := strings.LastIndexByte(text, '\n'); at >= 0 {
		first, text = 0, text[at+1:]
	}
	if first == 0 && text != "" {
		return text[0]
	}
	return first
}

// mayBeMarker reports whether a line could become "---" or "...", which end a document even in quotes.
func mayBeMarker(first byte) bool { return first == 0 || first == '-' || first == '.' }

// startsLine and endsLine report whether a segment has its lines for itself.
func startsLine(p piece, before byte) bool {
	return p.segment.Leading && !p.trimmed || before == '\n'
}

func endsLine(p piece, rest []piece) bool {
	return !p.segment.Leading || len(rest) == 0 || rest[0].text[0] == '\n'
}

func (f *shapeProof) addRun(p piece) string {
	number := len(f.runs)
	run := proofRun{key: fmt.Sprintf(placeholderMark+"key%dz", number), value: fmt.Sprintf(placeholderMark+"value%dz", number), indent: p.segment.Indent}
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

func (f *shapeProof) addHole(p piece, fixed []bool) string {
	number := len(f.holes)
	hole := proofHole{kind: p.kind, tenant: p.tenant, placeholder: fmt.Sprintf(placeholderMark+"hole%dz", number), fixed: fixed != nil && fixed[number]}
	switch p.kind {
	case pathHole:
		hole.placeholder = "./" + hole.placeholder
	case wildHole:
		hole.placeholder = "two words " + hole.placeholder
	}
	f.holes = append(f.holes, hole)
	switch {
	case hole.fixed:
		return p.text
	case p.kind == quotedHole:
		return `"` + hole.placeholder + `"`
	default:
		return hole.placeholder
	}
}

// walk looks for placeholders in a node and below it. inKey says that it is part of a key.
func (f *shapeProof) walk(n *yaml.Node, inKey bool) {
	for i := range f.holes {
		f.look(&f.holes[i], n, inKey)
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

// look counts a placeholder in one node.
func (f *shapeProof) look(h *proofHole, n *yaml.Node, inKey bool) {
	if h.fixed {
		return
	}
	for _, comment := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		h.found += strings.Count(comment, h.placeholder)
		if h.kind == wildHole && strings.Contains(comment, h.placeholder) {
			f.failed = true
		}
	}
	times := strings.Count(n.Value, h.placeholder)
	if times == 0 || n.Kind != yaml.ScalarNode {
		return
	}
	h.found += times
	h.mustBeFixed = h.mustBeFixed || inKey
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		f.failed = true
	case h.kind == wildHole:
		f.failed = f.failed || n.Style&yaml.DoubleQuotedStyle == 0
	case h.kind == quotedHole:
		whole := n.Style&yaml.DoubleQuotedStyle != 0 && n.Value == h.placeholder
		f.failed = f.failed || !whole && n.Style&yaml.LiteralStyle == 0
	}
}

// findRun looks for the place of a run of entries among those of a mapping.
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

// reserve keeps entries from having a key that is in the mapping already, or one that says what kind
// of document it is.
func (f *shapeProof) reserve(n *yaml.Node) {
	if f.shape.reserved == nil {
		f.shape.reserved = map[string]bool{"apiVersion": true, "kind": true, "metadata": true, "items": true, "name": true, "namespace": true}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		f.shape.reserved[n.Content[i].Value] = true
	}
}

// object notes the objects in a document, as readObjects finds them.
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

// fix has the holes in a scalar fixed.
func (f *shapeProof) fix(n *yaml.Node) {
	if n == nil {
		return
	}
	for i := range f.holes {
		if h := &f.holes[i]; !h.fixed && strings.Contains(n.Value, h.placeholder) {
			h.mustBeFixed = true
		}
	}
}

// varies reports whether there is a placeholder in a node or below it.
func (f *shapeProof) varies(n *yaml.Node) bool {
	return slices.ContainsFunc(f.holes, func(h proofHole) bool { return !h.fixed && strings.Contains(n.Value, h.placeholder) }) ||
		slices.ContainsFunc(f.runs, func(r proofRun) bool { return n.Value == r.key }) ||
		slices.ContainsFunc(n.Content, f.varies)
}

// pattern splits the value of a scalar at its placeholders.
func (f *shapeProof) pattern(n *yaml.Node) namePattern {
	if verify.Scalar(n) == "" {
		return namePattern{}
	}
	placeholders := make([]string, len(f.holes))
	for i, h := range f.holes {
		if !h.fixed {
			placeholders[i] = h.placeholder
		}
	}
	return namePattern{parts: splitAt(n.Value, placeholders), text: !yamltext.IsPlainScalar(n)}
}

// splitAt splits a text at placeholders; those that are empty do not count.
func splitAt(text string, placeholders []string) []textPart {
	var parts []textPart
	for text != "" {
		at, hole := len(text), -1
		for i, placeholder := range placeholders {
			if found := strings.Index(text, placeholder); placeholder != "" && found >= 0 && found < at {
				at, hole = found, i
			}
		}
		if at > 0 {
			parts = append(parts, textPart{text[:at], -1})
		}
		if hole < 0 {
			break
		}
		parts = append(parts, textPart{"", hole})
		text = text[at+len(placeholders[hole]):]
	}
	return parts
}
