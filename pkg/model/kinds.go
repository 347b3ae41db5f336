package model

import "github.com/kalypso-gitops/kalypso/pkg/diag"

// Group and Version name the API of the kinds, as the in-cluster operator registered it.
const (
	Group      = "scheduler.kalypso.io"
	Version    = "v1alpha1"
	APIVersion = Group + "/" + Version
)

// Text is a string together with the place where it was written.
type Text struct {
	Value string
	At    diag.Place
}

// String returns the value alone.
func (t Text) String() string { return t.Value }

// Object is what every kind has in common.
type Object struct {
	Kind string
	Name Text
	// Labels may be nil. Values keep their places, because people ask why a label matched.
	Labels      map[string]Text
	Annotations map[string]Text
	// Source is the repository that the object came from.
	Source *Source
	// At is the beginning of the document.
	At diag.Place
	// Broken says that an error in the object was reported: it is kept so that references to it
	// are not reported as well, but nothing may be made of it.
	Broken bool
}

// object makes every kind that embeds Object one.
func (o *Object) object() *Object { return o }

// kindred is any of the kinds.
type kindred interface{ object() *Object }

// objectMeta is Kubernetes' ObjectMeta; what the model does not use is accepted as it comes.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/
type objectMeta struct {
	Name        Text            `field:"name,required"`
	Labels      map[string]Text `field:"labels"`
	Annotations map[string]Text `field:"annotations"`

	Namespace                  ignored `field:"namespace"`
	GenerateName               ignored `field:"generateName"`
	Finalizers                 ignored `field:"finalizers"`
	OwnerReferences            ignored `field:"ownerReferences"`
	UID                        ignored `field:"uid"`
	ResourceVersion            ignored `field:"resourceVersion"`
	Generation                 ignored `field:"generation"`
	SelfLink                   ignored `field:"selfLink"`
	CreationTimestamp          ignored `field:"creationTimestamp"`
	DeletionTimestamp          ignored `field:"deletionTimestamp"`
	DeletionGracePeriodSeconds ignored `field:"deletionGracePeriodSeconds"`
	ManagedFields              ignored `field:"managedFields"`
}

// ignored is a field that may hold anything and means nothing here.
type ignored struct{}

// Location is a place in a git repository.
type Location struct {
	Repo   Text `field:"repo,required"`
	Branch Text `field:"branch,required"`
	// Path is "." if it was not given.
	Path Text `field:"path"`
}

// Environment is a rollout environment and where its data is.
type Environment struct {
	Object
	ControlPlane Location
	// Promotion is what spec.promotion or the PromotionAnnotation says; nil if there is neither.
	Promotion *Promotion
}

type environmentSpec struct {
	ControlPlane Location       `field:"controlPlane,required"`
	Promotion    *promotionSpec `field:"promotion"`
}

// BaseRepo names common data that an environment sees. The one named "main" is the promoted base.
type BaseRepo struct {
	Object
	Location
	// Commit is the exact commit to read; empty for the tip of the branch.
	Commit Text
}

type baseRepoSpec struct {
	Location
	Commit Text `field:"commit"`
}

// GitOpsRepo says where the output goes.
type GitOpsRepo struct {
	Object
	Location
}

type gitOpsRepoSpec struct {
	Location
}

// WorkloadRegistration admits an application repository: it names the place where Workloads are
// read, and the workspace (tenant) that they belong to.
type WorkloadRegistration struct {
	Object
	Workload  Location
	Workspace Text
}

type workloadRegistrationSpec struct {
	Workload  Location `field:"workload,required"`
	Workspace Text     `field:"workspace"`
}

// Workload is an application or service with the targets it wants to be deployed to.
type Workload struct {
	Object
	DeploymentTargets []TargetSpec
	ConfigSchemas     []Text
	// Registration admitted the workload; nil for one in the control plane itself.
	Registration *WorkloadRegistration
}

type workloadSpec struct {
	DeploymentTargets []TargetSpec `field:"deploymentTargets,required"`
	ConfigSchemas     []Text       `field:"configSchemas"`
}

// TargetSpec is one deployment target as a Workload writes it.
type TargetSpec struct {
	Name        Text            `field:"name,required"`
	Labels      map[string]Text `field:"labels"`
	Environment Text            `field:"environment,required"`
	// Manifests says where the application's manifests are: repo, branch, path and whatever else
	// the platform's templates read.
	Manifests     map[string]Text `field:"manifests,required"`
	ConfigSchemas []Text          `field:"configSchemas"`
}

