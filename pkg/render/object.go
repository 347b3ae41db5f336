package render

import (
	"maps"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// value is a node of an object manifest.
type value interface {
	// render returns the value with all templates in it evaluated.
	render(data any, run *execution) (any, bool)
	// fill returns the value with what text gives for each template in it, in order.
	fill(text func(*Template) string) any
	// at is a place in the value, to point to.
	at() diag.Place
}

func compileValue(written any, diags *diag.List) value {
	switch written := written.(type) {
	case map[string]any:
		object := objectValue{}
		for _, key := range slices.Sorted(maps.Keys(written)) {
			object = append(object, field{key, compileValue(written[key], diags)})
		}
		return object
	case []any:
		list := make(sequenceValue, len(written))
		for i, item := range written {
			list[i] = compileValue(item, diags)
		}
		return list
	case model.Block:
		return textValue{compileText(written, diags)}
	default:
		return constant{written}
	}
}

type field struct {
	key   string
	value value
}

type objectValue []field

func (m objectValue) render(data any, run *execution) (any, bool) {
	ok, object := true, make(map[string]any, len(m))
	for _, f := range m {
		rendered, good := f.value.render(data, run)
		object[f.key], ok = rendered, ok && good
	}
	return object, ok
}

func (m objectValue) fill(text func(*Template) string) any {
	object := make(map[string]any, len(m))
	for _, f := range m {
		object[f.key] = f.value.fill(text)
	}
	return object
}

func (m objectValue) at() diag.Place {
	for _, f := range m {
		if at := f.value.at(); !at.IsZero() {
			return at
		}
	}
	return diag.Place{}
}

type sequenceValue []value

func (l sequenceValue) render(data any, run *execution) (any, bool) {
	ok, list := true, make([]any, len(l))
	for i, item := range l {
		rendered, good := item.render(data, run)
		list[i], ok = rendered, ok && good
	}
	return list, ok
}

func (l sequenceValue) fill(text func(*Template) string) any {
	list := make([]any, len(l))
	for i, item := range l {
		list[i] = item.fill(text)
	}
	return list
}

func (l sequenceValue) at() diag.Place {
	for _, item := range l {
		if at := item.at(); !at.IsZero() {
			return at
		}
	}
	return diag.Place{}
}

type textValue struct{ text }

func (t textValue) render(data any, run *execution) (any, bool) { return t.text.render(data, run) }

func (t textValue) fill(text func(*Template) string) any {
	if t.template == nil {
		return t.block.Value
	}
	return text(t.template)
}

func (t textValue) at() diag.Place { return t.block.At }

type constant struct{ value any }

func (c constant) render(any, *execution) (any, bool) { return c.value, true }

func (c constant) fill(func(*Template) string) any { return c.value }

func (c constant) at() diag.Place { return diag.Place{} }
