package change

import (
	"fmt"
	"regexp"
	"strconv"

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

var planForm = regexp.MustCompile(`^(\d+) targets? on (\d+) cluster types?: \+(\d+) ~(\d+) -(\d+) =(\d+)$`)

// ParsePlan reads the line that String returns.
func ParsePlan(line string) (p Plan, ok bool) {
	found := planForm.FindStringSubmatch(line)
	if found == nil {
		return Plan{}, false
	}
	for i, count := range []*int{&p.Targets, &p.ClusterTypes, &p.Added, &p.Changed, &p.Removed, &p.Unchanged} {
		var err error
		if *count, err = strconv.Atoi(found[i+1]); err != nil {
			return Plan{}, false
		}
	}
	return p, true
}
