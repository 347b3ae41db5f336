package model

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model/yamldoc"
)

// decoder decodes the nodes of one document into structs whose fields have a `field` tag (and a `doc` tag for editors). It is
// strict: an unknown field, a wrong type and a missing required field are errors at their place.
// It continues after an error, so that one run reports all of them.
type decoder struct {
	*yamldoc.Document
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

// selfDecoder is a type with a decoding of its own. n is not an alias.
type selfDecoder interface {
	decode(d *decoder, n *yaml.Node, path *trail)
}

// decode fills out from n. path is the path of n in the object.
func (d *decoder) decode(n *yaml.Node, out reflect.Value, path *trail) {
	n = yamldoc.Deref(n)
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

// text decodes a string. null is the empty string, as in Kubernetes.
func (d *decoder) text(n *yaml.Node, path *trail) Text {
	text := Text{At: d.Place(n)}
	if n.Kind != yaml.ScalarNode {
		d.wrongType(n, path, "a string")
		return text
	}
	switch value, ok := yamldoc.Resolve(n); value := value.(type) {
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
		hint := fmt.Sprintf("put it in quotes: %q", n.Value)
		if path.String() == "spec.commit" && len(n.Value) < 40 {
			hint = "write the full commit SHA of 40 digits, in quotes"
		}
		d.diags.Error("wrong-type", d.Place(n), fmt.Sprintf("%s must be a string, but is %s", path, described(n, value)), diag.Hint(hint))
	}
	return text
}

// described names the type and value of a scalar, and the reason if they differ from the text.
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
	d.diags.Error("wrong-type", d.Place(n), fmt.Sprintf("%s has the tag %s, which does not match its value", path, n.Tag),
		diag.Hint("remove the tag"))
}

func (d *decoder) wrongType(n *yaml.Node, path *trail, want string) {
	hint := ""
	if field := path.String(); want == "a list" && n.Kind == yaml.ScalarNode {
		value := yamldoc.Quote(n.Value)
		if n.Style == 0 { // not in quotes
			value = strings.Trim(value, `"`)
		}
		hint = fmt.Sprintf("write %s: [%s]", field[strings.LastIndexByte(field, '.')+1:], value)
	}
	d.diags.Error("wrong-type", d.Place(n), fmt.Sprintf("%s must be %s, but is %s", path, want, nodeType(n)), diag.Hint(hint))
}

func nodeType(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	default:
		switch value, _ := yamldoc.Resolve(n); value := value.(type) {
		case nil:
			return "empty"
		case string:
			return "the string " + yamldoc.Quote(value)
		default:
			return described(n, value)
		}
	}
}

// structure decodes a mapping into a struct.
func (d *decoder) structure(n *yaml.Node, out reflect.Value, path *trail) {
	if at := out.FieldByName("At"); at.IsValid() && at.Type() == placeType {
		at.Set(reflect.ValueOf(d.Place(n)))
	}
	known := specFields(out.Type())
	if yamldoc.IsNull(n) {
		d.missing(n, known, nil, path)
		return
	}
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, path, "a map")
		return
	}
	given := map[string]bool{}
	for _, entry := range d.entries(n, path) {
		if yamldoc.Enough(d.diags) {
			return
		}
		field, ok := known[entry.name]
		if !ok {
			// The field that was probably meant is not reported as missing.
			given[d.unknownField(entry.key, entry.name, known, path)] = true
			continue
		}
		given[entry.name] = true
		if yamldoc.IsNull(yamldoc.Deref(entry.value)) && !field.required {
			continue
		}
		at := path.key(entry.name)
		if format, ok := formats[field.format]; ok {
			d.formatted(yamldoc.Deref(entry.value), out.FieldByIndex(field.index), format, at)
		} else {
			d.decode(entry.value, out.FieldByIndex(field.index), at)
		}
		d.notEmpty(entry.value, field, at)
	}
	d.missing(n, known, given, path)
}

// specField is a field of a struct as documents write it.
type specField struct {
	typ      reflect.Type
	index    []int
	required bool
	// owner is the type that the field is declared in; it has no name if that has none.
	owner string
	// doc is what editors show.
	doc string
	// format is the name of what its texts must look like; empty for any text.
	format string
}

// specFields returns the fields of a struct by their names in YAML, those of embedded structs too.
func specFields(typ reflect.Type) map[string]specField {
	fields := map[string]specField{}
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("field"), ",")
		switch {
		case name != "":
			for name := range strings.SplitSeq(name, "|") {
				fields[name] = specField{field.Type, field.Index, options == "required", typ.Name(), field.Tag.Get("doc"), field.Tag.Get("format")}
			}
		case field.Anonymous:
			for name, embedded := range specFields(field.Type) {
				embedded.index = append(slices.Clone(field.Index), embedded.index...)
				fields[name] = embedded
			}
		}
	}
	return fields
}

// unknownField reports a field that does not exist, and returns the one that was probably meant.
func (d *decoder) unknownField(key *yaml.Node, name string, known map[string]specField, path *trail) string {
	names := slices.Sorted(maps.Keys(known))
	where := d.kind
	if path != nil {
		where += " " + path.String()
	}
	d.diags.Error("unknown-field", d.Place(key), fmt.Sprintf("unknown field %q in %s", name, where),
		diag.Hint(diag.DidYouMean(name, names)))
	return diag.Nearest(name, names)
}

