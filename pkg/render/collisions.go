package render

import (
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// occurrence is an object with the assignment that renders it.
type occurrence struct {
	objectSum
	*schedule.Assignment
}

// collisions reports objects that two targets render on one cluster type: on the cluster, the one
// applied last would win. What the templates write for every target alike may be there many times,
// as long as it is the same.
func (r *renderer) collisions(outputs []output, diags *diag.List) {
	var clusterType *model.ClusterType
	var first map[objectID]occurrence
	for i := range outputs {
		if len(outputs[i].files) == 0 {
			continue
		}
		a := outputs[i].files[0].Assignment
		if a.ClusterType != clusterType {
			clusterType, first = a.ClusterType, map[objectID]occurrence{}
		}
		for _, object := range outputs[i].objects {
			before, ok := first[object.objectID]
			if !ok {
				first[object.objectID] = occurrence{object, a}
				continue
			}
			if before.Assignment != a {
				r.collision(before, occurrence{object, a}, diags)
			}
		}
	}
}

func (r *renderer) collision(first, second occurrence, diags *diag.List) {
	same := first.sum == second.sum
	if same && r.alike(second) {
		return
	}
	report := diags.Error
	if first.Target.Registration == second.Target.Registration {
		report = diags.Warning // nobody but the application's own team is hurt
	}
	content := "with different content"
	if same {
		content = "by a name that comes from the application"
	}
	report("object-collision", second.Target.Name.At, fmt.Sprintf("deployment targets %q and %q both render %s on cluster type %q, %s",
		first.Target.Name.Value, second.Target.Name.Value, second.objectID, second.ClusterType.Name.Value, content),
		diag.See(first.Target.Name.At, "the other one"),
		diag.Hint("make the name in the template depend on .DeploymentTargetName or .Namespace"))
}

// alike reports whether the templates write an object for every target alike: it is rendered once
// more for a target that does not exist, and must be there again.
func (r *renderer) alike(o occurrence) bool {
	nobody := *o.Target
	nobody.Name.Value, nobody.Workload = "kalypso0nobody", "kalypso0nobody"
	facts := newData(&schedule.Assignment{Target: &nobody, ClusterType: o.ClusterType},
		r.targets[o.Target].anonymous(), r.clusterTypes[o.ClusterType].labels, r.configurator.Configure(o.ClusterType, o.Target))
	run := &execution{bounds: r.options.Bounds}
	for _, file := range run.files(o.Assignment, r.clusterTypes[o.ClusterType], facts, r.configurator.Configure(o.ClusterType, o.Target)) {
		objects, _ := verify(string(file.Content))
		if slices.Contains(objects, o.objectSum) {
			return true
		}
	}
	return false
}

// anonymous returns the data with every string of the application replaced.
func (t *targetData) anonymous() *targetData {
	return &targetData{labels: replaced(t.labels), manifests: replaced(t.manifests)}
}

func replaced(texts map[string]string) map[string]string {
	out := make(map[string]string, len(texts))
	for key := range texts {
		out[key] = "kalypso0nothing"
	}
	return out
}
