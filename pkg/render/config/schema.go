package config

import (
	"fmt"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/jsonschema"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// Schemas checks the configuration of assignments against the ConfigSchemas that apply and the
// schemas of the deployment target. The same values are checked once against the same schema.
type Schemas struct {
	platform []placedSchema
	choice   *choice
	// incomplete is true if missing values may be in sources that could not be read.
	incomplete bool
	targets    map[*model.DeploymentTarget][]placedSchema

	mu sync.Mutex
	// passed caches for each schema the results for the keys that it reads.
	passed map[*jsonschema.Schema]*passedValues
	// checked caches the violations of at most maxShared whole configurations.
	checked map[checkKey][]jsonschema.Violation
}

// passedValues is a tree of settings, with a level for each key that a schema reads.
type passedValues struct {
	next   map[*Setting]*passedValues
	known  bool
	passes bool
}

// placedSchema is a schema with its place and display name. Schema is nil if it does not compile.
type placedSchema struct {
	*jsonschema.Schema
	at   diag.Place
	name string
}

type checkKey struct {
	schema *jsonschema.Schema
	values *Values
}

// NewSchemas compiles the ConfigSchemas of a fleet and reports those that do not compile.
func NewSchemas(fleet *model.Fleet) (*Schemas, diag.List) {
	var diags diag.List
	c := &Schemas{
		incomplete: fleet.ConfigIncomplete(),
		targets:    map[*model.DeploymentTarget][]placedSchema{},
		passed:     map[*jsonschema.Schema]*passedValues{}, checked: map[checkKey][]jsonschema.Violation{},
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

// Violation is a difference between a configuration and a schema.
type Violation struct {
	// At is the place where the value is set, or that of the schema if nothing sets it.
	At      diag.Place
	Message string
	Schema  *diag.Related
	// Hint is what to do; empty if the message is enough.
	Hint string
}

// Check returns the violations of one assignment.
func (c *Schemas) Check(a *schedule.Assignment, values *Values) []Violation {
	var problems []Violation
	for _, position := range c.choice.of(a.ClusterType, a.Target) {
		problems = append(problems, c.against(c.platform[position], values)...)
	}
	for _, schema := range c.targets[a.Target] {
		problems = append(problems, c.against(schema, values)...)
	}
	return problems
}

// Forget removes a cluster type from the cache.
func (c *Schemas) Forget(clusterType *model.ClusterType) { c.choice.forget(clusterType) }

// Expire clears the caches, which refer to settings.
func (c *Schemas) Expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.passed)
	clear(c.checked)
}

func (c *Schemas) against(schema placedSchema, values *Values) []Violation {
	if schema.Schema == nil {
		return nil // reported already
	}
	var problems []Violation
	for _, v := range c.violations(schema.Schema, values) {
		at, seen := values.Place(v.Path), &diag.Related{At: schema.at, Message: schema.name + keywordSuffix(v.Keyword)}
		if c.incomplete && (at.IsZero() || strings.HasSuffix(v.Keyword, "/required")) {
			continue
		}
		message, hint := "config", ""
		if len(v.Path) == 0 && strings.HasSuffix(v.Keyword, "/required") {
			hint = "kalypso explain config TARGET KEY shows the ConfigMaps that set it, but do not apply"
		}
		if len(v.Path) > 0 {
			message = "config value " + strings.Join(v.Path, ".")
		}
		if at.IsZero() {
			at = schema.at
		}
		problems = append(problems, Violation{at, fmt.Sprintf("%s: %s", message, v.Message), seen, hint})
	}
	return problems
}

func keywordSuffix(keyword string) string {
	if keyword == "" {
		return ""
	}
	return " requires it at " + keyword
}

func (c *Schemas) violations(schema *jsonschema.Schema, values *Values) []jsonschema.Violation {
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

// passes reports whether the values certainly pass. If the schema reads only some keys, its results are cached by their
// settings, which many configurations share. Values that fail are checked as a whole to get the violations.
func (c *Schemas) passes(schema *jsonschema.Schema, values *Values) bool {
	keys, closed, local := schema.Keys()
	if !local || !values.expressible() {
		return false
	}
	chosen := make([]*Setting, 0, len(keys))
	present := 0
	for _, key := range keys {
		s := values.setting(key)
		if s != nil {
			s, present = s.Representative(), present+1
		}
		chosen = append(chosen, s)
	}
	if closed && present < len(values.Settings) {
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
			data[s.Key.Name] = s.Value
		}
	}
	passes = len(schema.Check(data)) == 0
	c.mu.Lock()
	defer c.mu.Unlock()
	passed.known, passed.passes = true, passes
	return passes
}

func (p *passedValues) of(s *Setting) *passedValues {
	next := p.next[s]
	if next == nil {
		if p.next == nil {
			p.next = map[*Setting]*passedValues{}
		}
		next = &passedValues{}
		p.next[s] = next
	}
	return next
}

// Place returns the place where the value at a path is set; zero if it is not set.
func (v *Values) Place(path []string) diag.Place {
	if len(path) == 0 {
		return diag.Place{}
	}
	origins := v.Origins(path[0])
	if len(origins) == 0 {
		return diag.Place{}
	}
	return origins[len(origins)-1].At
}
