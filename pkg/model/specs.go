package model

// typeMeta and what goes with it is what every kalypso object may hold besides metadata and spec.
type typeMeta struct {
	Unused ignored `field:"apiVersion|kind|status"`
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
	Metadata objectMeta      `field:"metadata,required"`
	Data     map[string]Text `field:"data"`
	Unused   ignored         `field:"binaryData|immutable"`
}

// objectMeta is Kubernetes' ObjectMeta; what the model does not use is accepted as it comes.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/
type objectMeta struct {
	Name        Text            `field:"name,required"`
	Labels      map[string]Text `field:"labels"`
	Annotations map[string]Text `field:"annotations"`

	Unused ignored `field:"namespace|generateName|finalizers|ownerReferences|uid|resourceVersion|generation|selfLink|creationTimestamp|deletionTimestamp|deletionGracePeriodSeconds|managedFields"`
}

type environmentSpec struct {
	ControlPlane Location       `field:"controlPlane,required"`
	Promotion    *promotionSpec `field:"promotion"`
}

type deploymentTargetSpec struct {
	// Environment may be left out where the object stands in the branch of its environment.
	Environment   Text            `field:"environment"`
	Manifests     map[string]Text `field:"manifests,required"`
	ConfigSchemas []Text          `field:"configSchemas"`
}

type templateSpec struct {
	Type        Text       `field:"type,required"`
	Manifests   []Manifest `field:"manifests,required"`
	ContentType Text       `field:"contentType"`
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
