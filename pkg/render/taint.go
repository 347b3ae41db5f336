package render

import (
	"fmt"
	"slices"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
)

// A tenant's string must come out as one plain value, whatever it holds. Most strings cannot be
// anything else. For the rest it is proven: the files are rendered once more in a disguise, with
// placeholders for these strings, and may differ from the real ones in nothing but these values.
// tenantstring.go proves that such a value is a string.

// rendering is an assignment with all that its files are rendered from.
type rendering struct {
	*subject
	bounds template.Bounds
	// files are what came out.
	files []renderedFile
}

// taint reports the files in which a string of the application is not exactly one string.
func (g *rendering) taint(target *tenantText, doubtful bool) []verify.Problem {
	if doubtful || slices.ContainsFunc(g.files, func(f renderedFile) bool { return !f.untainted }) {
		if problems := g.prove(target.disguise); len(problems) > 0 {
			return problems
		}
	}
	var problems []verify.Problem
	for _, file := range g.files {
		problems = append(problems, g.misplaced(file, target.empty)...)
		if file.yaml && !file.verified {
			problems = append(problems, g.mistyped(file, target.strings)...)
		}
	}
	return problems
}

// prove reports the files whose structure is not proven to be the same with placeholders.
func (g *rendering) prove(d *disguise) []verify.Problem {
	if d == nil {
		return nil
	}
	var problems []verify.Problem
	proven := g.sameStructure(d)
	for _, file := range g.files {
		if !proven[file.path] {
			problems = append(problems, g.tainted(file, g.blame(file, d)))
		}
	}
	return problems
}

// blame returns the key of the manifests that keeps a file from being proven: the first if it is not
// the fault of one alone.
func (g *rendering) blame(file renderedFile, d *disguise) string {
	if len(d.entries) > 1 {
		for _, entry := range d.entries {
			manifests, hidden := d.reveal(entry)
			revealed := rendering{g.with(g.facts.withManifests(manifests)), g.bounds, nil}
			revealed.files, _ = g.render(manifests)
			if !revealed.sameStructure(hidden)[file.path] {
				return entry.key
			}
		}
	}
	return d.entries[0].key
}

func (g *rendering) tainted(file renderedFile, key string) verify.Problem {
	value := g.Target.Manifests[key]
	return verify.Problem{
		Path: file.path,
		Flaw: verify.Flaw{Rule: "tenant-value", Message: fmt.Sprintf(
			"the value %q of manifests.%s does not come out as one plain value", value.Value, key)},
		At:      value.At,
		Related: &diag.Related{At: file.template, Message: "it is printed by this template"},
		Hint:    "use a value without special characters, or print it with {{ … | quote }} in the template",
	}
}

// sameStructure returns the files that differ in nothing but the values that were replaced.
func (g *rendering) sameStructure(d *disguise) map[string]bool {
	proven := make(map[string]bool, len(g.files))
	_, want := g.render(g.facts.Manifests)
	files, actions := g.render(d.manifests)
	if len(files) != len(g.files) || !slices.Equal(actions, want) {
		return proven // a file more or less, or a function that made a template of a string
	}
	probes := sync.OnceValue(func() []renderedFile {
		files, _ := g.render(d.probes())
		return files
	})
	for _, file := range g.files {
		disguised, _ := find(files, file.path)
		if file.yaml {
			proven[file.path] = d.sameYAML(file.content.String(), disguised.content.String(), func() string {
				probe, _ := find(probes(), file.path)
				return probe.content.String()
			})
		} else {
			proven[file.path] = d.sameShell(file.content.String(), disguised.content.String())
		}
	}
	return proven
}

// render renders the files with other manifests. It also returns how many actions there were in what
// was rendered again.
func (g *rendering) render(manifests map[string]string) (files []renderedFile, actions []int) {
	run := &execution{bounds: g.bounds, countsActions: true}
	files = run.files(g.with(g.facts.withManifests(manifests)))
	return files, run.actions
}

// with returns the subject with other data.
func (s *subject) with(facts data) *subject {
	other := *s
	other.facts = facts
	return &other
}

func find(files []renderedFile, path string) (renderedFile, bool) {
	i := slices.IndexFunc(files, func(f renderedFile) bool { return f.path == path })
	if i < 0 {
		return renderedFile{}, false
	}
	return files[i], true
}
