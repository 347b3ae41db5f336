package render

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/pkg/render/rendertest"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// twoTenants are the workloads cart of shop and ledger of bank, each with a target on edge.
func twoTenants(template, cart, ledger string, more ...string) fleetTexts {
	return platform(append([]string{
		flowTemplate("flux", "reconciler", "yaml", template), textTemplate("default", "namespace", rendertest.Namespace),
		clusterType("edge", ""), everywhere(), registration("shop", "retail"), registration("bank", "finance"),
	}, more...)...).
		app("shop", workload("cart", cart, "name: web, manifests: {repo: r, own: cart}")).
		app("bank", workload("ledger", ledger, "name: web, manifests: {repo: r, own: ledger}"))
}

func TestCollisionsOfObjects(t *testing.T) {
	t.Parallel()
	const different = `bank:a.yaml:6:30: error: deployment targets "cart-web" and "ledger-web" both render OBJECT on cluster type "edge", with different content [object-collision]`
	const byName = `bank:a.yaml:6:30: error: deployment targets "cart-web" and "ledger-web" both render OBJECT on cluster type "edge", with a name from the application [object-collision]`
	byContent := strings.ReplaceAll(byName, "a name", "content")
	secret := func(name, data string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", namespace: flux-system}\ndata: {a: " + data + "}\n"
	}
	tests := []struct{ name, template, want string }{
		{"names of their own", secret("{{ .DeploymentTargetName }}", "b"), ""},
		{"namespaces of their own", "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: {{ .Namespace }}}\n", ""},
		{"the same for all", secret("shared", "b"), ""},
		{"different content", secret("shared", "{{ .Workload }}"), strings.ReplaceAll(different, "OBJECT", "Secret flux-system/shared")},
		{"different content by a manifest", secret("shared", "{{ .Manifests.own }}"), strings.ReplaceAll(different, "OBJECT", "Secret flux-system/shared")},
		{"a name by a label", secret("{{ .Labels.team }}", "b"), strings.ReplaceAll(byName, "OBJECT", "Secret flux-system/blue")},
		{"a part of the name by a label", secret("x-{{ .Labels.team | upper | lower }}-w", "b"), strings.ReplaceAll(byName, "OBJECT", "Secret flux-system/x-blue-w")},
		{"a namespace by a label", "apiVersion: v1\nkind: Namespace\nmetadata: {name: {{ .Labels.team }}}\n", strings.ReplaceAll(byName, "OBJECT", "Namespace blue")},
		{"a name by a manifest", secret("{{ .Manifests.repo }}", "b"), strings.ReplaceAll(byName, "OBJECT", "Secret flux-system/r")},
		{"the same, with content by a manifest", secret("shared", "{{ .Manifests.repo }}"), strings.ReplaceAll(byContent, "OBJECT", "Secret flux-system/shared")},
		{"the same for all with a label", "{{ if eq .Labels.monitored \"true\" }}" + secret("shared", "b") + "{{ end }}", ""},
		{"another group", "apiVersion: {{ .Workload }}.example.com/v1\nkind: Thing\nmetadata: {name: a}\n", ""},
		{"another version", "apiVersion: apps/{{ .Workload }}\nkind: Thing\nmetadata: {name: a}\n", strings.ReplaceAll(different, "OBJECT", "Thing a")},
		{"documents that are no objects", "- hosts: {{ .Workload }}\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			labels := `team: blue, monitored: "true"`
			_, diags := twoTenants(test.template, labels, labels).render(t)
			want := []string{}
			if test.want != "" {
				want = append(want, test.want)
			}
			assert.Equal(t, want, problems(diags))
		})
	}
}

// What the platform writes for one workspace, a tenant of another cannot write in its name.
func TestCollisionsBetweenWorkspaces(t *testing.T) {
	t.Parallel()
	texts := twoTenants("apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Workspace }}}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Manifests.own }}}\n", "", "").
		app("shop", workload("cart", "", "name: a, manifests: {own: a}", "name: b, manifests: {own: b}")).
		app("bank", workload("ledger", "", "name: web, manifests: {own: retail}"))
	_, diags := texts.render(t)
	assert.Equal(t, []string{
		`bank:a.yaml:6:30: error: deployment targets "cart-a" and "ledger-web" both render Secret retail on cluster type "edge", with a name from the application [object-collision]`,
	}, problems(diags))
}

