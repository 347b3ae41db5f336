package incremental

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/render/content"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// A fileShape is the common part of files that differ only in their placeholders and configuration. That such a file
// is valid YAML, and which objects it has, is proven once for all files of a shape, by reading one with marks in the
// placeholders; see prove. For each file only the values of its placeholders are checked.
type fileShape struct {
	frame *content.Frame
	// proven is true if every file of the shape that satisfies the conditions below is valid YAML.
	proven bool
	// fixed is true for each placeholder whose values have shapes of their own; nil if there is none.
	fixed []bool
	// objects are the objects in the file, in order.
	objects []objectShape
	// strings are the plain scalars with placeholders that every parser must read as strings.
	strings []namePattern
	// reserved are keys that no entry of the configuration may have.
	reserved map[string]bool
}

// fileShapes finds the shapes of files. It is safe for concurrent use.
type fileShapes struct {
	mu    sync.RWMutex
	known map[string]*fileShape
	// size is the size of all keys in bytes.
	size int
}

// maxShapes is the maximum size of all keys in bytes. Files of further shapes are still correct, but each is read and
// kept separately.
const maxShapes = 64 << 20

func newFileShapes() *fileShapes { return &fileShapes{known: map[string]*fileShape{}} }

// placed is a file with the properties that its shape proves.
type placed struct {
	text content.Text
	// verified is true if the file needs no other check and objects are all its objects.
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

// find returns the shape of a builder in which some placeholders are fixed; nil if maxShapes is exceeded.
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

// shapeKey appends an encoding of everything that files of a shape have in common.
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
	placeholder := 0
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
			if fixed != nil && fixed[placeholder] {
				key = append(binary.AppendUvarint(key, uint64(len(p.text))), p.text...)
			}
			placeholder++
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
	// sum is the digest of the object if it is the same in all files of the shape, else nil.
	sum *verify.Digest
}

// namePattern is a string with placeholders.
type namePattern struct {
	parts []textPart
	// text is true if YAML reads it as a string for all values of the placeholders.
	text bool
}

// readsAsText reports whether every parser reads the filled pattern as a string.
func (p namePattern) readsAsText(values []string) bool {
	if first := p.parts[0].fill(values); len(first) > len("false") && yamltext.IsLetter(first[0]) {
		return !yamltext.EndsLikeKey(p.parts[len(p.parts)-1].fill(values))
	}
	return yamltext.ReadsAsText(p.fill(values))
}

// textPart is a constant text or a placeholder, by its number.
type textPart struct {
	text        string
	placeholder int // -1 for a text
}

func (p namePattern) fill(values []string) string {
	if len(p.parts) == 1 {
		return p.parts[0].fill(values)
	}
	var b strings.Builder
	for _, part := range p.parts {
		b.WriteString(part.fill(values))
	}
	return b.String()
}

func (p textPart) fill(values []string) string {
	if p.placeholder < 0 {
		return p.text
	}
	return values[p.placeholder]
}

// check checks the placeholders of a file of the shape, and returns its objects. It returns false if the file must be
// read.
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
	values := r.values()
	for i := range s.strings {
		if !s.strings[i].readsAsText(values) {
			return nil, false
		}
	}
	objects := make([]verify.Object, len(s.objects))
	for i := range s.objects {
		o := &s.objects[i]
		id := verify.ID{Group: o.group, Kind: o.kind, Namespace: o.namespace.fill(values), Name: o.name.fill(values)}
		if !o.name.isValid(id.Name) || id.Namespace != "" && (!o.namespace.isValid(id.Namespace) || !isQuickLabel(id.Namespace)) {
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

// values returns the values of the placeholders, quoted ones without their quotes, as YAML reads them.
func (r *builder) values() []string {
	values := make([]string, 0, 16)
	for i := range r.pieces {
		switch p := &r.pieces[i]; p.kind {
		case constantPiece, entryPiece:
		case quotedPlaceholder:
			values = append(values, p.text[1:len(p.text)-1])
		default:
			values = append(values, p.text)
		}
	}
	return values
}

// isValid reports whether a name is valid for every kind, and a string in YAML. It may return false for a valid name.
func (p namePattern) isValid(name string) bool {
	return isQuickName(name) && (p.text || yamltext.IsLetter(name[0]) && len(name) > len("false") || yamltext.ReadsAsText(name))
}

// isQuickName reports whether a text is a DNS subdomain, and isQuickLabel whether it is a DNS label, by the rules of
// k8s.io/apimachinery/pkg/util/validation, but without regular expressions.
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
