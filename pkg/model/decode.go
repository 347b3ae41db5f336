package model

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// decoder decodes the nodes of one document into structs whose fields have a `field` tag. It is
// strict: an unknown field, a wrong type and a missing required field are errors at their place.
// It goes on after an error, so that one run reports all of them.
type decoder struct {
	*document
	diags *diag.List
	// kind is the kind of the object, for messages.
	kind string
}

var (
	textType     = reflect.TypeFor[Text]()
	ignoredType  = reflect.TypeFor[ignored]()
	manifestType = reflect.TypeFor[Manifest]()
	placeType    = reflect.TypeFor[diag.Place]()
)

// selfDecoder is what knows itself how it is written; n is no alias.
type selfDecoder interface {
	decode(d *decoder, n *yaml.Node, path *trail)
}

// decode fills out from n. path is where n stands in the object.
func (d *decoder) decode(n *yaml.Node, out reflect.Value, path *trail) {
	n = target(n)
	switch out.Type() {
	case textType:
		out.Set(reflect.ValueOf(d.text(n, path)))
		return
	case manifestType:
		out.Set(reflect.ValueOf(d.manifest(n, path)))
		return
	case ignoredType:
		return
	}
	if self, ok := out.Addr().Interface().(selfDecoder); ok {
		self.decode(d, n, path)
		return
	}
	switch out.Kind() {
	case reflect.Pointer:
		out.Set(reflect.New(out.Type().Elem()))
		d.decode(n, out.Elem(), path)
	case reflect.Struct:
		d.structure(n, out, path)
	case reflect.Map:
		d.textMap(n, out, path)
	case reflect.Slice:
		d.list(n, out, path)
	default:
		panic("model: no decoding for " + out.Type().String()) // a mistake in kinds.go, not in the input
	}
}

// target follows an alias to the value that it stands for.
func target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// text decodes a string. null is the empty string, as in Kubernetes.
func (d *decoder) text(n *yaml.Node, path *trail) Text {
	text := Text{At: d.place(n)}
	if n.Kind != yaml.ScalarNode {
		d.wrongType(n, path, "a string")
		return text
	}
	switch value, ok := resolve(n); value := value.(type) {
	case string:
		text.Value = value
		if !ok {
			d.wrongTag(n, path)
		}
	case nil:
		if !ok {
			d.wrongTag(n, path)
		}
	default:
		d.diags.Error("wrong-type", d.place(n), fmt.Sprintf("%s must be a string, but is %s", path, described(n, value)),
			diag.Hint(fmt.Sprintf("put it in quotes: %q", n.Value)))
	}
	return text
}

// described says what a scalar is and, if that is not what it looks like, why.
func described(n *yaml.Node, value any) string {
	if b, ok := value.(bool); ok {
		if strings.EqualFold(n.Value, fmt.Sprint(b)) {
			return "the boolean " + n.Value
		}
		return fmt.Sprintf("the boolean %t (YAML reads %s so)", b, n.Value)
	}
	if s := fmt.Sprint(value); s != n.Value {
		return fmt.Sprintf("the number %s (YAML reads %s so)", s, n.Value)
	}
	return "the number " + n.Value
}

func (d *decoder) wrongTag(n *yaml.Node, path *trail) {
	d.diags.Error("wrong-type", d.place(n), fmt.Sprintf("%s has the tag %s, which does not fit its value", path, n.Tag),
		diag.Hint("remove the tag"))
}

func (d *decoder) wrongType(n *yaml.Node, path *trail, want string) {
	d.diags.Error("wrong-type", d.place(n), fmt.Sprintf("%s must be %s, but is %s", path, want, nodeType(n)))
}

func nodeType(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	default:
		switch value, _ := resolve(n); value := value.(type) {
		case nil:
			return "empty"
		case string:
			return "the string " + shortened(value)
		default:
			return described(n, value)
		}
	}
}

func shortened(s string) string {
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}

// structure decodes a mapping into a struct.
func (d *decoder) structure(n *yaml.Node, out reflect.Value, path *trail) {
	if at := out.FieldByName("At"); at.IsValid() && at.Type() == placeType {
		at.Set(reflect.ValueOf(d.place(n)))
	}
	known := fields(out)
	if isNull(n) {
		d.missing(n, known, nil, path)
		return
	}
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, path, "a map")
		return
	}
	given := map[string]bool{}
	for _, entry := range d.entries(n, path) {
		if full(d.diags) {
			return
		}
		field, ok := known[entry.name]
		if !ok {
			// What was meant is not missing as well.
			given[d.unknownField(entry.key, entry.name, known, path)] = true
			continue
		}
		given[entry.name] = true
		if isNull(target(entry.value)) && !field.required {
			continue
		}
		at := path.key(entry.name)
		d.decode(entry.value, field.value, at)
		d.notEmpty(entry.value, field, at)
	}
	d.missing(n, known, given, path)
}

// structField is a field of the struct that is being filled.
type structField struct {
	value    reflect.Value
	required bool
}

