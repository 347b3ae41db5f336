package render

import (
	"fmt"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// schemaChecks checks the configuration of assignments against the ConfigSchemas that apply and the
// schemas of the deployment target. The same values are checked once against the same schema.
type schemaChecks struct {
	platform []placedSchema
	choice   *choice
	targets  map[*model.DeploymentTarget][]placedSchema

	mu        sync.Mutex
	instances map[*Values]*Instance
	checked   map[checkKey][]Violation
}

// placedSchema is a schema with what to call it. The schema is nil if it does not compile.
type placedSchema struct {
	*Schema
	at   diag.Place
	name string
}

type checkKey struct {
	schema *Schema
	values *Values
}

func newSchemaChecks(fleet *model.Fleet) (*schemaChecks, diag.List) {
	var diags diag.List
	c := &schemaChecks{
		targets:   map[*model.DeploymentTarget][]placedSchema{},
		instances: map[*Values]*Instance{}, checked: map[checkKey][]Violation{},
	}
	texts := map[model.Text]*Schema{} // a workload's schemas are those of all its targets
	compile := func(text model.Text) *Schema {
		schema, ok := texts[text]
		if !ok {
			var problems diag.List
			schema, problems = CompileSchema(text.Value, text.At)
			diags.Add(problems)
			texts[text] = schema
		}
		return schema
	}
	var all [][]condition
	for _, schema := range fleet.ConfigSchemas {
		all = append(all, conditions(schema.Labels))
		placed := placedSchema{at: schema.Schema.At, name: fmt.Sprintf("ConfigSchema %q", schema.Name.Value)}
		if !schema.Broken {
			placed.Schema = compile(schema.Schema)
		}
		c.platform = append(c.platform, placed)
	}
	c.choice = newChoice(all, fleet.ClusterTypes)
	for _, target := range fleet.Targets {
		for _, text := range target.ConfigSchemas {
			c.targets[target] = append(c.targets[target], placedSchema{
				compile(text), text.At, fmt.Sprintf("the schema of workload %q", target.Workload),
			})
		}
	}
	return c, diags
}

// check returns the violations of one assignment.
func (c *schemaChecks) check(a *schedule.Assignment, values *Values) []fileProblem {
	var problems []fileProblem
	for _, position := range c.choice.of(a.ClusterType, a.Target) {
		problems = append(problems, c.against(c.platform[position], a, values)...)
	}
	for _, schema := range c.targets[a.Target] {
		problems = append(problems, c.against(schema, a, values)...)
	}
	return problems
}

func (c *schemaChecks) against(schema placedSchema, a *schedule.Assignment, values *Values) []fileProblem {
	if schema.Schema == nil {
		return nil // reported already
	}
	var problems []fileProblem
	for _, v := range c.violations(schema.Schema, values) {
		at, seen := values.place(v.Path), &diag.Related{At: schema.at, Message: schema.name + keywordSuffix(v.Keyword)}
		message := "config"
		if len(v.Path) > 0 {
			message = "config value " + strings.Join(v.Path, ".")
		}
		if at.IsZero() {
			at = schema.at
		}
		problems = append(problems, fileProblem{
			path:    a.ClusterType.Name.Value + "/" + a.Target.Name.Value,
			flaw:    flaw{rule: "schema-violation", message: fmt.Sprintf("%s: %s", message, v.Message)},
			at:      at,
			related: seen,
		})
	}
	return problems
}

func keywordSuffix(keyword string) string {
	if keyword == "" {
		return ""
	}
	return " says so at " + keyword
}

func (c *schemaChecks) violations(schema *Schema, values *Values) []Violation {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := checkKey{schema, values}
	found, ok := c.checked[key]
	if !ok {
		instance := c.instances[values]
		if instance == nil {
			instance = NewInstance(values.Data)
			c.instances[values] = instance
		}
		found = schema.CheckInstance(instance)
		c.checked[key] = found
	}
	return found
}

// place returns where the value was set that a path leads to; zero if it is not set.
func (v *Values) place(path []string) diag.Place {
	if len(path) == 0 {
		return diag.Place{}
	}
	origins := v.Origins[path[0]]
	if len(origins) == 0 {
		return diag.Place{}
	}
	return origins[len(origins)-1].At
}
