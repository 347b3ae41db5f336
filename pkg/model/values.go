package model

import (
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Text is a string together with the place where it was written.
type Text struct {
	Value string
	At    diag.Place
}

// String returns the value alone.
func (t Text) String() string { return t.Value }

// Location is a place in a git repository.
type Location struct {
	Repo   Text `field:"repo,required" doc:"URL of a git repository, such as https://github.com/acme/shop."`
	Branch Text `field:"branch,required" doc:"Branch of the repository."`
	// Path is "." if it was not given.
	Path Text `field:"path" doc:"Directory or file in the repository (default: the whole repository)."`
}

// normal fills in defaults and removes the blanks around what people paste.
func (l Location) normal() Location {
	l.Repo.Value = strings.TrimSpace(l.Repo.Value)
	l.Branch.Value = strings.TrimSpace(l.Branch.Value)
	l.Path.Value = strings.TrimSpace(l.Path.Value)
	if l.Path.Value == "" {
		l.Path = Text{Value: ".", At: l.Repo.At}
	}
	return l
}

// Manifest is one entry of a template: a text, or an object in which every string is a template.
type Manifest struct {
	At diag.Place
	// Text is set for the text form.
	Text Block
	// Object is set for the object form: map[string]any, []any, Block for strings, and bool, int,
	// int64, uint64, float64 and nil as sigs.k8s.io/yaml reads them.
	Object map[string]any
}

// Block is a text that may span lines; it knows how to find them in its file again.
type Block struct {
	Text
	// Indent is how many columns the lines of a literal block (|) are indented; -1 if the text is
	// written in another style, whose lines do not follow from its place.
	Indent int
}

// Selector is a Kubernetes LabelSelector as written; package schedule gives it its meaning.
type Selector struct {
	MatchLabels      map[string]Text `field:"matchLabels" doc:"Labels that must all have these values."`
	MatchExpressions []Requirement   `field:"matchExpressions" doc:"Conditions that must all be true."`
	At               diag.Place
}

// Requirement is one entry of matchExpressions.
type Requirement struct {
	Key      Text   `field:"key,required" doc:"The label."`
	Operator Text   `field:"operator,required" doc:"In, NotIn, Exists or DoesNotExist."`
	Values   []Text `field:"values" doc:"Values for In and NotIn; none for the others."`
	At       diag.Place
}

// trail is where a value stands in its object, such as spec.targets[2].name; nil is the object
// itself. It is spelt out only for a message: keys may be long and values many, so a text for each
// value could exhaust the machine.
type trail struct {
	up *trail
	// name is the key in a map, or the index in a list in brackets.
	name string
}

func (t *trail) key(name string) *trail { return &trail{t, name} }

func (t *trail) item(index int) *trail { return &trail{t, "[" + strconv.Itoa(index) + "]"} }

func (t *trail) String() string {
	var b strings.Builder
	t.write(&b)
	return b.String()
}

func (t *trail) write(b *strings.Builder) {
	if t == nil {
		return
	}
	t.up.write(b)
	if b.Len() > 0 && !strings.HasPrefix(t.name, "[") {
		b.WriteByte('.')
	}
	b.WriteString(t.name)
}

// orObject returns the path, or "the object" for an empty one.
func (t *trail) orObject() string {
	if t == nil {
		return "the object"
	}
	return t.String()
}
