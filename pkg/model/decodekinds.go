package model

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// kind is how the documents of a kind are decoded.
type kind struct {
	// body is what a document is decoded into, before it becomes an object.
	body reflect.Type
	// decode returns how to add the object to those of its source.
	decode func(*parser) func(*Objects)
}

// bodyOf is a pointer to what the documents of a kind are decoded into.
type bodyOf[B any] interface {
	*B
	meta() objectMeta
}

// kindOf makes a kind of the function that turns a decoded document into an object, what checks its name, and the list
// that the object belongs to.
func kindOf[B any, P bodyOf[B], O resource](
	toObject func(*parser, Object, P) O, checkName func(what string, name Text, diags *diag.List), list func(*Objects) *[]O,
) kind {
	return kind{reflect.TypeFor[B](), func(p *parser) func(*Objects) {
		var body P = new(B)
		p.fill(body)
		meta := body.meta()
		checkName(p.kind+" name", meta.Name, p.diags)
		object := toObject(p, Object{
			Kind: p.kind, Name: meta.Name, Labels: meta.Labels, Annotations: meta.Annotations,
			Source: p.source, At: p.Place(p.Root),
		}, body)
		object.object().Broken = p.diags.HasErrors()
		return func(o *Objects) { *list(o) = append(*list(o), object) }
	}}
}

// kinds are the kinds of our group.
var kinds = map[string]kind{
	"Environment":          kindOf((*parser).environment, checkDNSLabel, func(o *Objects) *[]*Environment { return &o.Environments }),
	"BaseRepo":             kindOf((*parser).baseRepo, checkName, func(o *Objects) *[]*BaseRepo { return &o.BaseRepos }),
	"GitOpsRepo":           kindOf((*parser).gitOpsRepo, checkName, func(o *Objects) *[]*GitOpsRepo { return &o.GitOpsRepos }),
	"WorkloadRegistration": kindOf((*parser).workloadRegistration, checkName, func(o *Objects) *[]*WorkloadRegistration { return &o.Registrations }),
	"Workload":             kindOf((*parser).workload, checkedLater, func(o *Objects) *[]*Workload { return &o.Workloads }),
	"DeploymentTarget":     kindOf((*parser).deploymentTarget, checkDNSLabel, func(o *Objects) *[]*DeploymentTarget { return &o.Targets }),
	"ClusterType":          kindOf((*parser).clusterType, checkDNSLabel, func(o *Objects) *[]*ClusterType { return &o.ClusterTypes }),
	"Template":             kindOf((*parser).template, checkName, func(o *Objects) *[]*Template { return &o.Templates }),
	"SchedulingPolicy":     kindOf((*parser).schedulingPolicy, checkName, func(o *Objects) *[]*SchedulingPolicy { return &o.Policies }),
	"ConfigSchema":         kindOf((*parser).configSchema, checkName, func(o *Objects) *[]*ConfigSchema { return &o.ConfigSchemas }),
}

// configMapKind is the one kind that is not of our group, and configMaps how it is decoded.
const configMapKind = "ConfigMap"

var configMaps = kindOf((*parser).configMap, checkName, func(o *Objects) *[]*ConfigMap { return &o.ConfigMaps })

// fill decodes the document into body.
func (p *parser) fill(body any) {
	d := &decoder{Document: p.Document, diags: p.diags, kind: p.kind}
	d.decode(p.Root, reflect.ValueOf(body).Elem(), nil)
}

func (p *parser) environment(object Object, body *withSpec[environmentSpec]) *Environment {
	promotion := annotated(p, body.Spec.Promotion, annotation{
		name: PromotionAnnotation, field: "spec.promotion", rule: "promotion-differs", text: object.Annotations[PromotionAnnotation],
	}).promotion()
	if promotion != nil {
		p.checkPullRequest(promotion.Publishing.PullRequest, body.Spec.ControlPlane.Branch)
	}
	return &Environment{Object: object, ControlPlane: body.Spec.ControlPlane.normal(), Promotion: promotion}
}

func (p *parser) baseRepo(object Object, body *withSpec[baseRepoSpec]) *BaseRepo {
	b := &BaseRepo{object, body.Spec}
	b.Location = b.Location.normal()
	b.Commit.Value = strings.TrimSpace(b.Commit.Value)
	return b
}

