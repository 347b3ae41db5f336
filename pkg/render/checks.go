package render

import (
	"fmt"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/jsonschema"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// schemaChecks checks the configuration of assignments against the ConfigSchemas that apply and the
// schemas of the deployment target. The same values are checked once against the same schema.
type schemaChecks struct {
	platform []placedSchema
	choice   *choice
	targets  map[*model.DeploymentTarget][]placedSchema

	mu sync.Mutex
	// passed remembers for each schema what was checked of the keys that it looks at.
	passed map[*jsonschema.Schema]*passedValues
	// checked remembers what whole configurations have come to, the last maxShared of them.
	checked map[checkKey][]jsonschema.Violation
}

// passedValues is a tree of settings, a level for each key that a schema looks at.
type passedValues struct {
	next   map[*setting]*passedValues
	known  bool
	passes bool
}

// placedSchema is a schema with what to call it. The schema is nil if it does not compile.
type placedSchema struct {
	*jsonschema.Schema
	at   diag.Place
	name string
}

type checkKey struct {
	schema *jsonschema.Schema
	values *Values
}

func newSchemaChecks(fleet *model.Fleet) (*schemaChecks, diag.List) {
	var diags diag.List
	c := &schemaChecks{
		targets: map[*model.DeploymentTarget][]placedSchema{},
		passed:  map[*jsonschema.Schema]*passedValues{}, checked: map[checkKey][]jsonschema.Violation{},
	}
	texts := map[model.Text]*jsonschema.Schema{} // a workload's schemas are those of all its targets
	compile := func(text model.Text) *jsonschema.Schema {
		schema, ok := texts[text]
		if !ok {
			var problems diag.List
			schema, problems = jsonschema.Compile(text.Value, text.At)
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
	c.choice = newChoice(all)
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

// expire forgets what was checked, and with it the settings.
func (c *schemaChecks) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.passed)
	clear(c.checked)
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

func (c *schemaChecks) violations(schema *jsonschema.Schema, values *Values) []jsonschema.Violation {
	if c.passes(schema, values) {
		return nil
	}
	key := checkKey{schema, values}
	c.mu.Lock()
	found, ok := c.checked[key]
	c.mu.Unlock()
	if ok {
		return found
	}
	found = schema.Check(values.Data())
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.checked) >= maxShared {
		clear(c.checked)
	}
	c.checked[key] = found
	return found
}

// passes reports whether the values are known to pass, because the schema looks at some keys alone, which are alike in many
// configurations. What fails is checked as a whole, to say why.
func (c *schemaChecks) passes(schema *jsonschema.Schema, values *Values) bool {
	keys, closed, local := schema.Keys()
	if !local || !values.expressible() {
		return false
	}
	chosen := make([]*setting, 0, len(keys))
	present := 0
	for _, key := range keys {
		s := values.setting(key)
		if s != nil {
			s, present = s.representative(), present+1
		}
		chosen = append(chosen, s)
	}
	if closed && present < len(values.settings) {
		return false
	}
	c.mu.Lock()
	passed := c.passed[schema]
	if passed == nil {
		passed = &passedValues{}
		c.passed[schema] = passed
	}
	for _, s := range chosen {
		passed = passed.of(s)
	}
	known, passes := passed.known, passed.passes
	c.mu.Unlock()
	if known {
		return passes
	}
	data := make(map[string]any, len(chosen))
	for _, s := range chosen {
		if s != nil {
			data[s.key.name] = s.value
		}
	}
	passes = len(schema.Check(data)) == 0
	c.mu.Lock()
	defer c.mu.Unlock()
	passed.known, passed.passes = true, passes
	return passes
}

func (p *passedValues) of(s *setting) *passedValues {
	next := p.next[s]
	if next == nil {
		if p.next == nil {
			p.next = map[*setting]*passedValues{}
		}
		next = &passedValues{}
		p.next[s] = next
	}
	return next
}

// place returns where the value was set that a path leads to; zero if it is not set.
func (v *Values) place(path []string) diag.Place {
	if len(path) == 0 {
		return diag.Place{}
	}
	origins := v.Origins(path[0])
	if len(origins) == 0 {
		return diag.Place{}
	}
	return origins[len(origins)-1].At
}
