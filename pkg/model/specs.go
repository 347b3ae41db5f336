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
	Data   map[string]Text `field:"data" doc:"The values by key. A text that YAML reads as a map or a list is one, and is merged with others."`
	Unused ignored         `field:"binaryData|immutable"`
}

// objectMeta is Kubernetes' ObjectMeta; what the model does not use is accepted as it comes.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/
type objectMeta struct {
	Name        Text            `field:"name,required" doc:"Unique among the objects of the kind in an environment."`
	Labels      map[string]Text `field:"labels" doc:"Put values such as true or 5 in quotes."`
	Annotations map[string]Text `field:"annotations" doc:"Environment reads kalypso.io/promotion; the others mean nothing here."`

	Unused ignored `field:"namespace|generateName|finalizers|ownerReferences|uid|resourceVersion|generation|selfLink|creationTimestamp|deletionTimestamp|deletionGracePeriodSeconds|managedFields"`
}

type environmentSpec struct {
	ControlPlane Location       `field:"controlPlane,required" doc:"Where the data of this environment is."`
	Promotion    *promotionSpec `field:"promotion" doc:"Where commits go after this environment, and when."`
}

type deploymentTargetSpec struct {
	Environment   Text            `field:"environment" doc:"Name of the Environment; without it the one whose branch this is in."`
	Manifests     map[string]Text `field:"manifests,required" doc:"Where the manifests of the application are: repo, branch, path and whatever else the templates read."`
	ConfigSchemas []Text          `field:"configSchemas" doc:"JSON Schemas for the configuration of this target."`
}

type templateSpec struct {
	Type        Text       `field:"type,required" doc:"Which of the files it renders."`
	Manifests   []Manifest `field:"manifests,required" doc:"Texts with template actions, and objects in which every string is one; mixed freely."`
	ContentType Text       `field:"contentType" doc:"yaml (the default): the result must be YAML. sh: it may be any text."`
}

type schedulingPolicySpec struct {
	Targets struct {
		Workspace Text     `field:"workspace" doc:"Only those of this workspace."`
		Labels    Selector `field:"labelSelector" doc:"Only those with such labels."`
	} `field:"deploymentTargetSelector" doc:"The deployment targets that are scheduled; without it all of them."`
	ClusterTypes struct {
		Labels Selector `field:"labelSelector" doc:"Only those with such labels."`
	} `field:"clusterTypeSelector" doc:"The cluster types that they are scheduled on; without it all of them."`
}