func (p *parser) gitOpsRepo(object Object, body *withSpec[gitOpsRepoSpec]) *GitOpsRepo {
	g := &GitOpsRepo{object, body.Spec.normal(), body.Spec.Publishing}
	var given *Publishing
	if !g.Publishing.PullRequest.At.IsZero() || !g.Publishing.Commit.At.IsZero() {
		given = &g.Publishing
	}
	of := annotation{name: PublishingAnnotation, field: "spec", rule: "publishing-differs", text: object.Annotations[PublishingAnnotation]}
	if said := annotated(p, given, of); said != nil {
		g.Publishing = *said
	}
	p.checkPullRequest(g.Publishing.PullRequest, g.Branch)
	checkOutputDirectory(g.Path, p.diags)
	return g
}

func (p *parser) workloadRegistration(object Object, body *withSpec[workloadRegistrationSpec]) *WorkloadRegistration {
	r := &WorkloadRegistration{object, body.Spec}
	r.Workload = r.Workload.normal()
	return r
}

// checkedLater does not check the name of a workload: checkTenant does, after it has searched it for secrets.
func checkedLater(string, Text, *diag.List) {}

func (p *parser) workload(object Object, body *withSpec[workloadSpec]) *Workload {
	w := &Workload{object, body.Spec, p.registration}
	if p.source.Ref.Role == Tenant {
		checkTenant(w, p.limits, p.diags)
	} else {
		checkDNSLabel("workload name", w.Name, p.diags)
		checkLabels(diag.Warning, w.Labels, p.diags)
	}
	checkTargetNames(w, p.diags)
	return w
}

func (p *parser) deploymentTarget(object Object, body *withSpec[deploymentTargetSpec]) *DeploymentTarget {
	spec := body.Spec
	checkLabels(diag.Warning, object.Labels, p.diags)
	return &DeploymentTarget{
		Object: object, Workload: object.Labels[WorkloadLabel].Value, Workspace: object.Labels[WorkspaceLabel].Value,
		Environment: spec.Environment, Manifests: spec.Manifests, ConfigSchemas: spec.ConfigSchemas,
	}
}

func (p *parser) clusterType(object Object, body *withSpec[clusterTypeSpec]) *ClusterType {
	checkLabels(diag.Warning, object.Labels, p.diags)
	return &ClusterType{object, body.Spec}
}

func (p *parser) template(object Object, body *withSpec[templateSpec]) *Template {
	spec := body.Spec
	t := &Template{Object: object, Type: spec.Type, Manifests: spec.Manifests, ContentType: ContentYAML}
	p.oneOf(spec.Type, "spec.type", templateTypes)
	if spec.ContentType.Value != "" {
		p.oneOf(spec.ContentType, "spec.contentType", contentTypes)
		t.ContentType = spec.ContentType.Value
	}
	return t
}

func (p *parser) oneOf(text Text, path string, allowed []string) {
	if text.Value == "" || slices.Contains(allowed, text.Value) {
		return // an empty one is reported as missing, if it is required
	}
	p.diags.Error("invalid-value", text.At, fmt.Sprintf("%s %s is %q", p.kind, path, text.Value),
		diag.Hint(diag.DidYouMean(text.Value, allowed)))
}

func (p *parser) schedulingPolicy(object Object, body *optionalSpec[schedulingPolicySpec]) *SchedulingPolicy {
	return &SchedulingPolicy{
		Object: object, Workspace: body.Spec.Targets.Workspace,
		Targets: body.Spec.Targets.Labels, ClusterTypes: body.Spec.ClusterTypes.Labels,
	}
}

func (p *parser) configSchema(object Object, body *withSpec[configSchemaSpec]) *ConfigSchema {
	return &ConfigSchema{object, body.Spec}
}

func (p *parser) configMap(object Object, body *configMapBody) *ConfigMap {
	c := &ConfigMap{Object: object, Data: body.Data}
	checkSize(c, p.diags)
	checkLabels(diag.Warning, c.Labels, p.diags)
	return c
}

// mostConfigBytes is the maximum size of all keys and values of a ConfigMap in bytes, which is that of Kubernetes.
// https://kubernetes.io/docs/concepts/configuration/configmap/
const mostConfigBytes = mib

func checkSize(c *ConfigMap, diags *diag.List) {
	size := 0
	for key, value := range c.Data {
		size += len(key) + len(value.Value)
	}
	if size > mostConfigBytes {
		diags.Error("too-large", c.Name.At, fmt.Sprintf("ConfigMap %q has %d bytes, but Kubernetes allows %d", c.Name.Value, size, mostConfigBytes))
	}
}
