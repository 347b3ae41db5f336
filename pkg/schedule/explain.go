package schedule

import (
	"fmt"

	"k8s.io/apimachinery/pkg/selection"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Verdict says what one policy makes of one pair of a deployment target and a cluster type.
type Verdict struct {
	Policy *model.SchedulingPolicy
	// Assigns is true if the policy is a reason for the assignment; then Misses is empty.
	Assigns bool
	Misses  []Miss
}

// Miss is one condition of a policy that does not hold.
type Miss struct {
	// At is the condition in the policy.
	At diag.Place
	// Message says what the policy wants and what it found.
	Message string
}

// Explain says for every policy why it assigns the target to the cluster type, or why not. Policies
// with invalid selectors are left out; Assign reports them.
func Explain(fleet *model.Fleet, target *model.DeploymentTarget, clusterType *model.ClusterType) []Verdict {
	var verdicts []Verdict
	for _, p := range newScheduler(fleet, &diag.List{}).policies {
		v := Verdict{Policy: p.SchedulingPolicy}
		if w := p.Workspace; w.Value != "" && w.Value != target.Workspace {
			v.Misses = append(v.Misses, Miss{w.At, fmt.Sprintf("wants workspace %q, but the deployment target is of %q", w.Value, target.Workspace)})
		}
		v.miss(p.targets, target.Labels, "deployment target")
		v.miss(p.clusterTypes, clusterType.Labels, "cluster type")
		v.Assigns = len(v.Misses) == 0
		verdicts = append(verdicts, v)
	}
	return verdicts
}

func (v *Verdict) miss(s selector, labels map[string]model.Text, what string) {
	one := newIndex(1, func(int) map[string]model.Text { return labels })
	for _, r := range s {
		if one.find(selector{r}).has(0) {
			continue
		}
		found := fmt.Sprintf("the %s has no label %q", what, r.key)
		if value, ok := labels[r.key]; ok {
			found = fmt.Sprintf("the %s has %s=%s", what, r.key, value.Value)
			if r.operator == selection.DoesNotExist {
				found = fmt.Sprintf("the %s has the label %q", what, r.key)
			}
		}
		v.Misses = append(v.Misses, Miss{r.at, fmt.Sprintf("wants %s, but %s", r, found)})
	}
}
