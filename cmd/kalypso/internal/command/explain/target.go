package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

func newExplainTarget(e *cli.Host) *cobra.Command {
	opts := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "target NAME",
		Short: "Show where a deployment target is scheduled, by which policies, and why not elsewhere",
		Long: `Show the cluster types that a deployment target is scheduled on, and the policies that schedule it.
For every other cluster type, show the closest policy and its failed conditions.

--cluster-type shows how every policy evaluates for one cluster type.`,
		Example: `  kalypso explain target storefront-integration
  kalypso explain target storefront-integration --env dev --cluster-type warehouse`,
		Args: cli.Args(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.explain(cmd.Context(), e, func(q *inquiry) (Answer, error) { return opts.explainTarget(q, args[0]) })
		},
		ValidArgsFunction: opts.completing(e, targetNames),
	}
	opts.addReading(cmd, e)
	opts.addClusterType(cmd, e, "show how every policy evaluates for this `cluster type`")
	return cmd
}

// TargetAnswer lists the cluster types of a deployment target with the reasons.
type TargetAnswer struct {
	Name   string       `json:"name"`
	Target objectResult `json:"deploymentTarget"`
	// ClusterTypes are all, or the one that --cluster-type names.
	ClusterTypes []targetOnType `json:"clusterTypes"`
}

// targetOnType is a deployment target on a cluster type.
type targetOnType struct {
	Name      string `json:"name"`
	Scheduled bool   `json:"scheduled"`
	// Policies are those that schedule it there; with --cluster-type all of them, the nearest first.
	Policies []policyResult `json:"policies"`
	// Nearest is the policy that comes closest, if none schedules it.
	Nearest *policyResult `json:"nearest,omitempty"`
}

// policyResult is the result of a policy for a target on a cluster type.
type policyResult struct {
	Policy  string          `json:"policy"`
	At      diag.Place      `json:"at"`
	Assigns bool            `json:"assigns"`
	Misses  []schedule.Miss `json:"misses,omitempty"`
}

// objectResult is the object that is explained.
type objectResult struct {
	Name      string            `json:"name"`
	Workload  string            `json:"workload,omitempty"`
	Workspace string            `json:"workspace,omitempty"`
	Labels    map[string]string `json:"labels"`
	At        diag.Place        `json:"at"`
}

func newObjectResult(o *model.Object) objectResult {
	labels := map[string]string{}
	for key, value := range o.Labels {
		labels[key] = value.Value
	}
	return objectResult{Name: o.Name.Value, Labels: labels, At: o.Name.At}
}

func newTargetObject(t *model.DeploymentTarget) objectResult {
	r := newObjectResult(&t.Object)
	r.Workload, r.Workspace = t.Workload, t.Workspace
	return r
}

func newPolicyResult(v schedule.PolicyResult) policyResult {
	return policyResult{v.Policy.Name.Value, v.Policy.Name.At, v.Assigns(), v.Misses}
}

// explainTarget explains a target in one environment.
func (f *explainFlags) explainTarget(q *inquiry, name string) (Answer, error) {
	target := q.fleet.Target(name)
	if target == nil {
		return nil, &notFoundError{kind: "deployment target", name: name, others: targetNames(q.fleet)}
	}
	a := &TargetAnswer{Name: q.name, Target: newTargetObject(target), ClusterTypes: []targetOnType{}}
	if f.clusterType != "" {
		clusterType := q.fleet.ClusterType(f.clusterType)
		if clusterType == nil {
			return nil, &notFoundError{kind: "cluster type", name: f.clusterType, others: clusterTypeNames(q.fleet)}
		}
		a.ClusterTypes = append(a.ClusterTypes, newTargetOnType(q, target, clusterType, true))
		return (*pairAnswer)(a), nil
	}
	for _, clusterType := range q.fleet.ClusterTypes {
		a.ClusterTypes = append(a.ClusterTypes, newTargetOnType(q, target, clusterType, false))
	}
	return a, nil
}

