package model

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// kinds are the kinds of our group and how each is decoded.
var kinds = map[string]func(*parser) func(*Objects){
	"Environment":          (*parser).environment,
	"BaseRepo":             (*parser).baseRepo,
	"GitOpsRepo":           (*parser).gitOpsRepo,
	"WorkloadRegistration": (*parser).workloadRegistration,
	"Workload":             (*parser).workload,
	"DeploymentTarget":     (*parser).deploymentTarget,
	"ClusterType":          (*parser).clusterType,
	"Template":             (*parser).template,
	"SchedulingPolicy":     (*parser).schedulingPolicy,
	"ConfigSchema":         (*parser).configSchema,
}

// typeMeta and what goes with it is what every object of ours may hold besides metadata and spec.
type typeMeta struct {
	APIVersion ignored `field:"apiVersion"`
	Kind       ignored `field:"kind"`
	Status     ignored `field:"status"`
}

// withSpec is an object that means nothing without a spec.
type withSpec[S any] struct {
	typeMeta
	Metadata objectMeta `field:"metadata,required"`
	Spec     S          `field:"spec,required"`
}

type optionalSpec[S any] struct {
	typeMeta
	Metadata objectMeta `field:"metadata,required"`
	Spec     S          `field:"spec"`
}

type configMapBody struct {
	typeMeta
	Metadata   objectMeta      `field:"metadata,required"`
	Data       map[string]Text `field:"data"`
	BinaryData ignored         `field:"binaryData"`
	Immutable  ignored         `field:"immutable"`
}

// fill decodes the document into body.
func (p *parser) fill(body any) {
	d := &decoder{document: p.document, diags: p.diags, kind: p.kind}
	d.decode(p.root, reflect.ValueOf(body).Elem(), nil)
}

func (p *parser) object(meta objectMeta) Object {
	return Object{
		Kind: p.kind, Name: meta.Name, Labels: meta.Labels, Annotations: meta.Annotations,
		Source: p.source, At: p.place(p.root),
	}
}

// decodeSpec decodes an object that has a spec.
func decodeSpec[S any](p *parser) (Object, S) {
	var body withSpec[S]
	p.fill(&body)
	return p.object(body.Metadata), body.Spec
}

// done marks an object as broken if an error in it was reported.
func (p *parser) done(o *Object) { o.Broken = p.diags.HasErrors() }

// normal fills in defaults and removes the blanks around what people paste.
func (l Location) normal() Location {
	l.Repo.Value = strings.TrimSpace(l.Repo.Value)
	l.Branch.Value = strings.TrimSpace(l.Branch.Value)
	l.Path.Value = strings.TrimSpace(l.Path.Value)
	if l.Path.Value == "" {
		l.Path = Text{Value: ".", At: l.Repo.At}
	}
	return l
}

func (p *parser) environment() func(*Objects) {
	object, spec := decodeSpec[environmentSpec](p)
	checkDNSLabel("Environment name", object.Name, p.diags)
	e := &Environment{
		Object: object, ControlPlane: spec.ControlPlane.normal(),
		Promotion: p.promotion(spec.Promotion, object.Annotations),
	}
	p.done(&e.Object)
	return func(o *Objects) { o.Environments = append(o.Environments, e) }
}

func (p *parser) baseRepo() func(*Objects) {
	object, spec := decodeSpec[baseRepoSpec](p)
	checkName("BaseRepo name", object.Name, p.diags)
	b := &BaseRepo{Object: object, Location: spec.Location.normal(), Commit: spec.Commit}
	b.Commit.Value = strings.TrimSpace(b.Commit.Value)
	p.done(&b.Object)
	return func(o *Objects) { o.BaseRepos = append(o.BaseRepos, b) }
}

func (p *parser) gitOpsRepo() func(*Objects) {
	object, spec := decodeSpec[gitOpsRepoSpec](p)
	checkName("GitOpsRepo name", object.Name, p.diags)
	g := &GitOpsRepo{Object: object, Location: spec.Location.normal()}
	checkOutputFolder(g.Path, p.diags)
	p.done(&g.Object)
	return func(o *Objects) { o.GitOpsRepos = append(o.GitOpsRepos, g) }
}

func (p *parser) workloadRegistration() func(*Objects) {
	object, spec := decodeSpec[workloadRegistrationSpec](p)
	checkName("WorkloadRegistration name", object.Name, p.diags)
	r := &WorkloadRegistration{Object: object, Workload: spec.Workload.normal(), Workspace: spec.Workspace}
	p.done(&r.Object)
	return func(o *Objects) { o.Registrations = append(o.Registrations, r) }
}

