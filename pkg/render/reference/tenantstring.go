package reference

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// A string of a tenant must also be a string in the output: without quotes, 0123 is a number, and 2024 followed
// by -01-01 is a date. For plain scalars that some reader does not read as strings, typeProof determines whether
// they depend on a tenant's strings by rendering the file again with other strings.

// tenantString is a string of an application repository that templates see.
type tenantString struct {
	// what describes and quotes the string in messages.
	what  string
	text  string
	at    diag.Place
	field stringField
	// key is the key of a label or of an entry of the manifests; empty for names.
	key string
}

type stringField int

const (
	manifestValue stringField = iota
	manifestKey
	labelValue
	labelKey
	workloadName
	targetName
)

// tenantText is what an application says of a deployment target.
type tenantText struct {
	// placeholders is nil if no string of the manifests needs one.
	placeholders *placeholders
	// strings are the strings that are not empty, empty the values that are.
	strings, empty []tenantString
}

// newTenantText returns what the application says of a target; nothing if that is the control plane's own.
func newTenantText(target *model.DeploymentTarget, manifests map[string]string) tenantText {
	if target.Registration == nil {
		return tenantText{}
	}
	all, empty := tenantStrings(target)
	return tenantText{newPlaceholders(manifests), all, empty}
}

// tenantStrings returns the tenant's strings of a target, and apart from them the values that are empty. Strings that
// kalypso sets, such as the workspace, are not among them.
func tenantStrings(target *model.DeploymentTarget) (all, empty []tenantString) {
	for _, key := range slices.Sorted(maps.Keys(target.Manifests)) {
		value := target.Manifests[key]
		all = append(all,
			tenantString{fmt.Sprintf("the value %q of manifests.%s", value.Value, key), value.Value, value.At, manifestValue, key},
			tenantString{fmt.Sprintf("the key %q of manifests", key), key, value.At, manifestKey, key})
	}
	for _, key := range slices.Sorted(maps.Keys(target.Labels)) {
		if value := target.Labels[key]; key != model.WorkloadLabel && key != model.WorkspaceLabel {
			all = append(all,
				tenantString{fmt.Sprintf("the value %q of label %q", value.Value, key), value.Value, value.At, labelValue, key},
				tenantString{fmt.Sprintf("the label key %q", key), key, value.At, labelKey, key})
		}
	}
	name := strings.TrimPrefix(target.Name.Value, target.Workload+"-")
	all = append(all,
		tenantString{fmt.Sprintf("the workload name %q", target.Workload), target.Workload, target.Labels[model.WorkloadLabel].At, workloadName, ""},
		tenantString{fmt.Sprintf("the deployment target name %q", name), name, target.Name.At, targetName, ""})
	for _, s := range all {
		if s.text == "" && (s.field == manifestValue || s.field == labelValue) {
			empty = append(empty, s)
		}
	}
	return slices.DeleteFunc(all, func(s tenantString) bool { return s.text == "" }), empty
}

// replaced returns the data with some strings replaced by other ones. A new key must sort to the position of the
// old one, so that the order of entries stays the same.
func (d Data) replaced(some []tenantString, by func(tenantString) string) Data {
	manifests, labels := maps.Clone(d.Manifests), maps.Clone(d.Labels)
	workload, target := d.Workload, strings.TrimPrefix(d.DeploymentTargetName, d.Workload+"-")
	rename := func(texts map[string]string, key, other string) {
		text := texts[key]
		delete(texts, key)
		texts[other] = text
	}
	for _, s := range some { // a value comes before its key
		switch other := by(s); s.field {
		case manifestValue:
			manifests[s.key] = other
		case manifestKey:
			rename(manifests, s.key, other)
		case labelValue:
			labels[s.key] = other
		case labelKey:
			rename(labels, s.key, other)
		case workloadName:
			workload = other
		case targetName:
			target = other
		}
	}
	if _, ok := labels[model.WorkloadLabel]; ok {
		labels[model.WorkloadLabel] = workload
	}
	d.Namespace = strings.TrimSuffix(d.Namespace, d.DeploymentTargetName)
	d.Workload, d.DeploymentTargetName, d.Labels = workload, model.FullName(workload, target), labels
	d.Namespace += d.DeploymentTargetName
	return d.withManifests(manifests)
}