type deploymentTargetSpec struct {
	// Environment may be left out where the object stands in the branch of its environment.
	Environment   Text            `field:"environment"`
	Manifests     map[string]Text `field:"manifests,required"`
	ConfigSchemas []Text          `field:"configSchemas"`
}

// ClusterType is a set of alike clusters that host the same workloads.
type ClusterType struct {
	Object
	// Reconciler and NamespaceService name templates of those types.
	Reconciler       Text
	NamespaceService Text
	// ConfigType names a template of type config; empty, "configMap" and "envFile" are built in.
	ConfigType Text
}

type clusterTypeSpec struct {
	Reconciler       Text `field:"reconciler,required"`
	NamespaceService Text `field:"namespaceService,required"`
	ConfigType       Text `field:"configType"`
}

// The types that a Template may have.
const (
	ReconcilerTemplate = "reconciler"
	NamespaceTemplate  = "namespace"
	ConfigTemplate     = "config"
)

// The content types that a Template may have.
const (
	ContentYAML = "yaml"
	ContentSh   = "sh"
)

// Template renders one of the files of a deployment target.
type Template struct {
	Object
	Type      Text
	Manifests []Manifest
	// ContentType is ContentYAML or ContentSh.
	ContentType string
}

type templateSpec struct {
	Type        Text       `field:"type,required"`
	Manifests   []Manifest `field:"manifests,required"`
	ContentType Text       `field:"contentType"`
}

// Manifest is one entry of a template: a text, or an object in which every string is a template.
type Manifest struct {
	At diag.Place
	// Text is set for the text form.
	Text Block
	// Object is set for the object form: map[string]any, []any, Block for strings, and bool, int,
	// int64, uint64, float64 and nil as sigs.k8s.io/yaml reads them.
	Object map[string]any
}

// Block is a text that may span lines; it knows how to find them in its file again.
type Block struct {
	Text
	// Indent is how many columns the lines of a literal block (|) are indented; -1 if the text is
	// written in another style, so that its lines cannot be told from its place.
	Indent int
}

// Selector is a Kubernetes LabelSelector as written; package schedule gives it its meaning.
type Selector struct {
	MatchLabels      map[string]Text `field:"matchLabels"`
	MatchExpressions []Requirement   `field:"matchExpressions"`
	At               diag.Place
}

// Requirement is one entry of matchExpressions.
type Requirement struct {
	Key      Text   `field:"key,required"`
	Operator Text   `field:"operator,required"`
	Values   []Text `field:"values"`
	At       diag.Place
}

// SchedulingPolicy assigns the deployment targets that it selects to the cluster types that it
// selects.
type SchedulingPolicy struct {
	Object
	// Workspace limits the deployment targets; empty means any.
	Workspace    Text
	Targets      Selector
	ClusterTypes Selector
}

type schedulingPolicySpec struct {
	Targets struct {
		Workspace Text     `field:"workspace"`
		Labels    Selector `field:"labelSelector"`
	} `field:"deploymentTargetSelector"`
	ClusterTypes struct {
		Labels Selector `field:"labelSelector"`
	} `field:"clusterTypeSelector"`
}

// ConfigSchema is a JSON Schema that the configuration of the assignments its labels select must
// satisfy.
type ConfigSchema struct {
	Object
	Schema Text
}

type configSchemaSpec struct {
	Schema Text `field:"schema,required"`
}

// DeploymentTarget is one unfolded target of a workload in the environment compiled, or one given
// directly in the control plane.
type DeploymentTarget struct {
	Object
	// Labels, which Object holds, are the target's, overlaid by the workload's, then workload and
	// workspace.

	Workload    string
	Workspace   string
	Environment Text
	Manifests   map[string]Text
	// ConfigSchemas are JSON Schemas: the target's, then the workload's.
	ConfigSchemas []Text
	// Registration admitted the workload; nil for what the control plane itself holds. Publishing
	// needs it to tell whose change is whose.
	Registration *WorkloadRegistration
}

// ConfigMap is the core kind; those with the label platform-config, or a name that starts with
// azure-app-config, carry platform configuration.
type ConfigMap struct {
	Object
	Data map[string]Text
}