func (p *parser) workload() func(*Objects) {
	object, spec := decodeSpec[workloadSpec](p)
	w := &Workload{
		Object: object, DeploymentTargets: spec.DeploymentTargets, ConfigSchemas: spec.ConfigSchemas,
		Registration: p.registration,
	}
	if p.source.Ref.Role == Tenant {
		checkTenant(w, p.limits, p.diags)
	} else {
		checkDNSLabel("workload name", w.Name, p.diags)
		checkLabels(diag.Warning, w.Labels, p.diags)
	}
	checkTargetNames(w, p.diags)
	p.done(&w.Object)
	return func(o *Objects) { o.Workloads = append(o.Workloads, w) }
}

func (p *parser) deploymentTarget() func(*Objects) {
	object, spec := decodeSpec[deploymentTargetSpec](p)
	checkDNSLabel("DeploymentTarget name", object.Name, p.diags)
	checkLabels(diag.Warning, object.Labels, p.diags)
	t := &DeploymentTarget{
		Object: object, Workload: object.Labels[WorkloadLabel].Value, Workspace: object.Labels[WorkspaceLabel].Value,
		Environment: spec.Environment, Manifests: spec.Manifests, ConfigSchemas: spec.ConfigSchemas,
	}
	p.done(&t.Object)
	return func(o *Objects) { o.DeploymentTargets = append(o.DeploymentTargets, t) }
}

func (p *parser) clusterType() func(*Objects) {
	object, spec := decodeSpec[clusterTypeSpec](p)
	checkDNSLabel("ClusterType name", object.Name, p.diags)
	checkLabels(diag.Warning, object.Labels, p.diags)
	c := &ClusterType{
		Object: object, Reconciler: spec.Reconciler, NamespaceService: spec.NamespaceService, ConfigType: spec.ConfigType,
	}
	p.done(&c.Object)
	return func(o *Objects) { o.ClusterTypes = append(o.ClusterTypes, c) }
}

func (p *parser) template() func(*Objects) {
	object, spec := decodeSpec[templateSpec](p)
	checkName("Template name", object.Name, p.diags)
	t := &Template{Object: object, Type: spec.Type, Manifests: spec.Manifests, ContentType: ContentYAML}
	p.oneOf(spec.Type, "spec.type", ReconcilerTemplate, NamespaceTemplate, ConfigTemplate)
	if spec.ContentType.Value != "" {
		p.oneOf(spec.ContentType, "spec.contentType", ContentYAML, ContentSh)
		t.ContentType = spec.ContentType.Value
	}
	p.done(&t.Object)
	return func(o *Objects) { o.Templates = append(o.Templates, t) }
}

func (p *parser) oneOf(text Text, path string, allowed ...string) {
	if text.Value == "" {
		return // reported as missing, if it is required
	}
	for _, value := range allowed {
		if text.Value == value {
			return
		}
	}
	p.diags.Error("invalid-value", text.At, fmt.Sprintf("%s %s is %q", p.kind, path, text.Value),
		diag.Hint(diag.DidYouMean(text.Value, allowed)))
}

func (p *parser) schedulingPolicy() func(*Objects) {
	var body optionalSpec[schedulingPolicySpec]
	p.fill(&body)
	s := &SchedulingPolicy{
		Object: p.object(body.Metadata), Workspace: body.Spec.Targets.Workspace,
		Targets: body.Spec.Targets.Labels, ClusterTypes: body.Spec.ClusterTypes.Labels,
	}
	checkName("SchedulingPolicy name", s.Name, p.diags)
	p.done(&s.Object)
	return func(o *Objects) { o.Policies = append(o.Policies, s) }
}

func (p *parser) configSchema() func(*Objects) {
	object, spec := decodeSpec[configSchemaSpec](p)
	checkName("ConfigSchema name", object.Name, p.diags)
	c := &ConfigSchema{Object: object, Schema: spec.Schema}
	p.done(&c.Object)
	return func(o *Objects) { o.ConfigSchemas = append(o.ConfigSchemas, c) }
}

// configMap decodes the core kind. The seeds' example has no apiVersion, so that is accepted.
func (p *parser) configMap(apiVersion string) func(*Objects) {
	if p.source.Ref.Role == Tenant || p.source.Ref.Role == Main {
		return func(o *Objects) { o.Others["ConfigMap"]++ }
	}
	if apiVersion == "" {
		p.diags.Notice("no-api-version", p.place(p.root), "ConfigMap has no apiVersion: v1 is assumed", diag.Hint("add apiVersion: v1"))
	}
	var body configMapBody
	p.fill(&body)
	c := &ConfigMap{Object: p.object(body.Metadata), Data: body.Data}
	checkName("ConfigMap name", c.Name, p.diags)
	checkSize(c, p.diags)
	checkLabels(diag.Warning, c.Labels, p.diags)
	p.done(&c.Object)
	return func(o *Objects) { o.ConfigMaps = append(o.ConfigMaps, c) }
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