// typeProof finds the strings of a tenant that are not strings in a rendered file.
type typeProof struct {
	*rendering
	file  File
	roots []*yaml.Node
	all   []tenantString
	// found has the invalid scalars, each with the index in all of the first string that it depends on.
	found map[*yaml.Node]int
	// renderings is the number of renderings so far.
	renderings int
}

// maxRenderings is the maximum number of renderings, after which a file is refused as unproven. Templates that
// only print strings need far fewer.
const maxRenderings = 128

// mistyped reports the strings of a tenant that are not strings in a rendered file.
func (g *rendering) mistyped(file File, all []tenantString) []verify.Problem {
	roots, failure := verify.AllDocuments(file.Content.String())
	if failure != nil || len(all) == 0 || !file.hasOthers(roots) {
		return nil // or reported already
	}
	p := &typeProof{rendering: g, file: file, roots: roots, all: all, found: map[*yaml.Node]int{}}
	p.prove(0, len(all))
	var problems []verify.Problem
	known := map[int]bool{}
	for _, n := range slices.SortedFunc(maps.Keys(p.found), func(a, b *yaml.Node) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) }) {
		if i := p.found[n]; !known[i] {
			known[i] = true
			problems = append(problems, p.problem(all[i], n))
		}
	}
	return problems
}

func (p *typeProof) problem(s tenantString, n *yaml.Node) verify.Problem {
	f := verify.Problem{
		Path: p.file.Path,
		Flaw: verify.Flaw{Rule: "tenant-value", Line: n.Line, Lasting: true, Message: fmt.Sprintf(
			"%s is rendered as %s, which some YAML parsers do not read as a string", s.what, n.Value)},
		At:      s.at,
		Related: &diag.Related{At: p.file.Template, Message: "printed by this template"},
		Hint:    "print it with {{ … | quote }} in the template, or use another value",
	}
	if p.file.Written {
		f.Hint = "use another value"
	}
	return f
}

// hasOthers reports whether nodes contain a plain scalar that some reader does not read as a string.
func (f *File) hasOthers(nodes []*yaml.Node) bool {
	return slices.ContainsFunc(nodes, func(n *yaml.Node) bool { return f.isOther(n) || f.hasOthers(n.Content) })
}

// isOther reports whether a node is a plain scalar that some reader does not read as a string. If a library
// wrote the file, other types are intended, so only scalars with the tags !!str and !!merge count.
func (f *File) isOther(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.Value == "" || yamltext.IsText(n) {
		return false
	}
	tag := n.ShortTag()
	return !f.Written || tag == "!!str" || tag == "!!merge"
}

// prove searches the strings with the indexes start to end, without end. If the file depends on them, it
// divides them until it has single strings.
func (p *typeProof) prove(start, end int) {
	if p.renderings >= maxRenderings {
		if len(p.found) == 0 {
			p.found[first(p.file, p.roots)] = start
		}
		return
	}
	again, ok := p.render(start, end, placeholder)
	switch {
	case ok && !p.compare(again, func(n, m *yaml.Node) bool { return end-start == 1 && p.isExplained(start, n, m) }):
	case end-start == 1:
		p.proveAlone(start)
	default:
		middle := start + (end-start)/2
		p.prove(start, middle)
		p.prove(middle, end)
	}
}

// placeholder returns a replacement that no template expects. That of a key sorts to the position of the key.
func placeholder(s tenantString) string {
	const text = "kalypso0placeholder0z"
	if s.field == manifestKey || s.field == labelKey {
		return s.key + "+" + text
	}
	return text
}

// isExplained reports whether a scalar that a placeholder changes needs no further proof: it contains the string
// itself, or it is a number or boolean that a function returns for any string.
func (p *typeProof) isExplained(i int, n, m *yaml.Node) bool {
	if s := p.all[i]; strings.ReplaceAll(m.Value, placeholder(s), s.text) == n.Value {
		p.blame(n, i)
		return true
	}
	return m.Value != "" && !yamltext.IsText(m)
}

