package schedule

import (
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// SelectClusterTypes returns the cluster types that a selector selects, by the rules of policies, in the given order. An
// empty selector selects all of them, one with errors none.
func SelectClusterTypes(selector model.Selector, clusterTypes []*model.ClusterType) ([]*model.ClusterType, diag.List) {
	var diags diag.List
	compiled := compile(selector, &diags)
	if diags.HasErrors() {
		return nil, diags
	}
	var selected []*model.ClusterType
	for _, c := range clusterTypes {
		if compiled.matches(c.Labels) {
			selected = append(selected, c)
		}
	}
	return selected, diags
}
