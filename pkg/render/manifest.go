package render

import (
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// compiledTemplate is a model.Template whose texts are parsed, once for all assignments.
type compiledTemplate struct {
	*model.Template
	manifests []manifest
	// unusable says that the template has errors, which are reported.
	unusable bool
}

// manifest renders one entry of a template. The result is empty if there is nothing to write.
type manifest interface {
	render(data any, run *execution) (string, bool)
	// compose renders in pieces, if it can.
	compose(c *composition) bool
}

func compileTemplate(template *model.Template) (*compiledTemplate, diag.List) {
	var diags diag.List
	compiled := &compiledTemplate{Template: template, unusable: template.Broken}
	for _, written := range template.Manifests {
		if written.Object != nil {
			compiled.manifests = append(compiled.manifests, newObjectManifest(compileValue(written.Object, &diags)))
			continue
		}
		compiled.manifests = append(compiled.manifests, textManifest{compileText(written.Text, &diags)})
	}
	compiled.unusable = compiled.unusable || diags.HasErrors()
	return compiled, diags
}

// isWritten reports whether all manifests are in object form, which a library writes as YAML.
func (t *compiledTemplate) isWritten() bool {
	return !slices.ContainsFunc(t.Template.Manifests, func(m model.Manifest) bool { return m.Object == nil })
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

// compose is render in pieces. It fails if it cannot be sure of them.
func (t *compiledTemplate) compose(c *composition) bool {
	for _, m := range t.manifests {
		first, size, last := len(c.pieces), c.size, c.last
		c.last = 0
		if !m.compose(c) {
			return false
		}
		switch {
		case c.size == size:
			c.last = last
			continue
		case size == 0:
			continue
		}
		separator := "---\n"
		if last != '\n' {
			separator = "\n---\n"
		}
		c.pieces = slices.Insert(c.pieces, first, piece{text: separator})
		c.size += len(separator)
	}
	return true
}

// text is a string of a template: parsed if there is something to evaluate, else as it is.
type text struct {
	block    model.Block
	template *Template
}

func compileText(block model.Block, diags *diag.List) text {
	if !strings.Contains(block.Value, "{{") {
		return text{block: block}
	}
	template, problems := ParseTemplate(block)
	diags.Add(problems)
	return text{block, template}
}

func (t text) render(data any, run *execution) (string, bool) {
	if t.template == nil {
		return t.block.Value, true
	}
	return run.execute(t.template, data)
}

type textManifest struct{ text }

func (m textManifest) compose(c *composition) bool {
	if m.template == nil {
		return c.add(piece{text: m.block.Value})
	}
	return m.template.plan != nil && m.template.plan.compose(c)
}

// objectManifest is a manifest in the object form: every string in it, but no key, is a template.
type objectManifest struct {
	root value
	// templates are those of its strings, in order.
	templates []*Template
	layouts   layouts
}

func newObjectManifest(root value) *objectManifest {
	m := &objectManifest{root: root}
	root.fill(func(t *Template) string {
		m.templates = append(m.templates, t)
		return ""
	})
	return m
}

func (m *objectManifest) render(data any, run *execution) (string, bool) {
	object, ok := m.root.render(data, run)
	if !ok {
		return "", false
	}
	out, err := yamltext.Object(object)
	if err != nil {
		run.fail("invalid-output", m.root.at(), "the object cannot be written as YAML: "+err.Error())
		return "", false
	}
	return string(out), true
}
