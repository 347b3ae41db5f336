package render

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// resultsOn explains the configs of a fleet for the target cart-web on a cluster type, a line each.
func resultsOn(t *testing.T, clusterType string, texts fleetTexts) []string {
	t.Helper()
	fleet := texts.read(t)
	c, _ := config.NewConfigurator(fleet)
	var lines []string
	for _, on := range fleet.ClusterTypes {
		if on.Name.Value != clusterType {
			continue
		}
		for _, v := range c.Explain(on, fleet.Targets[0]) {
			require.False(t, v.At.IsZero())
			line := fmt.Sprintf("%s sets %s for %s:", v.Config.Name, strings.Join(v.Keys, ","), strings.Join(v.Labels, ","))
			for _, m := range v.Misses {
				require.False(t, m.At.IsZero())
				line += " " + m.Message + ";"
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func TestExplainConfigs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ config, want string }{
		"all":            {platformConfig("c", "", "{K: v, J: w}"), "c sets J,K for :"},
		"cluster type":   {platformConfig("c", "site: store", "{K: v}"), "c sets K for site=store:"},
		"target":         {platformConfig("c", "tier: web", "{K: v}"), "c sets K for tier=web:"},
		"either of both": {platformConfig("c", "both: target", "{K: v}"), "c sets K for both=target:"},
		"value":          {platformConfig("c", "site: azure", "{K: v}"), "c sets K for site=azure: requires site=azure, but the cluster type has site=store;"},
		"value of target": {
			platformConfig("c", "tier: db", "{K: v}"), "c sets K for tier=db: requires tier=db, but the deployment target has tier=web;",
		},
		"values of both": {
			platformConfig("c", "both: other", "{K: v}"),
			"c sets K for both=other: requires both=other, but the cluster type has both=cluster, and the deployment target has both=target;",
		},
		"no label": {
			platformConfig("c", "size: large", "{K: v}"),
			`c sets K for size=large: requires size=large, but neither the cluster type nor the deployment target has the label "size";`,
		},
		"name of cluster type": {platformConfig("c", "cluster-type: cloud", "{K: v}"), "c sets K for cluster-type=cloud: requires cluster-type=cloud, but the cluster type is edge;"},
		"name of target": {
			platformConfig("c", "deployment-target: ledger-api", "{K: v}"),
			"c sets K for deployment-target=ledger-api: requires deployment-target=ledger-api, but the deployment target is cart-web;",
		},
		"workload": {platformConfig("c", "workload: ledger", "{K: v}"), "c sets K for workload=ledger: requires workload=ledger, but the workload is cart;"},
		"several": {
			platformConfig("c", "site: azure, tier: db, region: west", "{K: v}"),
			"c sets K for region=west,site=azure,tier=db: requires site=azure, but the cluster type has site=store; requires tier=db, but the deployment target has tier=web;",
		},
		"not meant": {configMap("c", "", "{K: v}"), `c sets  for : is not platform configuration, because the label platform-config: "true" is missing;`},
		"not quite": {
			configMap("c", `platform-config: "yes"`, "{K: v}"),
			`c sets  for : is not platform configuration, because its label platform-config is "yes" instead of "true";`,
		},
		"Azure": {configMap("azure-app-config", "", "{site.azure.K: v}"), "azure-app-config sets K for site=azure: requires site=azure, but the cluster type has site=store;"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, []string{test.want}, resultsOn(t, "edge", store(test.config)))
		})
	}
}

// What Explain says applies is what Configure lays over each other, and Stack says the same as Origins.
func TestExplainAgreesWithConfigure(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 4))
	labels := []string{"site: store", "site: azure", "tier: web", "region: east", `region: ""`, "both: cluster", "both: target", "cluster-type: edge", "workload: ledger", "none: x"}
	data := []string{"{K: v}", "{K: '{a: 1}'}", "{K: '{b: [1]}', J: x}", "{J: '[1]'}", "{J: '[2]'}"}
	for range 100 {
		var documents []string
		for i := range 1 + random.IntN(8) {
			chosen := map[string]string{}
			for range random.IntN(3) {
				label := labels[random.IntN(len(labels))]
				key, _, _ := strings.Cut(label, ":")
				chosen[key] = label
			}
			var all []string
			for _, label := range chosen {
				all = append(all, label)
			}
			documents = append(documents, platformConfig(fmt.Sprintf("c%d", i), strings.Join(all, ", "), data[random.IntN(len(data))]))
		}
		fleet := store(documents...).read(t)
		c, _ := config.NewConfigurator(fleet)
		for _, clusterType := range fleet.ClusterTypes {
			for _, target := range fleet.Targets {
				values := c.Configure(clusterType, target)
				var want []string
				for _, v := range c.Explain(clusterType, target) {
					if v.Applies() {
						for _, key := range v.Keys {
							want = append(want, v.Config.Name.Value+" "+key)
						}
					}
				}
				var got []string
				for _, key := range values.Keys() {
					stack := values.Stack(key)
					require.Len(t, stack, len(values.Origins(key)))
					require.False(t, stack[0].Merged)
					for i, origin := range values.Origins(key) {
						require.Equal(t, origin, stack[i].Origin)
						got = append(got, origin.Config.Name.Value+" "+key)
					}
				}
				require.ElementsMatch(t, want, got)
			}
		}
	}
}

func TestStack(t *testing.T) {
	t.Parallel()
	values, _ := configure(t, store(
		platformConfig("a", "", "{K: '{x: 1}', T: one}"), platformConfig("b", "", "{K: '{y: [2]}', T: two}"), platformConfig("c", "", "{K: text}"), platformConfig("d", "", "{K: '{z: 3}'}"),
	))
	v := values["edge/cart-web"]
	assert.Equal(t, []string{"K", "T"}, v.Keys())
	assert.Equal(t, "z: 3\n", v.Text("K"))
	assert.Equal(t, "two", v.Text("T"))
	assert.Empty(t, v.Text("none"))
	assert.Empty(t, v.Stack("none"))
	var merged []bool
	for _, laid := range v.Stack("K") {
		merged = append(merged, laid.Merged)
	}
	assert.Equal(t, []bool{false, true, false, false}, merged, "a sets, b merges, text replaces, and is replaced")
}
