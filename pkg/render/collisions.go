package render

import (
	"fmt"
	"maps"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/kalypso-gitops/kalypso/pkg/render/reference"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// occurrence is an object with the output that it is in.
type occurrence struct {
	*output
	number int
}

func (o occurrence) object() *verify.Object { return &o.objects[o.number] }

func (o occurrence) assignment() *schedule.Assignment { return o.files[0].Assignment }

// statement is an object and what it says.
type statement struct {
	verify.ID
	sum verify.Digest
}

// statement reads the files of an output if it has to.
func (o occurrence) statement() statement {
	if o.object().Sum == nil {
		o.objects = objectsIn(o.files)
	}
	return statement{o.object().ID, *o.object().Sum}
}

// objectsIn returns the objects in files.
func objectsIn(files []File) []verify.Object {
	var all []verify.Object
	for _, file := range files {
		if file.yaml {
			objects, _ := verify.Read(file.Content.String())
			all = append(all, objects...)
		}
	}
	return all
}

// collider finds objects that two targets render on one cluster type: on the cluster, the one
// applied last would win. What the templates write for every target alike may be there many times,
// as long as it is the same.
type collider struct {
	*renderer
	diags *diag.List
	// common are objects that the templates are known to write for every target alike.
	common map[audience]map[statement]bool
}

// audience is a set of targets that differ in nothing but what their applications say.
type audience struct {
	clusterType *model.ClusterType
	values      *config.Values
	workspace   string
}

// collisions reports those of the assignments of a cluster type, and forgets what is in their files.
func (r *renderer) collisions(positions []int, outputs []output) diag.List {
	var diags diag.List
	c := &collider{r, &diags, map[audience]map[statement]bool{}}
	first := make(map[verify.ID]occurrence, len(positions))
	for _, i := range positions {
		c.add(&outputs[i], first)
	}
	for _, i := range positions {
		outputs[i].objects = nil
	}
	return diags
}

// add compares the objects of an assignment with the first of each that there was.
func (c *collider) add(o *output, first map[verify.ID]occurrence) {
	for i := range o.objects {
		this := occurrence{o, i}
		before, ok := first[this.object().ID]
		switch {
		case !ok:
			first[this.object().ID] = this
		case before.assignment() != this.assignment():
			c.collision(before, this)
		}
	}
}

func (c *collider) collision(one, two occurrence) {
	first, second := one.assignment(), two.assignment()
	id := two.object().ID
	content := "with different content"
	if one.statement() == two.statement() {
		common := c.commonObjects(two)
		if common[two.statement()] {
			return
		}
		content = "with a name from the application"
		for object := range common {
			if object.ID == id {
				content = "with content from the application"
			}
		}
	}
	report := c.diags.Error
	if first.Target.Registration == second.Target.Registration {
		report = c.diags.Warning // nobody but the application's own team is hurt
	}
	report("object-collision", second.Target.Name.At, fmt.Sprintf("deployment targets %q and %q both render %s on cluster type %q, %s",
		first.Target.Name.Value, second.Target.Name.Value, id, second.ClusterType.Name.Value, content),
		diag.See(first.Target.Name.At, "the other one"),
		diag.Hint("use .DeploymentTargetName or .Namespace in the object's name in the template"))
}

// commonObjects returns objects that the templates write for every target alike: an object is
// rendered once more for a target that does not exist, and is common if it is there again. That target
// keeps the labels that the name cannot come from, because templates ask for them.
func (c *collider) commonObjects(o occurrence) map[statement]bool {
	a := o.assignment()
	values := c.configurator.Configure(a.ClusterType, a.Target)
	group := audience{a.ClusterType, values, a.Target.Workspace}
	if c.common[group] == nil {
		c.common[group] = map[statement]bool{}
	}
	if !c.common[group][o.statement()] {
		for _, object := range c.forNobody(o, values) {
			c.common[group][statement{object.ID, *object.Sum}] = true
		}
	}
	return c.common[group]
}

func (c *collider) forNobody(o occurrence, values *config.Values) []verify.Object {
	a := o.assignment()
	nobody := *a.Target
	nobody.Name.Value, nobody.Workload = "kalypso0nobody", "kalypso0nobody"
	templates := c.clusterTypes[a.ClusterType]
	facts := reference.NewData(&schedule.Assignment{Target: &nobody, ClusterType: a.ClusterType},
		anonymous(c.targets[a.Target], o.object().ID), templates.Labels)
	rendered, _ := reference.Render(&reference.Subject{
		Assignment: a, Templates: templates, Facts: facts, View: view, Values: values,
	}, c.options.Bounds, nil, nil)
	files := make([]File, 0, len(rendered))
	for i := range rendered {
		files = append(files, inTree(&rendered[i], a))
	}
	return objectsIn(files)
}

// anonymous returns the data without the strings of the application, but for labels that have no
// part in the name of an object.
func anonymous(t *reference.Target, id verify.ID) *reference.Target {
	const nothing = "kalypso0nothing"
	anonymous := &reference.Target{Labels: maps.Clone(t.Labels), Manifests: maps.Clone(t.Manifests)}
	name := strings.ToLower(id.Namespace + " " + id.Name)
	for key, value := range anonymous.Labels {
		if key == model.WorkloadLabel || value != "" && strings.Contains(name, strings.ToLower(value)) {
			anonymous.Labels[key] = nothing
		}
	}
	for key := range anonymous.Manifests {
		anonymous.Manifests[key] = nothing
	}
	return anonymous
}
