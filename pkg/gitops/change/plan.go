package change

import (
	"fmt"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Plan counts deployment targets by what happens to them.
type Plan struct {
	// Targets and ClusterTypes are those that exist before or after.
	Targets      int `json:"targets"`
	ClusterTypes int `json:"clusterTypes"`
	Added        int `json:"added"`
	Changed      int `json:"changed"`
	Removed      int `json:"removed"`
	Unchanged    int `json:"unchanged"`
}

// Plan counts the targets of a change.
func (c *Change) Plan() Plan {
	return Plan{
		Targets: len(c.Targets), ClusterTypes: c.ClusterTypes,
		Added: c.Count(Added), Changed: c.Count(Changed), Removed: c.Count(Removed), Unchanged: c.Count(Unchanged),
	}
}

// String is the plan in one line, the same wherever it is shown.
func (p Plan) String() string {
	return fmt.Sprintf("%s on %s: +%d ~%d -%d =%d", diag.Plural(p.Targets, "target"), diag.Plural(p.ClusterTypes, "cluster type"),
		p.Added, p.Changed, p.Removed, p.Unchanged)
}

// ParsePlan reads the line that String returns.
func ParsePlan(line string) (p Plan, ok bool) {
	var targets, types string
	_, err := fmt.Sscanf(line, "%d %s on %d cluster %s +%d ~%d -%d =%d", &p.Targets, &targets, &p.ClusterTypes, &types,
		&p.Added, &p.Changed, &p.Removed, &p.Unchanged)
	if err != nil || p.String() != line {
		return Plan{}, false
	}
	return p, true
}
