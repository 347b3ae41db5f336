package reference

import (
	"fmt"
	"slices"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
)

// A tenant's string must come out as one plain value, whatever it holds. Most strings cannot be
// anything else. For the rest it is proven: the files are rendered once more with placeholders for these
// strings, and may differ from the real ones in nothing but these values.
// tenantstring.go proves that such a value is a string.

// rendering is an assignment with all that its files are rendered from.
type rendering struct {
	*Subject
	bounds template.Bounds
	// files are what came out.
	files []File
}

// taint reports the files in which a string of the application is not exactly one string.
func (g *rendering) taint(target *tenantText, doubtful bool) []verify.Problem {
	if doubtful || slices.ContainsFunc(g.files, func(f File) bool { return !f.Untainted }) {
		if problems := g.prove(target.placeholders); len(problems) > 0 {
			return problems
		}
	}
	var problems []verify.Problem
	for _, file := range g.files {
		problems = append(problems, g.misplaced(file, target.empty)...)
		if file.YAML && !file.Verified {
			problems = append(problems, g.mistyped(file, target.strings)...)
		}
	}
	return problems
}

// prove reports the files whose structure is not proven to be the same with placeholders.
func (g *rendering) prove(d *placeholders) []verify.Problem {
	if d == nil {
		return nil
	}
	var problems []verify.Problem
	proven := g.sameStructure(d)
	for _, file := range g.files {
		if !proven[file.Path] {
			problems = append(problems, g.tainted(file, g.causingKey(file, d)))
		}
	}
	return problems
}

// causingKey returns the key of the manifests because of which a file is not proven: the first one if
// there are several.
func (g *rendering) causingKey(file File, d *placeholders) string {
	if len(d.entries) > 1 {
		for _, entry := range d.entries {
			manifests, hidden := d.restore(entry)
			restored := rendering{g.with(g.Facts.withManifests(manifests)), g.bounds, nil}
			restored.files, _ = g.render(manifests)
			if !restored.sameStructure(hidden)[file.Path] {
				return entry.key
			}
		}
	}
	return d.entries[0].key
}

func (g *rendering) tainted(file File, key string) verify.Problem {
	value := g.Target.Manifests[key]
	return verify.Problem{
		Path: file.Path,
		Flaw: verify.Flaw{Rule: "tenant-value", Message: fmt.Sprintf(
			"the value %q of manifests.%s is not rendered as one plain value", value.Value, key)},
		At:      value.At,
		Related: &diag.Related{At: file.Template, Message: "printed by this template"},
		Hint:    "use a value without special characters, or print it with {{ … | quote }} in the template",
	}
}

// sameStructure returns the files that differ in nothing but the values that were replaced.
func (g *rendering) sameStructure(d *placeholders) map[string]bool {
	proven := make(map[string]bool, len(g.files))
	_, want := g.render(g.Facts.Manifests)
	files, actions := g.render(d.manifests)
	if len(files) != len(g.files) || !slices.Equal(actions, want) {
		return proven // a file more or less, or a function that made a template of a string
	}
	probes := sync.OnceValue(func() []File {
		files, _ := g.render(d.probes())
		return files
	})
	for _, file := range g.files {
		withPlaceholders, _ := find(files, file.Path)
		if file.YAML {
			proven[file.Path] = d.sameYAML(file.Content.String(), withPlaceholders.Content.String(), func() string {
				probe, _ := find(probes(), file.Path)
				return probe.Content.String()
			})
		} else {
			proven[file.Path] = d.sameShell(file.Content.String(), withPlaceholders.Content.String())
		}
	}
	return proven
}

// render renders the files with other manifests. It also returns how many actions there were in what
// was rendered again.
func (g *rendering) render(manifests map[string]string) (files []File, actions []int) {
	run := &execution{bounds: g.bounds, countsActions: true}
	files = run.files(g.with(g.Facts.withManifests(manifests)))
	return files, run.actions
}

// with returns the subject with other data.
func (s *Subject) with(facts Data) *Subject {
	other := *s
	other.Facts = facts
	return &other
}

func find(files []File, path string) (File, bool) {
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == path })
	if i < 0 {
		return File{}, false
	}
	return files[i], true
}