// What a team does to itself is a warning.
func TestCollisionsWithinARegistration(t *testing.T) {
	t.Parallel()
	texts := platform(
		flowTemplate("flux", "reconciler", "yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Workload }}}\ndata: {a: {{ .DeploymentTargetName }}}\n"),
		textTemplate("default", "namespace", rendertest.Namespace), clusterType("edge", ""), everywhere(), registration("shop", "retail"),
	).app("shop", workload("cart", "", "name: api, manifests: {repo: r}", "name: web, manifests: {repo: r}"))
	_, diags := texts.render(t)
	assert.Equal(t, `shop:a.yaml:7:30: warning: deployment targets "cart-api" and "cart-web" both render Secret cart on cluster type "edge", with different content [object-collision]
    shop:a.yaml:6:30: the other one
    hint: use .DeploymentTargetName or .Namespace in the object's name in the template
`, reported(diags))
}

// On two cluster types, one object is no collision.
func TestCollisionsAreOnOneClusterType(t *testing.T) {
	t.Parallel()
	_, diags := twoTenants("apiVersion: v1\nkind: Secret\nmetadata: {name: shared}\ndata: {a: {{ .Workload }}}\n", "on: edge", "on: cloud",
		clusterType("cloud", "")).render(t)
	assert.Len(t, problems(diags), 2, "everywhere is everywhere")

	texts := twoTenants("apiVersion: v1\nkind: Secret\nmetadata: {name: shared}\ndata: {a: {{ .Workload }}}\n", "at: edge", "at: cloud", object("ClusterType", "cloud", "site: cloud", "spec: {reconciler: flux, namespaceService: default}"))
	for i, document := range texts.platform {
		if document == everywhere() {
			texts.platform[i] = object("SchedulingPolicy", "a", "", "spec: {deploymentTargetSelector: {labelSelector: {matchLabels: {at: cloud}}}, clusterTypeSelector: {labelSelector: {matchLabels: {site: cloud}}}}") +
				"\n---\n" + object("SchedulingPolicy", "b", "", "spec: {deploymentTargetSelector: {labelSelector: {matchLabels: {at: edge}}}, clusterTypeSelector: {labelSelector: {matchExpressions: [{key: site, operator: DoesNotExist}]}}}")
		}
	}
	_, diags = texts.render(t)
	assert.Empty(t, problems(diags))
}

// Whatever order a scheduler gives assignments in, collisions are found.
func TestCollisionsInAnyOrder(t *testing.T) {
	t.Parallel()
	fleet := twoTenants("apiVersion: v1\nkind: Secret\nmetadata: {name: shared}\ndata: {a: {{ .Workload }}}\n", "", "", clusterType("cloud", "")).read(t)
	assignments, _ := schedule.Assign(fleet)
	assignments[1], assignments[2] = assignments[2], assignments[1]
	_, diags := Render(fleet, assignments, Options{})
	assert.Len(t, problems(diags), 2)
}

// TestS7: whatever names two tenants choose, their targets, namespaces and paths never become one.
func TestS7(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "a-b", "b-a", "a-b-a"}
	for _, cart := range names {
		for _, ledger := range names {
			for _, cartTarget := range names {
				for _, ledgerTarget := range []string{"a", "b-a"} {
					requireApart(t, cart, cartTarget, ledger, ledgerTarget)
				}
			}
		}
	}
}

// requireApart checks that two workloads either are refused or have nothing in common.
func requireApart(t *testing.T, cart, cartTarget, ledger, ledgerTarget string) {
	t.Helper()
	texts := platform(standardTemplates(), clusterType("edge", ""), everywhere(), registration("shop", "retail"), registration("bank", "finance")).
		app("shop", workload(cart, "", "name: "+cartTarget+", manifests: {path: p}")).
		app("bank", workload(ledger, "", "name: "+ledgerTarget+", manifests: {path: p}"))
	fleet, diags := texts.tryRead()
	collide := cart == ledger || cart+"-"+cartTarget == ledger+"-"+ledgerTarget
	if !assert.Equal(t, collide, diags.HasErrors(), "%s+%s and %s+%s: %s", cart, cartTarget, ledger, ledgerTarget, reported(diags)) || collide {
		both := reported(diags)
		assert.Contains(t, both, "shop:a.yaml")
		assert.Contains(t, both, "bank:a.yaml")
		return
	}
	tree, diags := renderFleet(fleet, Options{})
	assert.Empty(t, problems(diags))
	assert.Len(t, tree.Files, 5)
}
