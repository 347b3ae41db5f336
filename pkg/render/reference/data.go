package reference

import (
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// Data is what a template sees. The names are the operator's; ClusterTypeLabels is ours.
type Data struct {
	DeploymentTargetName string
	// Namespace is "<environment>-<cluster type>-<deployment target name>".
	Namespace         string
	Environment       string
	Workspace         string
	Workload          string
	ClusterType       string
	Labels            map[string]string
	ClusterTypeLabels map[string]string
	Manifests         map[string]string
	ConfigData        map[string]any
	// Repo, Branch and Path are those of Manifests: the form of the seeds' examples.
	Repo, Branch, Path string
}

// Target is what all assignments of a deployment target share.
type Target struct {
	Labels, Manifests map[string]string
	tenant            tenantText
}

// NewTarget returns what the assignments of a target share.
func NewTarget(target *model.DeploymentTarget) *Target {
	manifests := plainTexts(target.Manifests)
	return &Target{plainTexts(target.Labels), manifests, newTenantText(target, manifests)}
}

func plainTexts(texts map[string]model.Text) map[string]string {
	plain := make(map[string]string, len(texts))
	for key, text := range texts {
		plain[key] = text.Value
	}
	return plain
}

// NewData returns the data of an assignment, but for the configuration.
func NewData(a *schedule.Assignment, target *Target, clusterTypeLabels map[string]string) Data {
	environment := a.Target.Environment.Value
	d := Data{
		DeploymentTargetName: a.Target.Name.Value,
		Namespace:            environment + "-" + a.ClusterType.Name.Value + "-" + a.Target.Name.Value,
		Environment:          environment,
		Workspace:            a.Target.Workspace,
		Workload:             a.Target.Workload,
		ClusterType:          a.ClusterType.Name.Value,
		Labels:               target.Labels,
		ClusterTypeLabels:    clusterTypeLabels,
	}
	return d.withManifests(target.Manifests)
}

func (d Data) withManifests(manifests map[string]string) Data {
	d.Manifests = manifests
	d.Repo, d.Branch, d.Path = manifests["repo"], manifests["branch"], manifests["path"]
	return d
}
