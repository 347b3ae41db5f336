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

// kindOf makes a kind of the function that turns a decoded document into an object, and the list that the object belongs to.
func kindOf[B any, O kindred](toObject func(*parser, *B) O, list func(*Objects) *[]O) kind {
	return kind{reflect.TypeFor[B](), func(p *parser) func(*Objects) {
		var body B
		p.fill(&body)
		object := toObject(p, &body)
		object.object().Broken = p.diags.HasErrors()
		return func(o *Objects) { *list(o) = append(*list(o), object) }
	}}
}

// kinds are the kinds of our group.
var kinds = map[string]kind{
	"Environment":          kindOf((*parser).environment, func(o *Objects) *[]*Environment { return &o.Environments }),
	"BaseRepo":             kindOf((*parser).baseRepo, func(o *Objects) *[]*BaseRepo { return &o.BaseRepos }),
	"GitOpsRepo":           kindOf((*parser).gitOpsRepo, func(o *Objects) *[]*GitOpsRepo { return &o.GitOpsRepos }),
	"WorkloadRegistration": kindOf((*parser).workloadRegistration, func(o *Objects) *[]*WorkloadRegistration { return &o.Registrations }),
	"Workload":             kindOf((*parser).workload, func(o *Objects) *[]*Workload { return &o.Workloads }),
	"DeploymentTarget":     kindOf((*parser).deploymentTarget, func(o *Objects) *[]*DeploymentTarget { return &o.Targets }),
	"ClusterType":          kindOf((*parser).clusterType, func(o *Objects) *[]*ClusterType { return &o.ClusterTypes }),
	"Template":             kindOf((*parser).template, func(o *Objects) *[]*Template { return &o.Templates }),
	"SchedulingPolicy":     kindOf((*parser).schedulingPolicy, func(o *Objects) *[]*SchedulingPolicy { return &o.Policies }),
	"ConfigSchema":         kindOf((*parser).configSchema, func(o *Objects) *[]*ConfigSchema { return &o.ConfigSchemas }),
}

// configMapKind is the one kind that is not of our group, and configMaps how it is decoded.
const configMapKind = "ConfigMap"

var configMaps = kindOf((*parser).configMap, func(o *Objects) *[]*ConfigMap { return &o.ConfigMaps })

// fill decodes the document into body.
func (p *parser) fill(body any) {
	d := &decoder{Document: p.Document, diags: p.diags, kind: p.kind}
	d.decode(p.Root, reflect.ValueOf(body).Elem(), nil)
}

func (p *parser) object(meta objectMeta) Object {
	return Object{
		Kind: p.kind, Name: meta.Name, Labels: meta.Labels, Annotations: meta.Annotations,
		Source: p.source, At: p.Place(p.Root),
	}
}

func (p *parser) environment(body *withSpec[environmentSpec]) *Environment {
	object, spec := p.object(body.Metadata), body.Spec
	checkDNSLabel("Environment name", object.Name, p.diags)
	return &Environment{
		Object: object, ControlPlane: spec.ControlPlane.normal(),
		Promotion: p.promotion(spec.Promotion, object.Annotations),
	}
}

func (p *parser) baseRepo(body *withSpec[baseRepoSpec]) *BaseRepo {
	b := &BaseRepo{p.object(body.Metadata), body.Spec}
	checkName("BaseRepo name", b.Name, p.diags)
	b.Location = b.Location.normal()
	b.Commit.Value = strings.TrimSpace(b.Commit.Value)
	return b
}

func (p *parser) gitOpsRepo(body *withSpec[Location]) *GitOpsRepo {
	g := &GitOpsRepo{p.object(body.Metadata), body.Spec.normal()}
	checkName("GitOpsRepo name", g.Name, p.diags)
	checkOutputFolder(g.Path, p.diags)
	return g
}

func (p *parser) workloadRegistration(body *withSpec[workloadRegistrationSpec]) *WorkloadRegistration {
	r := &WorkloadRegistration{p.object(body.Metadata), body.Spec}
	checkName("WorkloadRegistration name", r.Name, p.diags)
	r.Workload = r.Workload.normal()
	return r
}

func (p *parser) workload(body *withSpec[workloadSpec]) *Workload {
	w := &Workload{p.object(body.Metadata), body.Spec, p.registration}
	if p.source.Ref.Role == Tenant {
		checkTenant(w, p.limits, p.diags)
	} else {
		checkDNSLabel("workload name", w.Name, p.diags)
		checkLabels(diag.Warning, w.Labels, p.diags)
	}
	checkTargetNames(w, p.diags)
	return w
}

func (p *parser) deploymentTarget(body *withSpec[deploymentTargetSpec]) *DeploymentTarget {
	object, spec := p.object(body.Metadata), body.Spec
	checkDNSLabel("DeploymentTarget name", object.Name, p.diags)
	checkLabels(diag.Warning, object.Labels, p.diags)
	return &DeploymentTarget{
		Object: object, Workload: object.Labels[WorkloadLabel].Value, Workspace: object.Labels[WorkspaceLabel].Value,
		Environment: spec.Environment, Manifests: spec.Manifests, ConfigSchemas: spec.ConfigSchemas,
	}
}

func (p *parser) clusterType(body *withSpec[clusterTypeSpec]) *ClusterType {
	c := &ClusterType{p.object(body.Metadata), body.Spec}
	checkDNSLabel("ClusterType name", c.Name, p.diags)
	checkLabels(diag.Warning, c.Labels, p.diags)
	return c
}

func (p *parser) template(body *withSpec[templateSpec]) *Template {
	spec := body.Spec
	t := &Template{Object: p.object(body.Metadata), Type: spec.Type, Manifests: spec.Manifests, ContentType: ContentYAML}
	checkName("Template name", t.Name, p.diags)
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

func (p *parser) schedulingPolicy(body *optionalSpec[schedulingPolicySpec]) *SchedulingPolicy {
	s := &SchedulingPolicy{
		Object: p.object(body.Metadata), Workspace: body.Spec.Targets.Workspace,
		Targets: body.Spec.Targets.Labels, ClusterTypes: body.Spec.ClusterTypes.Labels,
	}
	checkName("SchedulingPolicy name", s.Name, p.diags)
	return s
}

func (p *parser) configSchema(body *withSpec[configSchemaSpec]) *ConfigSchema {
	c := &ConfigSchema{p.object(body.Metadata), body.Spec}
	checkName("ConfigSchema name", c.Name, p.diags)
	return c
}

func (p *parser) configMap(body *configMapBody) *ConfigMap {
	c := &ConfigMap{Object: p.object(body.Metadata), Data: body.Data}
	checkName("ConfigMap name", c.Name, p.diags)
	checkSize(c, p.diags)
	checkLabels(diag.Warning, c.Labels, p.diags)
	return c
}

// mostConfigBytes is what the keys and values of a ConfigMap may have in all, in Kubernetes as here.
// https://kubernetes.io/docs/concepts/configuration/configmap/
const mostConfigBytes = mib

func checkSize(c *ConfigMap, diags *diag.List) {
	size := 0
	for key, value := range c.Data {
		size += len(key) + len(value.Value)
	}
	if size > mostConfigBytes {
		diags.Error("too-large", c.Name.At, fmt.Sprintf("ConfigMap %q holds %d bytes, Kubernetes allows %d", c.Name.Value, size, mostConfigBytes))
	}
}
