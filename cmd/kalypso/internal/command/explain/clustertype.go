package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

func newExplainClusterType(e *cli.Host) *cobra.Command {
	opts := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "cluster-type NAME",
		Short: "Show the deployment targets on a cluster type and the policies that schedule them",
		Example: `  kalypso explain cluster-type warehouse
  kalypso explain cluster-type warehouse --env prod -o json`,
		Args: cli.Args(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.explain(cmd.Context(), e, func(q *inquiry) (Answer, error) { return explainClusterType(q, args[0]) })
		},
		ValidArgsFunction: opts.completing(e, clusterTypeNames),
	}
	opts.addReading(cmd, e)
	return cmd
}

// ClusterTypeAnswer lists the deployment targets on a cluster type with the reasons.
type ClusterTypeAnswer struct {
	Name        string       `json:"name"`
	ClusterType objectResult `json:"clusterType"`
	// Reconciler, NamespaceService and ConfigType are the templates that it names.
	Reconciler       string         `json:"reconciler"`
	NamespaceService string         `json:"namespaceService"`
	ConfigType       string         `json:"configType,omitempty"`
	Targets          []targetOnThis `json:"deploymentTargets"`
	// Others are the policies that assign no target to it.
	Others []idlePolicy `json:"otherPolicies"`
}

// targetOnThis is a target on the cluster type.
type targetOnThis struct {
	Name      string         `json:"name"`
	Workspace string         `json:"workspace,omitempty"`
	At        diag.Place     `json:"at"`
	Policies  []policyResult `json:"policies"`
}

// idlePolicy is a policy that assigns no target to a cluster type.
type idlePolicy struct {
	Policy string     `json:"policy"`
	At     diag.Place `json:"at"`
	// SelectsNoTarget reports whether it selects no deployment target of the environment, and SelectsNoClusterType
	// whether it selects no cluster type.
	SelectsNoTarget      bool `json:"selectsNoDeploymentTarget"`
	SelectsNoClusterType bool `json:"selectsNoClusterType"`
	// Misses are the conditions that the cluster type does not meet.
	Misses []schedule.Miss `json:"misses,omitempty"`
}

func explainClusterType(q *inquiry, name string) (Answer, error) {
	clusterType := q.fleet.ClusterType(name)
	if clusterType == nil {
		return nil, &notFoundError{kind: "cluster type", name: name, others: clusterTypeNames(q.fleet)}
	}
	a := &ClusterTypeAnswer{
		Name: q.name, ClusterType: newObjectResult(&clusterType.Object), Reconciler: clusterType.Reconciler.Value,
		NamespaceService: clusterType.NamespaceService.Value, ConfigType: clusterType.ConfigType.Value,
		Targets: []targetOnThis{}, Others: []idlePolicy{},
	}
	busy := map[*model.SchedulingPolicy]bool{}
	for _, target := range q.fleet.Targets {
		reasons := q.explainer.Reasons(target, clusterType)
		if len(reasons) == 0 {
			continue
		}
		on := targetOnThis{target.Name.Value, target.Workspace, target.Name.At, nil}
		for _, policy := range reasons {
			busy[policy] = true
			on.Policies = append(on.Policies, newPolicyResult(schedule.PolicyResult{Policy: policy}))
		}
		a.Targets = append(a.Targets, on)
	}
	for _, selects := range q.explainer.Selections(clusterType) {
		if busy[selects.Policy] {
			continue
		}
		a.Others = append(a.Others, idlePolicy{
			selects.Policy.Name.Value, selects.Policy.Name.At, selects.Targets == 0, selects.ClusterTypes == 0, selects.Misses,
		})
	}
	return a, nil
}

func (a *ClusterTypeAnswer) text(p term.Printer) {
	printObject(p, fmt.Sprintf("%s: cluster type %s", a.Name, a.ClusterType.Name), a.ClusterType)
	templates := fmt.Sprintf("reconciler %s, namespace %s, config %s", a.Reconciler, a.NamespaceService, cmp.Or(a.ConfigType, "configMap"))
	fmt.Fprintf(p, "  templates: %s\n", diag.Safe(templates))
	p.Section(diag.Plural(len(a.Targets), "deployment target"))
	var rows [][]string
	for _, t := range a.Targets {
		for _, v := range t.Policies {
			rows = append(rows, []string{t.Name, cmp.Or(t.Workspace, "-"), v.Policy, v.At.String()})
		}
	}
	p.Rows(2, rows, "DEPLOYMENT TARGET", "WORKSPACE", "POLICY", "SOURCE")
	if len(a.Others) == 0 {
		return
	}
	p.Section("policies that do not match")
	rows = nil
	for _, o := range a.Others {
		rows = append(rows, o.rows()...)
	}
	p.Rows(1, rows, "POLICY", "REASON", "SOURCE")
}

// rows are the reasons why a policy does not match. A policy that selects nothing anywhere has only this reason.
func (o idlePolicy) rows() [][]string {
	var nothing []string
	if o.SelectsNoTarget {
		nothing = append(nothing, "no deployment target")
	}
	if o.SelectsNoClusterType {
		nothing = append(nothing, "no cluster type")
	}
	if len(nothing) > 0 {
		return [][]string{{o.Policy, "selects " + strings.Join(nothing, " and "), o.At.String()}}
	}
	return missRows(o.Misses, o.Policy)
}
