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

// orObject names the object itself where there is no path to speak of.
func (t *trail) orObject() string {
	if t == nil {
		return "the object"
	}
	return t.String()
}