// fields returns the fields of a struct by their names in YAML, those of embedded structs too.
func fields(out reflect.Value) map[string]structField {
	known := map[string]structField{}
	for i := range out.NumField() {
		field := out.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("field"), ",")
		switch {
		case name != "":
			known[name] = structField{out.Field(i), options == "required"}
		case field.Anonymous:
			for name, embedded := range fields(out.Field(i)) {
				known[name] = embedded
			}
		}
	}
	return known
}

// unknownField reports a field that does not exist, and returns the one that was probably meant.
func (d *decoder) unknownField(key *yaml.Node, name string, known map[string]structField, path *trail) string {
	names := slices.Sorted(maps.Keys(known))
	where := d.kind
	if path != nil {
		where += " " + path.String()
	}
	d.diags.Error("unknown-field", d.place(key), fmt.Sprintf("unknown field %q in %s", name, where),
		diag.Hint(diag.DidYouMean(name, names)))
	return diag.Nearest(name, names)
}

func (d *decoder) missing(n *yaml.Node, known map[string]structField, given map[string]bool, path *trail) {
	for name, field := range known {
		if field.required && !given[name] {
			d.diags.Error("missing-field", d.place(n), fmt.Sprintf("%s %s is missing", d.kind, path.key(name)),
				diag.Hint(fmt.Sprintf("add %s", path.key(name))))
		}
	}
}

// notEmpty refuses null, and a blank string, where a value is required. What a struct misses, and a
// wrong type, is reported already.
func (d *decoder) notEmpty(n *yaml.Node, field structField, path *trail) {
	n = target(n)
	empty := isNull(n) && field.value.Kind() != reflect.Struct
	if field.value.Type() == textType && n.Kind == yaml.ScalarNode {
		value, ok := resolve(n)
		text, isString := value.(string)
		empty = ok && (value == nil || isString && strings.TrimSpace(text) == "")
	}
	if field.required && empty {
		d.diags.Error("missing-field", d.place(n), fmt.Sprintf("%s %s must not be empty", d.kind, path))
	}
}

// entry is one key of a mapping and its value.
type entry struct {
	name       string
	key, value *yaml.Node
}

// entries returns the entries of a mapping in the order of the file, with merge keys (<<) resolved:
// what the mapping says itself wins over what it merges, an earlier merged map over a later one.
func (d *decoder) entries(n *yaml.Node, path *trail) []entry {
	var own, merged []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		if full(d.diags) {
			return own
		}
		key, value := target(n.Content[i]), n.Content[i+1]
		if isMerge(key) {
			merged = append(merged, d.merged(target(value), path)...)
			continue
		}
		name, ok := keyText(key)
		if key.Kind != yaml.ScalarNode || !ok {
			d.diags.Error("wrong-type", d.place(key), fmt.Sprintf("a key in %s must be a string", path.orObject()))
			continue
		}
		own = append(own, entry{name, key, value})
	}
	if merged == nil {
		return own
	}
	given := map[string]bool{}
	for _, e := range own {
		given[e.name] = true
	}
	for _, e := range merged {
		if !given[e.name] {
			given[e.name] = true
			own = append(own, e)
		}
	}
	return own
}

func (d *decoder) merged(n *yaml.Node, path *trail) []entry {
	switch n.Kind {
	case yaml.MappingNode:
		return d.entries(n, path)
	case yaml.SequenceNode:
		var all []entry
		for i, item := range n.Content {
			if item = target(item); item.Kind == yaml.MappingNode {
				all = append(all, d.entries(item, path)...)
				continue
			}
			d.wrongType(item, path.key("<<").item(i), "a map")
		}
		return all
	}
	d.wrongType(n, path.key("<<"), "a map or a list of maps")
	return nil
}

// unquotedKey warns of a key that YAML reads as something other than the text that is written, as
// Kubernetes does: the label n becomes "false".
func (d *decoder) unquotedKey(e entry) {
	if value, _ := resolve(e.key); e.name != e.key.Value && value != nil {
		d.diags.Warning("unquoted-key", d.place(e.key), fmt.Sprintf("YAML reads the key %s as %q", e.key.Value, e.name),
			diag.Hint(fmt.Sprintf("put it in quotes: %q", e.key.Value)))
	}
}

// textMap decodes a mapping of strings.
func (d *decoder) textMap(n *yaml.Node, out reflect.Value, path *trail) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, path, "a map")
		return
	}
	entries := d.entries(n, path)
	texts := make(map[string]Text, len(entries))
	for _, e := range entries {
		if full(d.diags) {
			break
		}
		d.unquotedKey(e)
		texts[e.name] = d.text(target(e.value), path.key(e.name))
	}
	out.Set(reflect.ValueOf(texts))
}

func (d *decoder) list(n *yaml.Node, out reflect.Value, path *trail) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.wrongType(n, path, "a list")
		return
	}
	items := reflect.MakeSlice(out.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		if full(d.diags) {
			break
		}
		d.decode(item, items.Index(i), path.item(i))
	}
	out.Set(items)
}
