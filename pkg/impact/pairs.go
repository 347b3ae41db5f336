package impact

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// pairs are the targets of two environments that are counterparts of each other. It is empty for two states of one
// environment.
type pairs struct {
	// before and after are the names of the environments; equal for one environment.
	before, after string
	// counterparts are the names in the second environment of targets in the first, and was the reverse.
	counterparts, was map[folder]string
}

func newPairs(before, after State) *pairs {
	p := &pairs{
		before: before.Fleet.Environment.Name.Value, after: after.Fleet.Environment.Name.Value,
		counterparts: map[folder]string{}, was: map[folder]string{},
	}
	if p.before == p.after {
		return p
	}
	alone, theirs := alone(before.Assignments, reasonsOf(after.Assignments)), alone(after.Assignments, reasonsOf(before.Assignments))
	for of, target := range alone {
		counterpart := theirs[of]
		if target == nil || counterpart == nil {
			continue
		}
		p.counterparts[folder{of.clusterType, target.Name.Value}] = counterpart.Name.Value
		p.was[folder{of.clusterType, counterpart.Name.Value}] = target.Name.Value
	}
	return p
}

// Counterpart is a target of one environment, with the different name of its counterpart in the other.
type Counterpart struct{ ClusterType, Target, Other string }

// Counterparts returns the counterparts in two environments with different names, in order of cluster type and target.
func Counterparts(before, after State) []Counterpart {
	var all []Counterpart
	for at, other := range newPairs(before, after).counterparts {
		all = append(all, Counterpart{at.clusterType, at.target, other})
	}
	slices.SortFunc(all, func(a, b Counterpart) int {
		return cmp.Or(cmp.Compare(a.ClusterType, b.ClusterType), cmp.Compare(a.Target, b.Target))
	})
	return all
}

// workloadOn is a workload on a cluster type.
type workloadOn struct{ clusterType, workload string }

// alone returns the targets that are missing on the other side and are the only ones of their workload on a cluster type;
// nil for workloads with several.
func alone(assignments []schedule.Assignment, others map[folder][]*model.SchedulingPolicy) map[workloadOn]*model.DeploymentTarget {
	found := map[workloadOn]*model.DeploymentTarget{}
	for _, a := range assignments {
		if _, both := others[folder{a.ClusterType.Name.Value, a.Target.Name.Value}]; both || a.Target.Workload == "" {
			continue
		}
		of := workloadOn{a.ClusterType.Name.Value, a.Target.Workload}
		if _, several := found[of]; several {
			found[of] = nil
			continue
		}
		found[of] = a.Target
	}
	return found
}

// otherName returns the name of the counterpart of a target in the first environment; empty if it is the same.
func (p *pairs) otherName(t change.TargetChange) string {
	return p.was[folder{t.ClusterType, t.Target}]
}

// renamed returns the output of the first state with the folders of the second.
func (p *pairs) renamed(before State) *render.Tree {
	if len(p.counterparts) == 0 {
		return before.Tree
	}
	renamed := &render.Tree{Files: slices.Clone(before.Tree.Files), Partial: before.Tree.Partial}
	for i, f := range renamed.Files {
		if a := f.Assignment; a != nil {
			clusterType, was := a.ClusterType.Name.Value, a.Target.Name.Value
			if name, paired := p.counterparts[folder{clusterType, was}]; paired {
				renamed.Files[i].Path = path.Join(clusterType, name, path.Base(f.Path))
			}
		}
	}
	slices.SortFunc(renamed.Files, func(a, b render.File) int { return cmp.Compare(a.Path, b.Path) })
	return renamed
}

// normalizer returns a function that replaces names of the first environment by those of the second; nil if they have the
// same names.
func (p *pairs) normalizer() change.NormalizeNames {
	if p.before == p.after {
		return nil
	}
	return func(name string, content []byte) []byte {
		clusterType, rest, _ := strings.Cut(name, "/")
		target, _, _ := strings.Cut(rest, "/")
		text := string(content)
		if was, paired := p.was[folder{clusterType, target}]; paired {
			text = replaceWord(text, was, target)
		}
		return []byte(replaceWord(text, p.before, p.after))
	}
}

// replaceWord replaces a name where it is a whole word: "dev" in "team-dev", but not in "device".
func replaceWord(text, old, name string) string {
	if old == "" || old == name {
		return text
	}
	var b strings.Builder
	done := 0
	for {
		i := strings.Index(text[done:], old)
		if i < 0 {
			b.WriteString(text[done:])
			return b.String()
		}
		at, end := done+i, done+i+len(old)
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[end:])
		b.WriteString(text[done:at])
		if isWord(before) || isWord(after) {
			b.WriteString(old)
		} else {
			b.WriteString(name)
		}
		done = end
	}
}

// isWord reports whether a character is part of a word; false for the end of a text.
func isWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
