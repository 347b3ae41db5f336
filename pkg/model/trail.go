package model

import (
	"strconv"
	"strings"
)

// trail is where a value stands in its object, such as spec.targets[2].name; nil is the object
// itself. It is spelt out only for a message: keys may be long and values many, so a text for each
// value could exhaust the machine.
type trail struct {
	up *trail
	// name is the key in a map; empty for the item of a list at index.
	name   string
	isItem bool
	index  int
}

func (t *trail) key(name string) *trail { return &trail{up: t, name: name} }

func (t *trail) item(index int) *trail { return &trail{up: t, isItem: true, index: index} }

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
	switch {
	case t.isItem:
		b.WriteString("[" + strconv.Itoa(t.index) + "]")
	case b.Len() > 0:
		b.WriteString("." + t.name)
	default:
		b.WriteString(t.name)
	}
}

// orObject names the object itself where there is no path to speak of.
func (t *trail) orObject() string {
	if t == nil {
		return "the object"
	}
	return t.String()
}
