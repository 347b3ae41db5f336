package render

import (
	"fmt"
	"maps"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// occurrence is an object with the assignment that renders it.
type occurrence struct {
	objectSum
	*schedule.Assignment
}

// collider finds objects that two targets render on one cluster type: on the cluster, the one
// applied last would win. What the templates write for every target alike may be there many times,
// as long as it is the same.
type collider struct {
	*renderer
	diags *diag.List
	// common are objects that the templates are known to write for every target alike.
	common map[audience]map[objectSum]bool
}

// audience is a set of targets that differ in nothing but what their applications say.
type audience struct {
	clusterType *model.ClusterType
	values      *Values
	workspace   string
}

func (r *renderer) collisions(outputs []output, diags *diag.List) {
	c := &collider{r, diags, map[audience]map[objectSum]bool{}}
	for _, group := range byClusterType(outputs) {
		first := map[objectID]occurrence{}
		for _, o := range group {
			c.add(o, first)
		}
	}
}

// byClusterType groups the outputs that have files, in order.
func byClusterType(outputs []output) [][]*output {
	var groups [][]*output
	positions := map[*model.ClusterType]int{}
	for i := range outputs {
		if len(outputs[i].files) == 0 {
			continue
		}
		clusterType := outputs[i].files[0].Assignment.ClusterType
		position, ok := positions[clusterType]
		if !ok {
			position = len(groups)
			positions[clusterType], groups = position, append(groups, nil)
		}
		groups[position] = append(groups[position], &outputs[i])
	}
	return groups
}

// add compares the objects of an assignment with the first of each that there was.
func (c *collider) add(o *output, first map[objectID]occurrence) {
	for _, object := range o.objects {
		this := occurrence{object, o.files[0].Assignment}
		before, ok := first[object.objectID]
		switch {
		case !ok:
			first[object.objectID] = this
		case before.Assignment != this.Assignment:
			c.collision(before, this)
		}
	}
}

func (c *collider) collision(first, second occurrence) {
	content := "with different content"
	if first.sum == second.sum {
		common := c.commonObjects(second)
		if common[second.objectSum] {
			return
		}
		content = "by a name that comes from the application"
		for object := range common {
			if object.objectID == second.objectID {
				content = "with content that comes from the application"
			}
		}
	}
	report := c.diags.Error
	if first.Target.Registration == second.Target.Registration {
		report = c.diags.Warning // nobody but the application's own team is hurt
	}
	report("object-collision", second.Target.Name.At, fmt.Sprintf("deployment targets %q and %q both render %s on cluster type %q, %s",
		first.Target.Name.Value, second.Target.Name.Value, second.objectID, second.ClusterType.Name.Value, content),
		diag.See(first.Target.Name.At, "the other one"),
		diag.Hint("make the name in the template depend on .DeploymentTargetName or .Namespace"))
}

// commonObjects returns objects that the templates write for every target alike: an object is
// rendered once more for a target that does not exist, and is common if it is there again. That target
// keeps the labels that the name cannot come from, because templates ask for them.
func (c *collider) commonObjects(o occurrence) map[objectSum]bool {
	values := c.configurator.Configure(o.ClusterType, o.Target)
	group := audience{o.ClusterType, values, o.Target.Workspace}
	if c.common[group] == nil {
		c.common[group] = map[objectSum]bool{}
	}
	if !c.common[group][o.objectSum] {
		for _, object := range c.forNobody(o, values) {
			c.common[group][object] = true
		}
	}
	return c.common[group]
}

func (c *collider) forNobody(o occurrence, values *Values) []objectSum {
	nobody := *o.Target
	nobody.Name.Value, nobody.Workload = "kalypso0nobody", "kalypso0nobody"
	templates := c.clusterTypes[o.ClusterType]
	facts := newData(&schedule.Assignment{Target: &nobody, ClusterType: o.ClusterType},
		c.targets[o.Target].anonymous(o.objectID), templates.labels, values)
	run := &execution{bounds: c.options.Bounds}
	var all []objectSum
	for _, file := range run.files(o.Assignment, templates, facts, values) {
		if file.yaml {
			objects, _ := verify(string(file.Content))
			all = append(all, objects...)
		}
	}
	return all
}

// anonymous returns the data without the strings of the application, but for labels that have no
// part in the name of an object.
func (t *targetData) anonymous(id objectID) *targetData {
	const nothing = "kalypso0nothing"
	anonymous := &targetData{labels: maps.Clone(t.labels), manifests: maps.Clone(t.manifests)}
	name := strings.ToLower(id.namespace + " " + id.name)
	for key, value := range anonymous.labels {
		if key == model.WorkloadLabel || value != "" && strings.Contains(name, strings.ToLower(value)) {
			anonymous.labels[key] = nothing
		}
	}
	for key := range anonymous.manifests {
		anonymous.manifests[key] = nothing
	}
	return anonymous
}
