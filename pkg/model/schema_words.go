package model

// descriptions are what editors show of a kind, by its name, and of a field whose tag "doc" does not say it for this kind,
// by the kind and where the field stands.
var descriptions = map[string]string{
	"Environment":          "A rollout environment, and where its data is.",
	"BaseRepo":             "Common data that an environment sees, at a commit. The one named main is what is promoted.",
	"GitOpsRepo":           "Where the output of the environment goes.",
	"WorkloadRegistration": "Admits an application repository: where its Workloads are read, and the workspace they belong to.",
	"Workload":             "An application or service, with the deployment targets that it wants.",
	"DeploymentTarget":     "One deployment target, given directly and without a Workload.",
	"ClusterType":          "A set of alike clusters that host the same workloads.",
	"Template":             "Renders one of the files of each deployment target on a cluster type.",
	"SchedulingPolicy":     "Schedules the deployment targets that it selects on the cluster types that it selects.",
	"ConfigSchema":         "A JSON Schema that the configuration of the assignments its labels select must satisfy.",
	configMapKind:          "Platform configuration, if it has the label platform-config: \"true\". Its other labels say what it applies to.",

	"ClusterType.metadata.labels":      "What SchedulingPolicies and configuration select by.",
	"ConfigSchema.metadata.labels":     "The assignments that it is for: what the cluster type or the deployment target must have. None is all.",
	"ConfigMap.metadata.labels":        "platform-config: \"true\", and what the cluster type or the deployment target must have for it to apply.",
	"DeploymentTarget.metadata.labels": "What SchedulingPolicies and configuration select by; workload and workspace among them.",
	"Workload.metadata.labels":         "Labels of all its deployment targets.",

	"GitOpsRepo.spec.path": "Folder that is the top of the output; it need not exist yet.",
}

// allowed are the values of fields that may have only some; by the type that declares them.
var allowed = map[string][]string{
	"templateSpec.type":        templateTypes,
	"templateSpec.contentType": contentTypes,
	"Requirement.operator":     {"In", "NotIn", "Exists", "DoesNotExist"},
}
