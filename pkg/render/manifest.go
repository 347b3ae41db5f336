package render

import (
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// compiledTemplate is a model.Template whose texts are parsed, once for all assignments.
type compiledTemplate struct {
	*model.Template
	manifests []*manifest
	// unusable says that the template has errors, which are reported.
	unusable bool
}

func compileTemplate(written *model.Template) (*compiledTemplate, diag.List) {
	var diags diag.List
	compiled := &compiledTemplate{Template: written, unusable: written.Broken}
	for _, entry := range written.Manifests {
		compiled.manifests = append(compiled.manifests, newManifest(entry, &diags))
	}
	compiled.unusable = compiled.unusable || diags.HasErrors()
	return compiled, diags
}

// isWritten reports whether all manifests are in object form, which a library writes as YAML.
func (t *compiledTemplate) isWritten() bool {
	return !slices.ContainsFunc(t.manifests, func(m *manifest) bool { return !m.isObject() })
}

// render returns the documents of all manifests as one file. Empty results are left out.
func (t *compiledTemplate) render(data any, run *execution) (string, bool) {
	ok := true
	var b strings.Builder
	for _, m := range t.manifests {
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

// manifest is an entry of a template: a text, or an object in which every string, but no key, is a text.
type manifest struct {
	// texts are its texts, in order.
	texts []*text
	// object has *text for the strings; it is nil if the manifest is a text.
	object any
}

func newManifest(entry model.Manifest, diags *diag.List) *manifest {
	m := &manifest{}
	compile := func(block model.Block) any {
		compiled := compileText(block, diags)
		m.texts = append(m.texts, compiled)
		return compiled
	}
	if entry.Object == nil {
		compile(entry.Text)
		return m
	}
	m.object = replaced(entry.Object, compile)
	return m
}

func (m *manifest) isObject() bool { return m.object != nil }

// filled returns the object with strings in the place of its texts.
func (m *manifest) filled(with func(*text) string) any {
	return replaced(m.object, func(t *text) any { return with(t) })
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
func (m *manifest) render(data any, run *execution) (string, bool) {
	if !m.isObject() {
		return m.texts[0].render(data, run)
	}
	ok := true
	object := m.filled(func(t *text) string {
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
func (m *manifest) at() diag.Place {
	for _, t := range m.texts {
		if !t.block.At.IsZero() {
			return t.block.At
		}
	}
	return diag.Place{}
}

// text is a string of a template.
type text struct {
	block model.Block
	// template is nil if there is nothing to evaluate.
	template *template.Template
}

func compileText(block model.Block, diags *diag.List) *text {
	if !strings.Contains(block.Value, template.ActionStart) {
		return &text{block: block}
	}
	template, problems := template.Parse(block)
	diags.Add(problems)
	return &text{block, template}
}

func (t *text) render(data any, run *execution) (string, bool) {
	if t.template == nil {
		return t.block.Value, true
	}
	return run.execute(t.template, data)
}
