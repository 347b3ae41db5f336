package incremental

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/render/content"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// A fileShape is what files have in common that differ in their holes and configuration alone. That such
// a file is proper YAML, and which objects are in it, is proven once for all files of a shape: by
// reading one that has placeholders in the holes, see prove. What remains for each file is to check
// what is in its holes.
type fileShape struct {
	frame *content.Frame
	// proven says that every file of the shape is proper YAML as long as the rest of this is kept.
	proven bool
	// fixed tells for each hole whether files that differ in it have shapes of their own; nil if none.
	fixed []bool
	// objects are those in the file, in order.
	objects []objectShape
	// strings are the plain scalars with holes that every reader must read as strings.
	strings []namePattern
	// reserved are keys that no entry of the configuration may have.
	reserved map[string]bool
}

// fileShapes finds the shapes of files. It is safe for concurrent use.
type fileShapes struct {
	mu    sync.RWMutex
	known map[string]*fileShape
	// size is how many bytes of keys are kept.
	size int
}

// maxShapes is how many bytes of shapes are kept. Files beyond are still right, but each is read and
// kept by itself.
const maxShapes = 64 << 20

func newFileShapes() *fileShapes { return &fileShapes{known: map[string]*fileShape{}} }

// placed is a file with what its shape says of it.
type placed struct {
	text content.Text
	// verified says that the file needs no other check, and taken with objects that these are all.
	verified bool
	objects  []verify.Object
}

// place finds the shape of a rendered file. buffer is scratch space.
func (s *fileShapes) place(r *builder, yaml bool, buffer *[]byte) placed {
	found := s.find(r, nil, yaml, buffer)
	if found == nil {
		return placed{text: content.New(r.String())}
	}
	file := placed{text: r.fill(found.frame)}
	if found.fixed != nil {
		if found = s.find(r, found.fixed, yaml, buffer); found == nil {
			return file
		}
	}
	if found.proven {
		file.objects, file.verified = found.check(r)
	}
	return file
}

