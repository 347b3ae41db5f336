package reference

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Templates are the templates that a cluster type names.
type Templates struct {
	reconciler, namespace *Template
	// config is nil if the config type is built in.
	config *Template
	// Builtin is configMapType or envFileType if config is nil.
	Builtin string
	Labels  map[string]string
	missing bool
}

// Unusable says that not all files can be rendered, for reasons that are reported.
func (t *Templates) Unusable() bool {
	return t.missing || t.reconciler.Unusable || t.namespace.Unusable || t.config != nil && t.config.Unusable
}

// resolver finds templates by name and compiles each once.
type resolver struct {
	fleet    *model.Fleet
	compiled map[*model.Template]*Template
	diags    *diag.List
}

// Resolve finds the templates of every cluster type. What is wrong is an error if an
// assignment needs it (used), else a warning. It also returns all templates of the fleet.
func Resolve(fleet *model.Fleet, used map[*model.ClusterType]bool, diags *diag.List) (map[*model.ClusterType]*Templates, []*Template) {
	r := &resolver{fleet, map[*model.Template]*Template{}, diags}
	needed := map[*model.Template]bool{}
	resolved := make(map[*model.ClusterType]*Templates, len(fleet.ClusterTypes))
	for _, clusterType := range fleet.ClusterTypes {
		resolved[clusterType] = r.resolve(clusterType, used[clusterType], needed)
	}
	for _, template := range fleet.Templates {
		r.compile(template, needed[template])
	}
	for _, templates := range resolved {
		templates.link(r.compiled)
	}
	return resolved, slices.Collect(maps.Values(r.compiled))
}

func (r *resolver) compile(template *model.Template, needed bool) {
	compiled, diags := compileTemplate(template)
	r.compiled[template] = compiled
	for _, d := range diags {
		if !needed && d.Severity == diag.Error {
			d.Severity = diag.Warning
		}
		*r.diags = append(*r.diags, d)
	}
}

// link replaces the templates found by their compiled forms.
func (t *Templates) link(compiled map[*model.Template]*Template) {
	for _, template := range []**Template{&t.reconciler, &t.namespace, &t.config} {
		if *template != nil {
			*template = compiled[(*template).Template]
		}
	}
}

func (r *resolver) resolve(c *model.ClusterType, used bool, needed map[*model.Template]bool) *Templates {
	t := &Templates{Labels: plainTexts(c.Labels)}
	find := func(name model.Text, field, kind string) *Template {
		template := r.find(c, name, field, kind, used)
		if template == nil {
			t.missing = true
			return nil
		}
		needed[template] = needed[template] || used
		return &Template{Template: template}
	}
	t.reconciler = find(c.Reconciler, "reconciler", model.ReconcilerTemplate)
	t.namespace = find(c.NamespaceService, "namespaceService", model.NamespaceTemplate)
	switch name := c.ConfigType.Value; {
	case name == "":
		t.Builtin = ConfigMapType
	case (name == ConfigMapType || name == envFileType) && r.fleet.Template(name) == nil:
		t.Builtin = name
	default:
		t.config = find(c.ConfigType, "configType", model.ConfigTemplate)
	}
	return t
}

// find returns the template with a name if it is of the right type.
func (r *resolver) find(c *model.ClusterType, name model.Text, field, kind string, used bool) *model.Template {
	if name.Value == "" {
		return nil // reported as missing
	}
	template := r.fleet.Template(name.Value)
	if template != nil && (template.Type.Value == kind || template.Broken) {
		return template
	}
	report := r.diags.Warning
	if used {
		report = r.diags.Error
	}
	if template != nil {
		report("wrong-template-type", name.At, fmt.Sprintf("Template %q has type %q, not %q (%s of ClusterType %q)",
			name.Value, template.Type.Value, kind, field, c.Name.Value),
			diag.See(template.Type.At, "its type is set here"), r.suggest(name.Value, kind))
		return nil
	}
	if r.fleet.PlatformIncomplete {
		return nil // it may be in what could not be read
	}
	use := fmt.Sprintf("%s of ClusterType %q", field, c.Name.Value)
	for i, d := range *r.diags { // one error for all uses
		if d.Rule == "unknown-template" && strings.HasPrefix(d.Message, fmt.Sprintf("Template %q not found (%s of ", name.Value, field)) && (d.Severity == diag.Error) == used {
			diag.See(name.At, use)(&(*r.diags)[i])
			return nil
		}
	}
	report("unknown-template", name.At, fmt.Sprintf("Template %q not found (%s)", name.Value, use), r.suggest(name.Value, kind))
	return nil
}

// suggest names the nearest template of the right type.
func (r *resolver) suggest(name, kind string) diag.Option {
	var names []string
	for _, template := range r.fleet.Templates {
		if template.Type.Value == kind {
			names = append(names, template.Name.Value)
		}
	}
	if kind == model.ConfigTemplate {
		names = append(names, ConfigMapType, envFileType)
	}
	return diag.Hint(cmp.Or(diag.DidYouMean(name, names), fmt.Sprintf("add a Template of type %q to the base branch", kind)))
}
