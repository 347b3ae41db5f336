package diag

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// File is one file of one repository at one branch. Places point to it, so that a place stays
// small; files are compared by what they hold, not by pointer.
type File struct {
	// Repo is the repository in its normal form, for example "https://github.com/acme/shop".
	Repo string `json:"repo"`
	// Branch is the branch it was read from; empty if it was read at a commit or from a folder.
	Branch string `json:"branch,omitempty"`
	// Path is the slash-separated path from the root of the repository.
	Path string `json:"path,omitempty"`
}

// String returns "repo@branch:path", with the repository's scheme left out for brevity.
func (f *File) String() string {
	var b strings.Builder
	repo := f.Repo
	if _, rest, found := strings.Cut(repo, "://"); found {
		repo = rest
	}
	b.WriteString(repo)
	if f.Branch != "" {
		b.WriteString("@" + f.Branch)
	}
	if f.Path != "" {
		if b.Len() > 0 {
			b.WriteByte(':')
		}
		b.WriteString(f.Path)
	}
	return b.String()
}

// Place is a position in a file. The zero Place is nowhere.
type Place struct {
	File *File `json:"-"`
	// Line and Column count from 1; 0 means the file or the line as a whole.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// MarshalJSON writes the parts that are known, and null for nowhere.
func (p Place) MarshalJSON() ([]byte, error) {
	if p.IsZero() {
		return []byte("null"), nil
	}
	type position Place
	return json.Marshal(struct {
		*File
		position
	}{p.File, position(p)})
}

// IsZero reports whether the place is nowhere.
func (p Place) IsZero() bool { return p.File == nil }

// String returns "repo@branch:path:line:column" without the parts that are not known.
func (p Place) String() string {
	if p.File == nil {
		return ""
	}
	s := p.File.String()
	if p.Line > 0 {
		s += ":" + strconv.Itoa(p.Line)
		if p.Column > 0 {
			s += ":" + strconv.Itoa(p.Column)
		}
	}
	return s
}

// Compare orders places by repository, branch, path, line and column; nowhere comes last, so that
// what concerns the whole run is read last.
func (p Place) Compare(other Place) int {
	if p.File == nil || other.File == nil {
		switch {
		case p.File == other.File:
			return 0
		case p.File == nil:
			return 1
		default:
			return -1
		}
	}
	byFile := 0
	if p.File != other.File {
		byFile = cmp.Or(
			cmp.Compare(p.File.Repo, other.File.Repo),
			cmp.Compare(p.File.Branch, other.File.Branch),
			cmp.Compare(p.File.Path, other.File.Path),
		)
	}
	return cmp.Or(byFile, cmp.Compare(p.Line, other.Line), cmp.Compare(p.Column, other.Column))
}