// find returns the shape of a builder in which some holes are fixed; nil if there is no room for it.
func (s *fileShapes) find(r *builder, fixed []bool, yaml bool, buffer *[]byte) *fileShape {
	key := shapeKey((*buffer)[:0], r, fixed, yaml)
	*buffer = key
	s.mu.RLock()
	found, full := s.known[string(key)], s.size > maxShapes
	s.mu.RUnlock()
	if found != nil || full {
		return found
	}
	made := &fileShape{frame: newFrame(r)}
	if yaml {
		made.prove(r, fixed)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.known[string(key)]; found != nil {
		return found
	}
	s.known[string(key)] = made
	s.size += len(key)
	return made
}

// shapeKey writes down all that files of a shape have in common.
func shapeKey(key []byte, r *builder, fixed []bool, yaml bool) []byte {
	const tenantMark, togetherMark, fixedMark, yamlMark = 1 << 4, 1 << 5, 1 << 6, 1 << 7
	first := byte(0)
	if yaml {
		first |= yamlMark
	}
	if fixed != nil {
		first |= fixedMark
	}
	key = append(key, first)
	hole := 0
	for i, p := range r.pieces {
		if p.together > 0 {
			key = binary.AppendUvarint(append(key, togetherMark), uint64(p.together)) // never negative
		}
		mark := byte(p.kind)
		if p.tenant {
			mark |= tenantMark
		}
		switch p.kind {
		case constantPiece:
			key = append(binary.AppendUvarint(append(key, mark), uint64(len(p.text))), p.text...)
		case entryPiece:
			if !r.continuesRun(i) {
				key = append(key, byte(entryPiece), flag(p.trimmed), flag(p.segment.Leading))
				key = binary.AppendUvarint(key, uint64(p.segment.Indent)) // never negative
			}
		default:
			key = append(key, mark)
			if fixed != nil && fixed[hole] {
				key = append(binary.AppendUvarint(key, uint64(len(p.text))), p.text...)
			}
			hole++
		}
	}
	return key
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// objectShape is an object in all files of a shape.
type objectShape struct {
	group, kind     string
	name, namespace namePattern
	// sum is that of the object if it is the same in all files of the shape.
	sum *verify.Digest
}

// namePattern is a string with holes.
type namePattern struct {
	parts []textPart
	// text says that YAML reads it as a string whatever is in the holes.
	text bool
}

// readsAsText reports whether every reader reads the filled pattern as a string.
func (p namePattern) readsAsText(holes []string) bool {
	if first := p.parts[0].fill(holes); len(first) > len("false") && yamltext.IsLetter(first[0]) {
		return !yamltext.EndsLikeKey(p.parts[len(p.parts)-1].fill(holes))
	}
	return yamltext.ReadsAsText(p.fill(holes))
}

// textPart is a text, or a hole.
type textPart struct {
	text string
	hole int // -1 for a text
}

func (p namePattern) fill(holes []string) string {
	if len(p.parts) == 1 {
		return p.parts[0].fill(holes)
	}
	var b strings.Builder
	for _, part := range p.parts {
		b.WriteString(part.fill(holes))
	}
	return b.String()
}

func (p textPart) fill(holes []string) string {
	if p.hole < 0 {
		return p.text
	}
	return holes[p.hole]
}

// check looks at what a file of the shape has in its holes. It fails if the file must be read.
func (s *fileShape) check(r *builder) ([]verify.Object, bool) {
	if len(s.reserved) > 0 {
		for i := range r.pieces {
			if r.pieces[i].kind == entryPiece && s.reserved[r.pieces[i].segment.Key] {
				return nil, false
			}
		}
	}
	if len(s.objects) == 0 && len(s.strings) == 0 {
		return nil, true
	}
	holes := r.holes()
	for i := range s.strings {
		if !s.strings[i].readsAsText(holes) {
			return nil, false
		}
	}
	objects := make([]verify.Object, len(s.objects))
	for i := range s.objects {
		o := &s.objects[i]
		id := verify.ID{Group: o.group, Kind: o.kind, Namespace: o.namespace.fill(holes), Name: o.name.fill(holes)}
		if !o.name.isFine(id.Name) || id.Namespace != "" && (!o.namespace.isFine(id.Namespace) || !isQuickLabel(id.Namespace)) {
			return nil, false
		}
		if id.IsNamespace() {
			id.Namespace = ""
			if !isQuickLabel(id.Name) {
				return nil, false
			}
		}
		objects[i] = verify.Object{ID: id, Sum: o.sum}
	}
	return objects, true
}

// holes returns what is in the holes. A quoted text is given without its quotes, as YAML reads it.
func (r *builder) holes() []string {
	holes := make([]string, 0, 16)
	for i := range r.pieces {
		switch p := &r.pieces[i]; p.kind {
		case constantPiece, entryPiece:
		case quotedHole:
			holes = append(holes, p.text[1:len(p.text)-1])
		default:
			holes = append(holes, p.text)
		}
	}
	return holes
}

// isFine reports whether a name is valid for any kind, and a string to YAML; it may say no where more
// thought would say yes.
func (p namePattern) isFine(name string) bool {
	return isQuickName(name) && (p.text || yamltext.IsLetter(name[0]) && len(name) > len("false") || yamltext.ReadsAsText(name))
}

// isQuickName reports whether a text is a DNS subdomain, and isQuickLabel whether it is a DNS label,
// as package validation has them.
func isQuickName(text string) bool {
	if len(text) == 0 || len(text) > 253 {
		return false
	}
	before := byte('.')
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		case c == '-' && before != '.':
		case c == '.' && before != '.' && before != '-':
		default:
			return false
		}
		before = c
	}
	return before != '.' && before != '-'
}

func isQuickLabel(text string) bool {
	return len(text) <= 63 && isQuickName(text) && strings.IndexByte(text, '.') < 0
}
