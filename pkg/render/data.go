package render

import (
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// data is what a template sees. The names are the operator's; ClusterTypeLabels is ours.
type data struct {
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

// targetData is what all assignments of a deployment target share.
type targetData struct{ labels, manifests map[string]string }

func newTargetData(target *model.DeploymentTarget) *targetData {
	return &targetData{labels: plainTexts(target.Labels), manifests: plainTexts(target.Manifests)}
}

func plainTexts(texts map[string]model.Text) map[string]string {
	plain := make(map[string]string, len(texts))
	for key, text := range texts {
		plain[key] = text.Value
	}
	return plain
}

// newData returns the data of an assignment, but for the configuration.
func newData(a *schedule.Assignment, target *targetData, clusterTypeLabels map[string]string) data {
	environment := a.Target.Environment.Value
	d := data{
		DeploymentTargetName: a.Target.Name.Value,
		Namespace:            environment + "-" + a.ClusterType.Name.Value + "-" + a.Target.Name.Value,
		Environment:          environment,
		Workspace:            a.Target.Workspace,
		Workload:             a.Target.Workload,
		ClusterType:          a.ClusterType.Name.Value,
		Labels:               target.labels,
		ClusterTypeLabels:    clusterTypeLabels,
	}
	return d.withManifests(target.manifests)
}

func (d data) withManifests(manifests map[string]string) data {
	d.Manifests = manifests
	d.Repo, d.Branch, d.Path = manifests["repo"], manifests["branch"], manifests["path"]
	return d
}
