package model

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
