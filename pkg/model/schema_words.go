package model

// descriptions are what editors show: of a kind by its name; of a field by the kind and where it stands, or by the type
// that declares it, if that says the same in all kinds.
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

	"objectMeta.name":        "Unique among the objects of the kind in an environment.",
	"objectMeta.labels":      "Put values such as true or 5 in quotes.",
	"objectMeta.annotations": "Environment reads kalypso.io/promotion; the others mean nothing here.",

	"ClusterType.metadata.labels":      "What SchedulingPolicies and configuration select by.",
	"ConfigSchema.metadata.labels":     "The assignments that it is for: what the cluster type or the deployment target must have. None is all.",
	"ConfigMap.metadata.labels":        "platform-config: \"true\", and what the cluster type or the deployment target must have for it to apply.",
	"DeploymentTarget.metadata.labels": "What SchedulingPolicies and configuration select by; workload and workspace among them.",
	"Workload.metadata.labels":         "Labels of all its deployment targets.",

	"Location.repo":   "URL of a git repository, such as https://github.com/acme/shop.",
	"Location.branch": "Branch of the repository.",
	"Location.path":   "Folder or file in the repository; without it all of it.",

	"environmentSpec.controlPlane": "Where the data of this environment is.",
	"environmentSpec.promotion":    "Where commits go after this environment, and when.",
	"promotionSpec.next":           "Environments that get a commit after this one has deployed it.",
	"promotionSpec.checks":         "When a commit counts as deployed.",

	"Environment.spec.promotion.checks.fleet":                             "Who is asked what the clusters run: NAME or NAME:ARGUMENT, as --fleet has it. none leaves the decision to a person.",
	"Environment.spec.promotion.checks.healthy":                           "How many clusters must run the commit and be healthy: a count such as 27, or a percentage such as 95%.",
	"Environment.spec.promotion.checks.timeout":                           "How long they may take: 90s, 30m, 2h.",
	"Environment.spec.promotion.checks.expect":                            "How many clusters there are at least.",
	"Environment.spec.promotion.checks.clusterTypeSelector":               "The cluster types whose clusters count; without it all of them.",
	"Environment.spec.promotion.checks.clusterTypeSelector.labelSelector": "Selects cluster types by their labels.",

	"Environment.spec.promotion.checks.statusLogins": "GitHub logins whose statuses of this environment count, besides kalypso's own: octocat, or NAME[bot] for a GitHub App.",

	"baseRepoSpec.commit":  "Exactly this commit is read, its full id; without it the tip of the branch.",
	"GitOpsRepo.spec.path": "Folder that is the top of the output; it need not exist yet.",

	"workloadRegistrationSpec.workload":  "Where the Workloads are.",
	"workloadRegistrationSpec.workspace": "Workspace (tenant) of all their deployment targets.",

	"workloadSpec.deploymentTargets": "The targets, each in one environment.",
	"workloadSpec.configSchemas":     "JSON Schemas for the configuration of all deployment targets.",
	"TargetSpec.name":                "Unique in the workload. The full name is that of the workload, a dash, and this.",
	"TargetSpec.labels":              "What SchedulingPolicies and configuration select by, besides those of the workload.",
	"TargetSpec.environment":         "Name of the Environment that the target is in.",
	"TargetSpec.manifests":           "Where the manifests of the application are: repo, branch, path and whatever else the templates read.",
	"TargetSpec.configSchemas":       "JSON Schemas for the configuration of this target.",

	"deploymentTargetSpec.environment":   "Name of the Environment; without it the one whose branch this is in.",
	"deploymentTargetSpec.manifests":     "Where the manifests of the application are: repo, branch, path and whatever else the templates read.",
	"deploymentTargetSpec.configSchemas": "JSON Schemas for the configuration of this target.",

	"clusterTypeSpec.reconciler":       "Name of a Template of type reconciler.",
	"clusterTypeSpec.namespaceService": "Name of a Template of type namespace.",
	"clusterTypeSpec.configType":       "Name of a Template of type config, or configMap (the default) or envFile.",

	"templateSpec.type":        "Which of the files it renders.",
	"templateSpec.manifests":   "Texts with template actions, and objects in which every string is one; mixed freely.",
	"templateSpec.contentType": "yaml (the default): the result must be YAML. sh: it may be any text.",

	"SchedulingPolicy.spec.deploymentTargetSelector":               "The deployment targets that are scheduled; without it all of them.",
	"SchedulingPolicy.spec.deploymentTargetSelector.workspace":     "Only those of this workspace.",
	"SchedulingPolicy.spec.deploymentTargetSelector.labelSelector": "Only those with such labels.",
	"SchedulingPolicy.spec.clusterTypeSelector":                    "The cluster types that they are scheduled on; without it all of them.",
	"SchedulingPolicy.spec.clusterTypeSelector.labelSelector":      "Only those with such labels.",

	"Selector.matchLabels":      "Labels that must all be there, with these values.",
	"Selector.matchExpressions": "Conditions that must all hold.",
	"Requirement.key":           "The label.",
	"Requirement.operator":      "In, NotIn, Exists or DoesNotExist.",
	"Requirement.values":        "Values for In and NotIn; none for the others.",

	"configSchemaSpec.schema": "A JSON Schema as JSON text, of draft 7 unless it says otherwise.",
	"configMapBody.data":      "The values by key. A text that YAML reads as a map or a list is one, and is merged with others.",
}

// allowed are the values of fields that may have only some; by the type that declares them.
var allowed = map[string][]string{
	"templateSpec.type":        templateTypes,
	"templateSpec.contentType": contentTypes,
	"Requirement.operator":     {"In", "NotIn", "Exists", "DoesNotExist"},
}