func (d *decoder) missing(n *yaml.Node, known map[string]specField, given map[string]bool, path *trail) {
	for name, field := range known {
		if field.required && !given[name] {
			d.diags.Error("missing-field", d.Place(n), fmt.Sprintf("%s %s is missing", d.kind, path.key(name)),
				diag.Hint(fmt.Sprintf("add %s", path.key(name))))
		}
	}
}

// notEmpty refuses null and a blank string where a value is required. Missing fields of a struct and
// wrong types are already reported.
func (d *decoder) notEmpty(n *yaml.Node, field specField, path *trail) {
	n = yamldoc.Deref(n)
	empty := yamldoc.IsNull(n) && field.typ.Kind() != reflect.Struct
	if field.typ == textType && n.Kind == yaml.ScalarNode {
		value, ok := yamldoc.Resolve(n)
		text, isString := value.(string)
		empty = ok && (value == nil || isString && strings.TrimSpace(text) == "")
	}
	if field.required && empty {
		d.diags.Error("missing-field", d.Place(n), fmt.Sprintf("%s %s must not be empty", d.kind, path))
	}
}

// entry is one key of a mapping and its value.
type entry struct {
	name       string
	key, value *yaml.Node
}

// entries returns the entries of a mapping in the order of the file, with merge keys (<<) resolved:
// entries of the mapping override merged ones, and those of an earlier merged map override those of a later one.
func (d *decoder) entries(n *yaml.Node, path *trail) []entry {
	var own, merged []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		if yamldoc.Enough(d.diags) {
			return own
		}
		key, value := yamldoc.Deref(n.Content[i]), n.Content[i+1]
		if yamldoc.IsMerge(key) {
			merged = append(merged, d.merged(yamldoc.Deref(value), path)...)
			continue
		}
		name, ok := yamldoc.KeyText(key)
		if key.Kind != yaml.ScalarNode || !ok {
			d.diags.Error("wrong-type", d.Place(key), fmt.Sprintf("a key in %s must be a string", path.orObject()))
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
			if item = yamldoc.Deref(item); item.Kind == yaml.MappingNode {
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

// unquotedKey warns of a key that YAML and Kubernetes read as another value than its text: the label n is
// "false".
func (d *decoder) unquotedKey(e entry) {
	if value, _ := yamldoc.Resolve(e.key); e.name != e.key.Value && value != nil {
		d.diags.Warning("unquoted-key", d.Place(e.key), fmt.Sprintf("YAML reads the key %s as %q", e.key.Value, e.name),
			diag.Hint(fmt.Sprintf("put it in quotes: %q", e.key.Value)))
	}
}

// textMap decodes a mapping of strings.
func (d *decoder) textMap(n *yaml.Node, out reflect.Value, path *trail) {
	if yamldoc.IsNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, path, "a map")
		return
	}
	entries := d.entries(n, path)
	texts := make(map[string]Text, len(entries))
	for _, e := range entries {
		if yamldoc.Enough(d.diags) {
			break
		}
		d.unquotedKey(e)
		texts[e.name] = d.text(yamldoc.Deref(e.value), path.key(e.name))
	}
	out.Set(reflect.ValueOf(texts))
}

func (d *decoder) list(n *yaml.Node, out reflect.Value, path *trail) {
	if yamldoc.IsNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.wrongType(n, path, "a list")
		return
	}
	items := reflect.MakeSlice(out.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		if yamldoc.Enough(d.diags) {
			break
		}
		d.decode(item, items.Index(i), path.item(i))
	}
	out.Set(items)
}

// ignored are fields that are not read. Their names are separated by |.
type ignored struct{}

// manifest decodes one entry of a template: a string or an object.
func (d *decoder) manifest(n *yaml.Node, path *trail) Manifest {
	m := Manifest{At: d.Place(n)}
	switch n.Kind {
	case yaml.MappingNode:
		m.Object, _ = d.value(n, path).(map[string]any)
	case yaml.ScalarNode:
		m.Text = d.block(n, path)
	default:
		d.wrongType(n, path, "a string or an object")
	}
	return m
}

func (d *decoder) block(n *yaml.Node, path *trail) Block {
	return Block{Text: d.text(n, path), Indent: d.Indent(n)}
}

// isAction reports whether YAML reads {{ … }} without quotes as a map: its only key is a map.
func isAction(n *yaml.Node) bool {
	return n.Style&yaml.FlowStyle != 0 && len(n.Content) == 2 && yamldoc.Deref(n.Content[0]).Kind == yaml.MappingNode
}

// value decodes any node as sigs.k8s.io/yaml does, except that strings are decoded to Blocks, which have
// places.
func (d *decoder) value(n *yaml.Node, path *trail) any {
	n = yamldoc.Deref(n)
	switch n.Kind {
	case yaml.MappingNode:
		if isAction(n) {
			d.diags.Error("wrong-type", d.Place(n), fmt.Sprintf("%s is a map, because the template action is not in quotes", path),
				diag.Hint(`put it in quotes: "{{ … }}"`))
			return nil
		}
		entries := d.entries(n, path)
		object := make(map[string]any, len(entries))
		for _, e := range entries {
			object[e.name] = d.value(e.value, path.key(e.name))
		}
		return object
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			if yamldoc.Enough(d.diags) {
				break
			}
			list[i] = d.value(item, path.item(i))
		}
		return list
	default:
		value, ok := yamldoc.Resolve(n)
		if !ok {
			d.wrongTag(n, path)
		}
		if _, isString := value.(string); isString {
			return d.block(n, path)
		}
		return value
	}
}
