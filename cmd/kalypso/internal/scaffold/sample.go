package scaffold

// Action is the repository of kalypso's own action.
const Action = "kalypso-gitops/kalypso"

// UnknownAction is what workflows use if the commit to be trusted is to be chosen yet.
const UnknownAction = Action + "@COMMIT # EDIT: the commit of the release that you trust"

// SampleFleet is the fleet of the playground. Its workflows run nowhere, and so are the same whoever makes it.
func SampleFleet() Fleet {
	f := Fleet{
		ControlPlane: "https://github.com/acme/control-plane", GitOps: "https://github.com/acme/gitops", Base: "main",
		Environments: []string{"dev", "stage", "prod"}, Reconciler: "flux", Asks: map[string][]string{}, Action: UnknownAction,
	}
	for _, environment := range f.Environments {
		f.Asks[environment] = []string{"command:./" + ClustersProgram}
	}
	return f
}

// ClustersProgram is the file of the playground that stands for the clusters. It has to be executable.
const ClustersProgram = "clusters.sh"

// SampleOwner is what the URLs of all its repositories begin with.
const SampleOwner = "https://github.com/acme/"

// SampleApplications are the repositories of its applications.
func SampleApplications() []string { return []string{"loyalty", "platform-services", "shop"} }

// SampleApplication is what one of them holds.
func (f Fleet) SampleApplication(name string) (Files, error) {
	return filesIn("sample/applications/"+name, f.data())
}

// SampleBaseBranch is what the base branch of its control plane holds.
func (f Fleet) SampleBaseBranch() (Files, error) { return f.baseBranch("sample/base") }

// SampleEnvironmentBranch is what the branch of an environment in its control plane holds. base is the commit of the base
// branch that the environment has.
func (f Fleet) SampleEnvironmentBranch(environment, base string) (Files, error) {
	return f.environmentBranch(environment, base, "sample/environment", "sample/"+environment)
}

// Playground is what stands beside the repositories: how to work with them, and simulated clusters. replace is how
// they are read instead of what is on servers, as --replace has it.
func (f Fleet) Playground(replace string) (Files, error) {
	d := f.data()
	d.Replace = replace
	return filesIn("sample/playground", d)
}
