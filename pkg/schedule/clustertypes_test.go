package schedule_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// selectedTypes returns the cluster types that a selector in flow style selects.
func selectedTypes(t *testing.T, fleet *model.Fleet, selector string) (names string, diags diag.List) {
	t.Helper()
	written, _ := tryFleet(policy("p", "{clusterTypeSelector: {labelSelector: "+selector+"}}"))
	selected, diags := schedule.SelectClusterTypes(written.Policies[0].ClusterTypes, fleet.ClusterTypes)
	list := []string{}
	for _, c := range selected {
		list = append(list, c.Name.Value)
	}
	return strings.Join(list, " "), diags
}

// SelectClusterTypes selects by the same rules as policies.
func TestSelectClusterTypes(t *testing.T) {
	t.Parallel()
	documents := []string{
		clusterType("store", "site: store, size: small"), clusterType("hub", "site: hub, size: large"), clusterType("bare", ""),
		target("web", ""),
	}
	fleet := readFleet(t, documents...)
	for selector, want := range map[string]string{
		"{}":                         "bare hub store",
		"{matchLabels: {site: hub}}": "hub",
		"{matchLabels: {site: hub, size: small}}":                                "",
		"{matchExpressions: [{key: site, operator: Exists}]}":                    "hub store",
		"{matchExpressions: [{key: site, operator: DoesNotExist}]}":              "bare",
		"{matchExpressions: [{key: size, operator: In, values: [small, tiny]}]}": "store",
		"{matchExpressions: [{key: size, operator: NotIn, values: [small]}]}":    "bare hub",
	} {
		t.Run(selector, func(t *testing.T) {
			t.Parallel()
			names, diags := selectedTypes(t, fleet, selector)
			assert.Empty(t, diags)
			assert.Equal(t, want, names)

			scheduled := readFleet(t, append([]string{policy("p", "{clusterTypeSelector: {labelSelector: "+selector+"}}")}, documents...)...)
			assignments, _ := schedule.Assign(scheduled)
			var assigned []string
			for _, a := range assignments {
				assigned = append(assigned, a.ClusterType.Name.Value)
			}
			assert.Equal(t, want, strings.Join(assigned, " "), "a policy selects the same")
		})
	}
}

func TestSelectClusterTypesRefusesSelector(t *testing.T) {
	t.Parallel()
	fleet := readFleet(t, clusterType("store", "site: store"))
	for selector, want := range map[string]string{
		"{matchLabels: {site: store, '-': x}}":                                 `invalid selector: "-"`,
		"{matchExpressions: [{key: site, operator: in, values: [a]}]}":         `unknown operator "in"`,
		"{matchExpressions: [{key: site, operator: In}]}":                      `operator In needs values`,
		"{matchExpressions: [{key: site, operator: Exists, values: [store]}]}": `operator Exists takes no values`,
	} {
		names, diags := selectedTypes(t, fleet, selector)
		assert.Empty(t, names, "one with errors selects nothing")
		assert.Contains(t, messages(diags), want)
		assert.Contains(t, messages(diags), "[invalid-selector]")
	}
}
