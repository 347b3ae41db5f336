package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// store is a fleet of two cluster types and two targets, for configs to apply to.
func store(documents ...string) fleetTexts {
	return platform(append(documents,
		clusterType("edge", `site: store, region: west, both: cluster`), clusterType("cloud", "site: azure"),
		target("cart-web", "workload: cart, workspace: shop, tier: web, region: east, both: target"),
		target("ledger-api", "workload: ledger, workspace: bank"))...)
}

// configure returns the values of every pair of a fleet by "cluster type/target".
func configure(t testing.TB, texts fleetTexts) (map[string]*config.Values, []string) {
	t.Helper()
	fleet := texts.read(t)
	c, diags := config.NewConfigurator(fleet)
	all := map[string]*config.Values{}
	for _, clusterType := range fleet.ClusterTypes {
		for _, target := range fleet.Targets {
			all[clusterType.Name.Value+"/"+target.Name.Value] = c.Configure(clusterType, target)
		}
	}
	return all, problems(diags)
}

// having returns the pairs that have a value for the key, in order.
func having(all map[string]*config.Values, key string) string {
	var pairs []string
	for _, pair := range []string{"cloud/cart-web", "cloud/ledger-api", "edge/cart-web", "edge/ledger-api"} {
		if _, ok := all[pair].Data()[key]; ok {
			pairs = append(pairs, pair)
		}
	}
	return strings.Join(pairs, " ")
}

func TestConfigApplies(t *testing.T) {
	t.Parallel()
	const all, none = "cloud/cart-web cloud/ledger-api edge/cart-web edge/ledger-api", ""
	tests := []struct{ labels, want string }{
		{``, all},
		{`kustomize.toolkit.fluxcd.io/name: cp, kustomize.toolkit.fluxcd.io/namespace: flux-system`, all},
		{`cluster-type: edge`, "edge/cart-web edge/ledger-api"},
		{`cluster-type: ""`, none},
		{`deployment-target: cart-web`, "cloud/cart-web edge/cart-web"},
		{`deployment-target: web`, none},
		{`workload: ledger`, "cloud/ledger-api edge/ledger-api"},
		{`workspace: bank`, "cloud/ledger-api edge/ledger-api"},
		{`site: store`, "edge/cart-web edge/ledger-api"},
		{`tier: web`, "cloud/cart-web edge/cart-web"},
		{`site: azure, tier: web`, "cloud/cart-web"},
		{`cluster-type: edge, workload: ledger, region: west`, "edge/ledger-api"},
		// The cluster type or else the target.
		{`region: west`, "edge/cart-web edge/ledger-api"},
		{`region: east`, "cloud/cart-web edge/cart-web"},
		{`both: cluster`, "edge/cart-web edge/ledger-api"},
		{`both: target`, "cloud/cart-web edge/cart-web"},
		{`region: north`, none},
		{`colour: red`, none},
		// A label with an empty value matches what lacks it.
		{`colour: ""`, all},
		{`site: ""`, all},
		{`region: ""`, "cloud/cart-web cloud/ledger-api edge/ledger-api"},
		{`both: "", cluster-type: edge`, "edge/ledger-api"},
		{`tier: "", cluster-type: edge`, "edge/cart-web edge/ledger-api"},
		{`workload: ""`, none},
	}
	for _, test := range tests {
		t.Run(test.labels, func(t *testing.T) {
			t.Parallel()
			values, _ := configure(t, store(platformConfig("c", test.labels, "{K: v}")))
			assert.Equal(t, test.want, having(values, "K"))
		})
	}
}

func TestConfigNeedsItsLabel(t *testing.T) {
	t.Parallel()
	for labels, want := range map[string]bool{
		``: false, `platform-config: "false"`: false, `platform-config: "True"`: false, `platform-config: ""`: false,
		`platform-config: "true "`: false, `platform-config: "true"`: true,
	} {
		values, _ := configure(t, store(configMap("c", labels, "{K: v}")))
		assert.Equal(t, want, having(values, "K") != "", labels)
	}
}

