package model

import "github.com/kalypso-gitops/kalypso/pkg/diag"

// Group and Version name the API of the kinds, as the in-cluster operator registered it.
const (
	Group      = "scheduler.kalypso.io"
	Version    = "v1alpha1"
	APIVersion = Group + "/" + Version
)

// Object is what every kind has in common.
type Object struct {
	Kind string
	Name Text
	// Labels may be nil. Values have places, for explanations of why a label matches.
	Labels      map[string]Text
	Annotations map[string]Text
	// Source is the repository that the object came from.
	Source *Source
	// At is the beginning of the document.
	At diag.Place
	// Broken reports that the object has errors. It is kept so that references to it are not reported as
	// well, but must not be used otherwise.
	Broken bool
}

// object implements resource for every kind that embeds Object.
func (o *Object) object() *Object { return o }

// resource is an object of any kind.
type resource interface{ object() *Object }

// Environment is a rollout environment and the location of its data.
type Environment struct {
	Object
	ControlPlane Location
	// Promotion is spec.promotion or the PromotionAnnotation; nil if there is neither.
	Promotion *Promotion
}

// BaseRepo names common data that an environment sees. The one named "main" is the promoted base.
type BaseRepo struct {
	Object
	baseRepoSpec
}

type baseRepoSpec struct {
	Location
	Commit Text `field:"commit" doc:"Full id of the commit to read (default: the tip of the branch)."`
}

// GitOpsRepo is the location of the output.
type GitOpsRepo struct {
	Object
	Location
	// Publishing is what spec or the PublishingAnnotation says.
	Publishing Publishing
}

// WorkloadRegistration admits an application repository: it names the place where Workloads are
// read, and the workspace (tenant) that they belong to.
type WorkloadRegistration struct {
	Object
	workloadRegistrationSpec
}

type workloadRegistrationSpec struct {
	Workload  Location `field:"workload,required" doc:"Location of the Workloads."`
	Workspace Text     `field:"workspace" doc:"Workspace (tenant) of all their deployment targets."`
}

// Workload is an application or service with its deployment targets.
type Workload struct {
	Object
	workloadSpec
	// Registration admitted the workload; nil for one in the control plane itself.
	Registration *WorkloadRegistration
}

type workloadSpec struct {
	DeploymentTargets []TargetSpec `field:"deploymentTargets,required" doc:"The targets, each in one environment."`
	ConfigSchemas     []Text       `field:"configSchemas" doc:"JSON Schemas for the configuration of all deployment targets."`
}

// TargetSpec is one deployment target in a Workload.
type TargetSpec struct {
	Name        Text            `field:"name,required" doc:"Unique in the workload. The full name is WORKLOAD-NAME."`
	Labels      map[string]Text `field:"labels" doc:"Labels that SchedulingPolicies and configuration select by, in addition to those of the workload."`
	Environment Text            `field:"environment,required" doc:"Name of the Environment of the target."`
	// Manifests is the location of the application's manifests: repo, branch, path and other values that
	// the templates use.
	Manifests     map[string]Text `field:"manifests,required" doc:"Location of the application's manifests: repo, branch, path and any other values that the templates use."`
	ConfigSchemas []Text          `field:"configSchemas" doc:"JSON Schemas for the configuration of this target."`
}

// ClusterType is a set of clusters that host the same workloads.
type ClusterType struct {
	Object
	clusterTypeSpec
}

type clusterTypeSpec struct {
	Reconciler       Text `field:"reconciler,required" doc:"Name of a Template of type reconciler."`
	NamespaceService Text `field:"namespaceService,required" doc:"Name of a Template of type namespace."`
	ConfigType       Text `field:"configType" doc:"Name of a Template of type config, or configMap (the default) or envFile."`
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

var (
	templateTypes = []string{ReconcilerTemplate, NamespaceTemplate, ConfigTemplate}
	contentTypes  = []string{ContentYAML, ContentSh}
)

// Template renders one of the files of a deployment target.
type Template struct {
	Object
	Type      Text
	Manifests []Manifest
	// ContentType is ContentYAML or ContentSh.
	ContentType string
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

// ConfigSchema is a JSON Schema that the configuration of the assignments its labels select must
// satisfy.
type ConfigSchema struct {
	Object
	configSchemaSpec
}

type configSchemaSpec struct {
	Schema Text `field:"schema,required" doc:"A JSON Schema as JSON text (default: draft 7)."`
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

// Contents are objects by kind.
type Contents struct {
	BaseRepos     []*BaseRepo
	GitOpsRepos   []*GitOpsRepo
	Registrations []*WorkloadRegistration
	Workloads     []*Workload
	// Targets are those that are given directly; in a Fleet those of its Workloads, too.
	Targets       []*DeploymentTarget
	ClusterTypes  []*ClusterType
	Templates     []*Template
	Policies      []*SchedulingPolicy
	ConfigSchemas []*ConfigSchema
	ConfigMaps    []*ConfigMap
}

// Objects are the objects of one source, in the order of files and documents.
type Objects struct {
	Source *Source
	// Registration admitted a Tenant source.
	Registration *WorkloadRegistration
	Environments []*Environment
	Contents
	// Others counts the documents of other API groups by kind.
	Others map[string]int
	// Incomplete says that errors kept something from being read, so that what is not here may
	// still exist.
	Incomplete bool
}
