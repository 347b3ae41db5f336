package htmlreport

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/impact"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// index is the data of all environments that the page needs at once. Its field names are short to keep the file small.
type index struct {
	Version      string `json:"version"`
	ControlPlane string `json:"controlPlane"`
	// Manifests reports whether the page contains manifests.
	Manifests    bool               `json:"manifests"`
	Environments []environmentIndex `json:"environments"`
	// Pairs are targets of two environments that diff compares although their names differ.
	Pairs []pairIndex `json:"pairs"`
}

// pairIndex has the pairs of two environments, which are positions: a cluster type, a target of one environment and a
// target of the other, by name.
type pairIndex struct {
	One   int         `json:"one"`
	Other int         `json:"other"`
	Names [][3]string `json:"names"`
}

// pairsOf returns the pairs of each two environments that were read.
func pairsOf(environments []Environment) []pairIndex {
	all := []pairIndex{}
	for i, one := range environments {
		for j, other := range environments[:i] {
			if one.Fleet == nil || other.Fleet == nil {
				continue
			}
			pair := pairIndex{One: i, Other: j, Names: [][3]string{}}
			for _, c := range impact.Counterparts(stateOf(one), stateOf(other)) {
				pair.Names = append(pair.Names, [3]string{c.ClusterType, c.Target, c.Other})
			}
			all = append(all, pair)
		}
	}
	return all
}

func stateOf(e Environment) impact.State {
	return impact.State{Fleet: e.Fleet, Assignments: e.Assignments, Tree: e.Tree}
}

type environmentIndex struct {
	Name string `json:"name"`
	// Read reports whether it could be read.
	Read bool `json:"read"`
	// Date is the date of the newest commit of Sources, such as 2026-01-06.
	Date         string        `json:"date,omitempty"`
	Sources      []Source      `json:"sources"`
	Promoted     string        `json:"promoted,omitempty"`
	ClusterTypes []objectIndex `json:"clusterTypes"`
	Targets      []objectIndex `json:"targets"`
	// Reasons are the distinct lists of policies that schedule a target on a cluster type.
	Reasons [][]policyIndex `json:"reasons"`
	// On lists the targets of each cluster type: the position of a target, then the position of its reason.
	On          [][]int           `json:"on"`
	Diagnostics []diagnosticIndex `json:"diagnostics"`
}

// objectIndex is a cluster type or a deployment target.
type objectIndex struct {
	Name      string      `json:"n"`
	Workload  string      `json:"w,omitempty"`
	Workspace string      `json:"s,omitempty"`
	Labels    [][2]string `json:"l,omitempty"`
	At        string      `json:"at,omitempty"`
}

type policyIndex struct {
	Name string `json:"n"`
	At   string `json:"at"`
}

type diagnosticIndex struct {
	Severity diag.Severity `json:"severity"`
	Rule     string        `json:"rule"`
	Message  string        `json:"message"`
	Hint     string        `json:"hint,omitempty"`
	At       string        `json:"at,omitempty"`
	// Related are messages about other places.
	Related []string `json:"related,omitempty"`
}

func newEnvironmentIndex(e Environment) environmentIndex {
	x := environmentIndex{
		Name: e.Name, Read: e.Fleet != nil, Sources: append([]Source{}, e.Sources...), ClusterTypes: []objectIndex{}, Targets: []objectIndex{}, Reasons: [][]policyIndex{}, On: [][]int{}, Diagnostics: []diagnosticIndex{},
	}
	for _, d := range e.Diags.Sorted() {
		shown := diagnosticIndex{Severity: d.Severity, Rule: d.Rule, Message: d.Message, Hint: d.Hint, At: d.At.String()}
		for _, related := range d.Related {
			shown.Related = append(shown.Related, strings.TrimPrefix(related.At.String()+": "+related.Message, ": "))
		}
		x.Diagnostics = append(x.Diagnostics, shown)
	}
	if e.Fleet == nil {
		return x
	}
	x.Promoted = e.Fleet.PromotedCommit
	if !e.Date.IsZero() {
		x.Date = e.Date.UTC().Format(time.DateOnly)
	}
	for _, c := range e.Fleet.ClusterTypes {
		x.ClusterTypes = append(x.ClusterTypes, newObjectIndex(&c.Object))
	}
	for _, t := range e.Fleet.Targets {
		o := newObjectIndex(&t.Object)
		o.Workload, o.Workspace = t.Workload, t.Workspace
		x.Targets = append(x.Targets, o)
	}
	x.addAssignments(e)
	return x
}

// addAssignments sets On and Reasons.
func (x *environmentIndex) addAssignments(e Environment) {
	x.On = make([][]int, len(e.Fleet.ClusterTypes))
	for i := range x.On {
		x.On[i] = []int{}
	}
	clusterTypes, targets := positions(e.Fleet.ClusterTypes), positions(e.Fleet.Targets)
	reasons := map[string]int{}
	for _, a := range e.Assignments {
		c := clusterTypes[a.ClusterType]
		x.On[c] = append(x.On[c], targets[a.Target], x.reason(reasons, a))
	}
}

func positions[T comparable](objects []T) map[T]int {
	at := make(map[T]int, len(objects))
	for i, o := range objects {
		at[o] = i
	}
	return at
}

// reason returns the position of the policies of an assignment.
func (x *environmentIndex) reason(known map[string]int, a schedule.Assignment) int {
	key := ""
	for _, p := range a.Reasons {
		key += p.Name.Value + "\n"
	}
	if i, found := known[key]; found {
		return i
	}
	policies := []policyIndex{}
	for _, p := range a.Reasons {
		policies = append(policies, policyIndex{p.Name.Value, p.Name.At.String()})
	}
	known[key] = len(x.Reasons)
	x.Reasons = append(x.Reasons, policies)
	return known[key]
}

func newObjectIndex(o *model.Object) objectIndex {
	x := objectIndex{Name: o.Name.Value, At: fmt.Sprint(o.Name.At)}
	for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
		x.Labels = append(x.Labels, [2]string{key, o.Labels[key].Value})
	}
	return x
}