// blame records the string that a scalar depends on, unless one is recorded.
func (p *typeProof) blame(n *yaml.Node, i int) {
	if _, ok := p.found[n]; !ok {
		p.found[n] = i
	}
}

// proveAlone checks one string that a template does not only print, by rendering with two other strings of the
// same form. A scalar depends on the string if it changes in the same way, or if it is a different text each time
// without containing the other strings.
func (p *typeProof) proveAlone(i int) {
	s := p.all[i]
	one, okOne := p.render(i, i+1, func(s tenantString) string { return mirrored(s.text) })
	two, okTwo := p.render(i, i+1, func(s tenantString) string { return rotated(s.text) })
	if !okOne || !okTwo {
		return // the template requires this very string
	}
	second := map[*yaml.Node]*yaml.Node{}
	p.compare(two, func(n, m *yaml.Node) bool { second[n] = m; return true })
	p.compare(one, func(n, m *yaml.Node) bool {
		other := second[n]
		isMade := other != nil && yamltext.IsText(m) && yamltext.IsText(other) && m.Value != other.Value &&
			!strings.Contains(m.Value, mirrored(s.text)) && !strings.Contains(other.Value, rotated(s.text))
		if isMade || mirrored(n.Value) == m.Value || slices.Contains(model.Decoded(s.text), n.Value) {
			p.blame(n, i)
		}
		return true
	})
}

// render returns the documents of the file rendered with some strings replaced; ok is false if it has no valid
// documents.
func (p *typeProof) render(start, end int, by func(tenantString) string) (roots []*yaml.Node, ok bool) {
	p.renderings++
	files := (&execution{bounds: p.bounds}).files(p.with(p.Facts.replaced(p.all[start:end], by)))
	file, ok := find(files, p.file.Path)
	if !ok {
		return nil, false
	}
	roots, failure := verify.AllDocuments(file.Content.String())
	return roots, failure == nil
}

// compare calls explain for the scalars that some reader does not read as strings and that differ in again. It
// reports whether there are other differences.
func (p *typeProof) compare(again []*yaml.Node, explain func(n, m *yaml.Node) bool) (unsure bool) {
	var walk func(a, b []*yaml.Node)
	walk = func(a, b []*yaml.Node) {
		if len(a) != len(b) {
			unsure = true
			return
		}
		for i, n := range a {
			switch m := b[i]; {
			case n.Kind != m.Kind:
				unsure = true
			case p.file.isOther(n) && n.Value != m.Value:
				unsure = !explain(n, m) || unsure
			default:
				walk(n.Content, m.Content)
			}
		}
	}
	walk(p.roots, again)
	return unsure
}

// first returns the first scalar that some reader does not read as a string; nil if there is none.
func first(f File, nodes []*yaml.Node) *yaml.Node {
	for _, n := range nodes {
		if f.isOther(n) {
			return n
		}
		if found := first(f, n.Content); found != nil {
			return found
		}
	}
	return nil
}

// mirrored replaces each letter and digit by another one of the same class. Applied twice, it returns the text.
func mirrored(text string) string {
	return strings.Map(func(r rune) rune { return swapped(r, func(r, first, last rune) rune { return first + last - r }) }, text)
}

// rotated replaces each letter and digit by the next one of the same class.
func rotated(text string) string {
	return strings.Map(func(r rune) rune {
		return swapped(r, func(r, first, last rune) rune {
			if r == last {
				return first
			}
			return r + 1
		})
	}, text)
}

// swapped applies swap to a letter or digit and returns other runes unchanged. A hexadecimal digit stays one.
func swapped(r rune, swap func(r, first, last rune) rune) rune {
	for _, class := range [][2]rune{{'0', '9'}, {'a', 'f'}, {'g', 'z'}, {'A', 'F'}, {'G', 'Z'}} {
		if class[0] <= r && r <= class[1] {
			return swap(r, class[0], class[1])
		}
	}
	return r
}
