package render

import (
	"cmp"
	"fmt"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// collect reports what the assignments came to, each problem once however many files have it.
func (r *renderer) collect(assignments []schedule.Assignment, outputs []output, diags *diag.List) {
	c := &collector{published: r.options.Published, groups: map[groupKey]*problemGroup{}}
	for i := range outputs {
		for _, f := range outputs[i].violations {
			c.add(diag.Error, f, assignments[i].Target)
		}
		if r.usage.exceeded(assignments[i].Target) {
			continue
		}
		for _, f := range outputs[i].problems {
			c.add(c.severity(f, outputs[i].files), f, assignments[i].Target)
		}
	}
	for _, g := range c.order {
		*diags = append(*diags, g.diagnostic())
	}
}

// collector groups problems that differ only in the file.
type collector struct {
	published func(path string, content []byte) bool
	groups    map[groupKey]*problemGroup
	order     []*problemGroup
}

type groupKey struct {
	severity      diag.Severity
	rule, message string
	file          diag.File
	line, column  int
}

type problemGroup struct {
	verify.Problem
	severity diag.Severity
	files    int
	// targets are what the files were rendered for.
	targets []*model.DeploymentTarget
}

func (c *collector) add(severity diag.Severity, f verify.Problem, target *model.DeploymentTarget) {
	key := groupKey{severity: severity, rule: f.Rule, message: f.Message, line: f.At.Line, column: f.At.Column}
	if f.At.File != nil {
		key.file = *f.At.File
	}
	g, ok := c.groups[key]
	if !ok {
		g = &problemGroup{Problem: f, severity: severity}
		c.groups[key] = g
		c.order = append(c.order, g)
	}
	g.files++
	if n := len(g.targets); n == 0 || g.targets[n-1] != target { // the files of a target come one after the other
		g.targets = append(g.targets, target)
	}
}

// severity makes a warning of a flaw in a file that is published already as it is.
func (c *collector) severity(f verify.Problem, files []File) diag.Severity {
	if !f.Lasting || c.published == nil {
		return diag.Error
	}
	for _, file := range files {
		if file.Path == f.Path && c.published(file.Path, file.Content.Bytes()) {
			return diag.Warning
		}
	}
	return diag.Error
}

func (g *problemGroup) diagnostic() diag.Diagnostic {
	where := g.Path
	if g.Line > 0 {
		where += fmt.Sprintf(" line %d", g.Line)
	}
	if g.files > 1 {
		where += fmt.Sprintf(" and %d more", g.files-1)
	}
	d := diag.Diagnostic{
		Severity: g.severity, Rule: g.Rule, At: g.At,
		Message: fmt.Sprintf("%s (in %s)", g.Message, where), Hint: cmp.Or(g.Hint, verify.HintFor(g.Flaw)),
	}
	if g.severity == diag.Warning {
		d.Hint = "the published file is identical, so the run continues"
	}
	if g.Related != nil {
		d.Related = append(d.Related, *g.Related)
	}
	for _, target := range g.targets {
		d.Concerns = append(d.Concerns, target.Name.At)
	}
	return d
}