// newTargetOnType evaluates the policies for a target on a cluster type; with all, the result lists every policy.
func newTargetOnType(q *inquiry, target *model.DeploymentTarget, clusterType *model.ClusterType, all bool) targetOnType {
	on := targetOnType{Name: clusterType.Name.Value, Policies: []policyResult{}}
	results := q.explainer.PolicyResults(target, clusterType)
	if all {
		results = schedule.NearestFirst(results)
	}
	for _, v := range results {
		on.Scheduled = on.Scheduled || v.Assigns()
		if all || v.Assigns() {
			on.Policies = append(on.Policies, newPolicyResult(v))
		}
	}
	if nearest, ok := schedule.Nearest(results); ok && !on.Scheduled {
		r := newPolicyResult(nearest)
		on.Nearest = &r
	}
	return on
}

// text prints the cluster types of the target, then all others, those with the fewest failed conditions first.
func (a *TargetAnswer) text(p term.Printer) {
	printTarget(p, a.Name, a.Target)
	var there, others [][]string
	elsewhere := slices.DeleteFunc(slices.Clone(a.ClusterTypes), func(c targetOnType) bool { return c.Scheduled })
	slices.SortStableFunc(elsewhere, func(x, y targetOnType) int { return cmp.Compare(x.misses(), y.misses()) })
	for _, c := range a.ClusterTypes {
		for _, v := range c.Policies {
			there = append(there, []string{c.Name, v.Policy, v.At.String()})
		}
	}
	for _, c := range elsewhere {
		if c.Nearest == nil {
			others = append(others, []string{c.Name, "-", "no policies", ""})
			continue
		}
		others = append(others, missRows(c.Nearest.Misses, c.Name, c.Nearest.Policy)...)
	}
	p.Section(fmt.Sprintf("scheduled on %d of %s", len(a.ClusterTypes)-len(elsewhere), diag.Plural(len(a.ClusterTypes), "cluster type")))
	p.Rows(1, there, "CLUSTER TYPE", "POLICY", "SOURCE")
	if len(elsewhere) > 0 {
		p.Section(fmt.Sprintf("not scheduled on %d, nearest policy first", len(elsewhere)))
		p.Rows(2, others, "CLUSTER TYPE", "NEAREST POLICY", "REASON", "SOURCE")
	}
}

// misses is the number of conditions that the nearest policy fails.
func (c targetOnType) misses() int {
	if c.Nearest == nil {
		return 0
	}
	return len(c.Nearest.Misses)
}

// missRows returns a row for each miss, after the cells in first.
func missRows(misses []schedule.Miss, first ...string) [][]string {
	var rows [][]string
	for _, m := range misses {
		rows = append(rows, append(slices.Clone(first), m.Message, m.At.String()))
	}
	return rows
}

// pairAnswer is the result of every policy for one cluster type.
type pairAnswer TargetAnswer

func (a *pairAnswer) text(p term.Printer) {
	on := a.ClusterTypes[0]
	printTarget(p, a.Name, a.Target)
	heading := "not scheduled on "
	if on.Scheduled {
		heading = "scheduled on "
	}
	p.Section(heading + on.Name)
	var rows [][]string
	for _, v := range on.Policies {
		if v.Assigns {
			rows = append(rows, []string{v.Policy, "schedules it", v.At.String()})
		}
		rows = append(rows, missRows(v.Misses, v.Policy)...)
	}
	if len(rows) == 0 {
		fmt.Fprintln(p, "  no policies")
	}
	p.Rows(1, rows, "POLICY", "REASON", "SOURCE")
}

// printTarget prints the target that is explained.
func printTarget(p term.Printer, environment string, t objectResult) {
	heading := fmt.Sprintf("%s: deployment target %s", environment, t.Name)
	var of []string
	if t.Workload != "" {
		of = append(of, "workload "+t.Workload)
	}
	if t.Workspace != "" {
		of = append(of, "workspace "+t.Workspace)
	}
	if len(of) > 0 {
		heading += " of " + strings.Join(of, ", ")
	}
	printObject(p, heading, t)
}

// printObject prints an object, its source and its labels.
func printObject(p term.Printer, heading string, o objectResult) {
	fmt.Fprintln(p, p.Heading(diag.Safe(heading)))
	fmt.Fprintf(p, "  source: %s\n", diag.Safe(o.At.String()))
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
		labels = append(labels, key+"="+o.Labels[key])
	}
	fmt.Fprintf(p, "  labels: %s\n", cmp.Or(diag.Safe(strings.Join(labels, ", ")), "none"))
}