// The name alone decides which value wins, byte by byte.
func TestConfigOrder(t *testing.T) {
	t.Parallel()
	tests := []struct{ winner, loser string }{
		{"b", "a"}, {"c-9", "c-10"}, {"a", "Z"}, {"a.b", "a-b"}, {"ab", "a"}, {"é", "z"},
	}
	for _, test := range tests {
		values, _ := configure(t, store(platformConfig(test.winner, "", "{K: winner}"), platformConfig(test.loser, "cluster-type: edge, workload: cart", "{K: loser}")))
		assert.Equal(t, "winner", values["edge/cart-web"].Data()["K"], "%s over %s", test.winner, test.loser)
	}
}

func TestConfigData(t *testing.T) {
	t.Parallel()
	values, _ := configure(t, store(
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {platform-config: \"true\"}}\nbinaryData: {BINARY: aGk=}\ndata:\n  NOTHING: null\n  EMPTY: ''\n  QUOTED: \"'5'\"\n  LIST: |\n    - a\n",
		platformConfig("b", "", "{LIST: '[b]', QUOTED: '6'}"), platformConfig("none", "", "{}"),
	))
	assert.Equal(t, map[string]any{"NOTHING": "", "EMPTY": "", "QUOTED": "6", "LIST": []any{"a", "b"}}, values["edge/cart-web"].Data())
}

func TestConfigDuplicateKeyInValue(t *testing.T) {
	t.Parallel()
	_, problems := configure(t, store(platformConfig("a", "", "{K: '{a: 1, a: 2}'}")))
	assert.Equal(t, []string{`cp:a.yaml:4:11: warning: the value of "K" contains a duplicate key: the last value is used [duplicate-key]`}, problems)
}

func TestAzureAppConfig(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		documents []string
		want      map[string]string
	}{
		{"no label", []string{configMap("azure-app-config", "", "{K: v}")}, map[string]string{
			"cloud/cart-web": "v", "cloud/ledger-api": "v", "edge/cart-web": "v", "edge/ledger-api": "v",
		}},
		{"a label", []string{configMap("azure-app-config-dev", "", "{site.store.K: v}")}, map[string]string{"edge/cart-web": "v", "edge/ledger-api": "v"}},
		{"labels", []string{configMap("azure-app-configuration", "", "{cluster-type.edge.workload.cart.K: v, deployment-target.ledger-api.cluster-type.cloud.K: w}")}, map[string]string{
			"edge/cart-web": "v", "cloud/ledger-api": "w",
		}},
		{"an empty value", []string{configMap("azure-app-config", "", "{region..K: v}")}, map[string]string{
			"cloud/cart-web": "v", "cloud/ledger-api": "v", "edge/ledger-api": "v",
		}},
		{"after all others", []string{configMap("azure-app-config", "", "{site.store.K: v}"), platformConfig("z", "site: store", "{K: z}")}, map[string]string{"edge/cart-web": "v", "edge/ledger-api": "v"}},
		{"the longest key last", []string{
			configMap("azure-app-config-a", "", "{workload.cart.site.store.K: long}"), configMap("azure-app-config-b", "", "{site.store.K: short}"),
		}, map[string]string{"edge/cart-web": "long", "edge/ledger-api": "short"}},
		{"then by key", []string{
			configMap("azure-app-config-a", "", "{tier.web.K: t}"), configMap("azure-app-config-b", "", "{both.cluster.K: b, site.store.K: s}"),
		}, map[string]string{"edge/cart-web": "b", "edge/ledger-api": "b", "cloud/cart-web": "t"}},
		{"equally long keys", []string{configMap("azure-app-config", "", "{site.store.K: s, tier.webby.K: other, cite.store.K: other, site.azure.K: a}")}, map[string]string{
			"edge/cart-web": "s", "edge/ledger-api": "s", "cloud/cart-web": "a", "cloud/ledger-api": "a",
		}},
		{"then by map", []string{configMap("azure-app-config-b", "", "{tier.web.K: b}"), configMap("azure-app-config-a", "", "{tier.web.K: a}")}, map[string]string{
			"cloud/cart-web": "b", "edge/cart-web": "b",
		}},
		{"its labels do not matter", []string{configMap("azure-app-config", "site: azure", "{site.store.K: v}")}, map[string]string{"edge/cart-web": "v", "edge/ledger-api": "v"}},
		{"another name", []string{configMap("my-azure-app-config", "", "{K: v}")}, map[string]string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			values, _ := configure(t, store(test.documents...))
			got := map[string]string{}
			for pair, v := range values {
				if value, ok := v.Data()["K"]; ok {
					got[pair] = fmt.Sprint(value)
				}
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// A map of Azure's that is a platform config too applies both ways.
func TestAzureAppConfigBothWays(t *testing.T) {
	t.Parallel()
	values, problems := configure(t, store(configMap("azure-app-config", `platform-config: "true", cluster-type: edge`, "{site.azure.K: v, L: '[a]'}")))
	assert.Empty(t, problems)
	assert.Equal(t, map[string]any{"site.azure.K": "v", "L": []any{"a", "a"}}, values["edge/cart-web"].Data())
	assert.Equal(t, map[string]any{"K": "v", "L": []any{"a"}}, values["cloud/cart-web"].Data())
}

func TestAzureAppConfigKeys(t *testing.T) {
	t.Parallel()
	for key, good := range map[string]bool{
		"K": true, "a.b.K": true, "a..K": true, "a.b.c.d.K": true,
		"a.K": false, "a.b.c.K": false, "a.b.": false, ".b.K": false, "a.b..d.K": false, ".": false, "..": false,
	} {
		_, problems := configure(t, store(configMap("azure-app-config", "", fmt.Sprintf("{%q: v}", key))))
		problem := fmt.Sprintf("cp:a.yaml:4:%d: error: key %q does not have the form label.value.label.value.KEY [azure-key]", 12+len(key), key)
		assert.Equal(t, !good, len(problems) > 0 && problems[0] == problem, "%s: %v", key, problems)
	}
}

// The label would select twice: by two values, or one of them in vain.
func TestAzureKeysThatNameALabelTwice(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"region.west.region.east.K", "region.west.site.store.region.west.K"} {
		values, problems := configure(t, store(configMap("azure-app-config", "", fmt.Sprintf("{%q: v}", key))))
		assert.Equal(t, []string{fmt.Sprintf("cp:a.yaml:4:%d: error: key %q contains the label \"region\" twice [azure-key]", 12+len(key), key)}, problems)
		assert.Empty(t, values["edge/cart-web"].Data())
	}
}

// Every value knows where it comes from and what it was laid over.
func TestOrigins(t *testing.T) {
	t.Parallel()
	values, _ := configure(t, store(
		platformConfig("b", "", "\n  K: second\n  ONLY: x"), platformConfig("a", "", "{K: first}"),
		configMap("azure-app-config", "", "{K: third, site.store.K: last}"),
	))
	origins := func(pair, key string) []string {
		var lines []string
		for _, o := range values[pair].Origins(key) {
			lines = append(lines, fmt.Sprintf("%s at %s: %s", o.Config.Name, o.At, o.Text))
		}
		return lines
	}
	assert.Equal(t, []string{"a at cp:a.yaml:11:11: first", "b at cp:a.yaml:5:6: second", "azure-app-config at cp:a.yaml:16:11: third"}, origins("cloud/cart-web", "K"))
	assert.Equal(t, []string{
		"a at cp:a.yaml:11:11: first", "b at cp:a.yaml:5:6: second",
		"azure-app-config at cp:a.yaml:16:11: third", "azure-app-config at cp:a.yaml:16:32: last",
	}, origins("edge/cart-web", "K"))
	assert.Equal(t, []string{"b at cp:a.yaml:6:9: x"}, origins("edge/cart-web", "ONLY"))
	assert.Empty(t, origins("edge/cart-web", "site.store.K"))
	for pair, v := range values {
		for key := range v.Data() {
			assert.NotEmpty(t, v.Origins(key), pair)
		}
	}
}

func TestS8ManyConfigsOfOneKey(t *testing.T) {
	t.Parallel()
	const many = 500
	var documents []string
	var want []any
	for i := range many {
		documents = append(documents, platformConfig(fmt.Sprintf("c%04d", i), "", fmt.Sprintf("{K: '[a%d, {name: x, k%d: v}]', S: s%d}", i, i, i)))
		want = append(want, fmt.Sprintf("a%d", i))
	}
	values, _ := configure(t, store(documents...))
	v := values["edge/cart-web"]
	list, _ := v.Data()["K"].([]any)
	require.Len(t, list, many+1)
	named, _ := list[1].(map[string]any)
	assert.Len(t, named, many+1)
	assert.Equal(t, want, slices.Delete(list, 1, 2))
	assert.Equal(t, "s499", v.Data()["S"])
	require.Len(t, v.Origins("K"), many)
	for i, origin := range v.Origins("S") {
		require.Equal(t, fmt.Sprintf("s%d", i), origin.Text)
	}
}

// Assignments to which the same configs apply share the work.
func TestValuesAreShared(t *testing.T) {
	t.Parallel()
	values, _ := configure(t, store(platformConfig("a", "", "{K: v}"), platformConfig("b", "cluster-type: edge", "{K: w}"), platformConfig("c", "colour: red", "{K: x}")))
	assert.Same(t, values["edge/cart-web"], values["edge/ledger-api"])
	assert.Same(t, values["cloud/cart-web"], values["cloud/ledger-api"])
	assert.NotSame(t, values["edge/cart-web"], values["cloud/cart-web"])
}

func TestNoticeUnused(t *testing.T) {
	t.Parallel()
	unused := func(documents ...string) string {
		fleet := store(documents...).read(t)
		c, _ := config.NewConfigurator(fleet)
		for _, target := range fleet.Targets {
			c.Configure(fleet.ClusterTypes[0], target) // cloud
		}
		return reported(c.NoticeUnused())
	}
	assert.Empty(t, unused())
	assert.Empty(t, unused(platformConfig("a", "", "{}"), configMap("no-config", "", "{}")))
	assert.Equal(t, "notice: 2 of 3 platform ConfigMaps are unused: a, c [config-unused]\n",
		unused(platformConfig("c", "cluster-type: edge", "{}"), platformConfig("b", "cluster-type: cloud", "{}"), platformConfig("a", "site: store", "{}")))
	assert.Empty(t, unused(configMap("azure-app-config", "", "{cluster-type.edge.A: a, cluster-type.cloud.A: a}")))
	assert.Equal(t, "notice: 1 of 1 platform ConfigMaps are unused: azure-app-config [config-unused]\n",
		unused(configMap("azure-app-config", "", "{cluster-type.edge.A: a}")))
	var many []string
	for i := range 7 {
		many = append(many, platformConfig(fmt.Sprintf("c%d", i), "cluster-type: edge", "{}"))
	}
	assert.Equal(t, "notice: 7 of 7 platform ConfigMaps are unused: c0, c1, c2, c3, c4 and 2 more [config-unused]\n", unused(many...))
}

func TestUnknownLabelValues(t *testing.T) {
	t.Parallel()
	tests := []struct {
		document string
		want     []string
	}{
		{platformConfig("c", "site: store, tier: web, cluster-type: edge, workload: cart, deployment-target: cart-web, workspace: shop", "{}"), []string{}},
		{platformConfig("c", `colour: ""`, "{}"), []string{}},
		{platformConfig("c", "kustomize.toolkit.fluxcd.io/name: x", "{}"), []string{}},
		{configMap("c", "site: stoer", "{}"), []string{}},
		{platformConfig("c", "site: stoer", "{}"), []string{`cp:a.yaml:3:63: warning: ConfigMap "c" selects site=stoer, but nothing in the environment has that label [unknown-label-value]`}},
		{platformConfig("c", "cluster-type: cart-web", "{}"), []string{`cp:a.yaml:3:71: warning: ConfigMap "c" selects cluster-type=cart-web, but nothing in the environment has that label [unknown-label-value]`}},
		{configMap("azure-app-config", "site: stoer", "{deployment-target.web.K: v}"), []string{`cp:a.yaml:4:33: warning: ConfigMap "azure-app-config" selects deployment-target=web, but nothing in the environment has that label [unknown-label-value]`}},
	}
	for _, test := range tests {
		_, problems := configure(t, store(test.document))
		assert.Equal(t, test.want, problems)
	}
	fleet := store(platformConfig("c", "site: stoer", "{}")).read(t)
	_, diags := config.NewConfigurator(fleet)
	require.Len(t, diags, 1)
	assert.Equal(t, `ClusterType "edge" has site=store`, diags[0].Hint)
	fleet.Incomplete = true // what could not be read may have it
	_, diags = config.NewConfigurator(fleet)
	assert.Empty(t, diags)
}
