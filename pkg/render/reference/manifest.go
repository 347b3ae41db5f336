package reference

import (
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// Template is a model.Template whose texts are parsed, once for all assignments.
type Template struct {
	*model.Template
	Manifests []*Manifest
	// Unusable says that the template has errors, which are reported.
	Unusable bool
}

func compileTemplate(written *model.Template) (*Template, diag.List) {
	var diags diag.List
	compiled := &Template{Template: written, Unusable: written.Broken}
	for _, entry := range written.Manifests {
		compiled.Manifests = append(compiled.Manifests, newManifest(entry, &diags))
	}
	compiled.Unusable = compiled.Unusable || diags.HasErrors()
	return compiled, diags
}

// isWritten reports whether all manifests are in object form, which a library writes as YAML.
func (t *Template) isWritten() bool {
	return !slices.ContainsFunc(t.Manifests, func(m *Manifest) bool { return !m.IsObject() })
}

// render returns the documents of all manifests as one file. Empty results are left out.
func (t *Template) render(data any, run *execution) (string, bool) {
	ok := true
	var b strings.Builder
	for _, m := range t.Manifests {
		text, rendered := m.render(data, run)
		if !rendered {
			ok = false
			continue
		}
		if text == "" {
			continue
		}
		if b.Len() > 0 {
			if !strings.HasSuffix(b.String(), "\n") {
				b.WriteByte('\n')
			}
			b.WriteString("---\n")
		}
		b.WriteString(text)
	}
	return b.String(), ok
}

// Manifest is an entry of a template: a text, or an object in which every string, but no key, is a text.
type Manifest struct {
	// Texts are its texts, in order.
	Texts []*Text
	// object has *text for the strings; it is nil if the manifest is a text.
	object any
}

func newManifest(entry model.Manifest, diags *diag.List) *Manifest {
	m := &Manifest{}
	compile := func(block model.Block) any {
		compiled := compileText(block, diags)
		m.Texts = append(m.Texts, compiled)
		return compiled
	}
	if entry.Object == nil {
		compile(entry.Text)
		return m
	}
	m.object = replaced(entry.Object, compile)
	return m
}

// IsObject reports whether it is written as an object, and not as the text of a template.
func (m *Manifest) IsObject() bool { return m.object != nil }

// Filled returns the object with strings in the place of its texts.
func (m *Manifest) Filled(with func(*Text) string) any {
	return replaced(m.object, func(t *Text) any { return with(t) })
}

// replaced returns a copy of an object with every T in it replaced.
func replaced[T any](object any, by func(T) any) any {
	switch object := object.(type) {
	case map[string]any:
		copied := make(map[string]any, len(object))
		for _, key := range slices.Sorted(maps.Keys(object)) {
			copied[key] = replaced(object[key], by)
		}
		return copied
	case []any:
		copied := make([]any, len(object))
		for i, item := range object {
			copied[i] = replaced(item, by)
		}
		return copied
	case T:
		return by(object)
	default:
		return object
	}
}

// render returns what the manifest comes to; empty if there is nothing to write.
func (m *Manifest) render(data any, run *execution) (string, bool) {
	if !m.IsObject() {
		return m.Texts[0].render(data, run)
	}
	ok := true
	object := m.Filled(func(t *Text) string {
		rendered, good := t.render(data, run)
		ok = ok && good
		return rendered
	})
	if !ok {
		return "", false
	}
	out, err := yamltext.Object(object)
	if err != nil {
		run.fail("invalid-output", m.at(), "the object cannot be written as YAML: "+err.Error())
		return "", false
	}
	return string(out), true
}

// at is a place in the object, to point to.
func (m *Manifest) at() diag.Place {
	for _, t := range m.Texts {
		if !t.Block.At.IsZero() {
			return t.Block.At
		}
	}
	return diag.Place{}
}

// Text is a string of a template.
type Text struct {
	Block model.Block
	// Template is nil if there is nothing to evaluate.
	Template *template.Template
}

func compileText(block model.Block, diags *diag.List) *Text {
	if !strings.Contains(block.Value, template.ActionStart) {
		return &Text{Block: block}
	}
	template, problems := template.Parse(block)
	diags.Add(problems)
	return &Text{block, template}
}

func (t *Text) render(data any, run *execution) (string, bool) {
	if t.Template == nil {
		return t.Block.Value, true
	}
	return run.execute(t.Template, data)
}
