package model

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

type environmentSpec struct {
	ControlPlane Location       `field:"controlPlane,required"`
	Promotion    *promotionSpec `field:"promotion"`
}

type baseRepoSpec struct {
	Location
	Commit Text `field:"commit"`
}

type gitOpsRepoSpec struct {
	Location
}

type workloadRegistrationSpec struct {
	Workload  Location `field:"workload,required"`
	Workspace Text     `field:"workspace"`
}

type workloadSpec struct {
	DeploymentTargets []TargetSpec `field:"deploymentTargets,required"`
	ConfigSchemas     []Text       `field:"configSchemas"`
}

type deploymentTargetSpec struct {
	// Environment may be left out where the object stands in the branch of its environment.
	Environment   Text            `field:"environment"`
	Manifests     map[string]Text `field:"manifests,required"`
	ConfigSchemas []Text          `field:"configSchemas"`
}

type clusterTypeSpec struct {
	Reconciler       Text `field:"reconciler,required"`
	NamespaceService Text `field:"namespaceService,required"`
	ConfigType       Text `field:"configType"`
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

type configSchemaSpec struct {
	Schema Text `field:"schema,required"`
}
