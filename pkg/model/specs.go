package model

// typeMeta is what every object may hold besides its spec.
type typeMeta struct {
	Metadata objectMeta `field:"metadata,required"`
	Unused   ignored    `field:"apiVersion|kind|status"`
}

func (t *typeMeta) meta() objectMeta { return t.Metadata }

// withSpec is an object that means nothing without a spec.
type withSpec[S any] struct {
	typeMeta
	Spec S `field:"spec,required"`
}

type optionalSpec[S any] struct {
	typeMeta
	Spec S `field:"spec"`
}

type configMapBody struct {
	typeMeta
	Data   map[string]Text `field:"data" doc:"The values by key. A string that contains a YAML map or list is read as such and merged with others."`
	Unused ignored         `field:"binaryData|immutable"`
}

// objectMeta is Kubernetes' ObjectMeta; what the model does not use is accepted as it comes.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/
type objectMeta struct {
	Name        Text            `field:"name,required" doc:"Unique among the objects of the kind in an environment."`
	Labels      map[string]Text `field:"labels" doc:"Put values such as true or 5 in quotes."`
	Annotations map[string]Text `field:"annotations" doc:"Environment reads kalypso.io/promotion, GitOpsRepo kalypso.io/publishing; other annotations are ignored."`

	Unused ignored `field:"namespace|generateName|finalizers|ownerReferences|uid|resourceVersion|generation|selfLink|creationTimestamp|deletionTimestamp|deletionGracePeriodSeconds|managedFields"`
}

type environmentSpec struct {
	ControlPlane Location       `field:"controlPlane,required" doc:"Location of the data of this environment."`
	Promotion    *promotionSpec `field:"promotion" doc:"Where to promote commits after this environment, and when."`
}

type gitOpsRepoSpec struct {
	Location
	Publishing
}

type deploymentTargetSpec struct {
	Environment   Text            `field:"environment" doc:"Name of the Environment (default: the Environment of this branch)."`
	Manifests     map[string]Text `field:"manifests,required" doc:"Location of the application's manifests: repo, branch, path and any other values that the templates use."`
	ConfigSchemas []Text          `field:"configSchemas" doc:"JSON Schemas for the configuration of this target."`
}

type templateSpec struct {
	Type        Text       `field:"type,required" doc:"Type of file that it renders."`
	Manifests   []Manifest `field:"manifests,required" doc:"Strings with template actions, and objects whose strings are templates, in any combination."`
	ContentType Text       `field:"contentType" doc:"yaml (the default): the result must be YAML. sh: it may be any text."`
}

type schedulingPolicySpec struct {
	Targets struct {
		Workspace Text     `field:"workspace" doc:"Only deployment targets of this workspace."`
		Labels    Selector `field:"labelSelector" doc:"Only those with such labels."`
	} `field:"deploymentTargetSelector" doc:"The deployment targets to schedule (default: all)."`
	ClusterTypes struct {
		Labels Selector `field:"labelSelector" doc:"Only those with such labels."`
	} `field:"clusterTypeSelector" doc:"The cluster types to schedule them on (default: all)."`
}
