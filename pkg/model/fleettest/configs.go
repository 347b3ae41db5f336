package fleettest

import (
	"fmt"
	"slices"
	"strings"
	"testing/fstest"
)

// addConfigs adds configuration of all levels. Their names begin with a number, which is the order
// in which they are laid over each other.
func (g *generator) addConfigs() {
	for _, topic := range topics() {
		g.addConfig(g.fleet.Main, "00-"+topic.name, nil, topic.keys)
	}
	g.addLabelConfigs()
	for i := range g.size.Repositories {
		space := workspace(i)
		g.addConfig(g.fleet.Main, "40-workspace-"+space, []label{{"workspace", space}}, g.keys(2, "COST_CENTER", "SUPPORT_EMAIL", "ALLOWED_ORIGINS"))
		for team := range min(teamsOfWorkspace, g.size.Workloads/g.size.Repositories) {
			name := fmt.Sprintf("%s-%c", space, 'a'+rune(team))
			g.addConfig(g.fleet.Main, "45-team-"+name, []label{{"team", name}}, g.keys(1, "TEAM", "ON_CALL_URL"))
		}
	}
	for _, c := range g.clusterTypes {
		g.addConfig(g.fleet.Dev, "50-cluster-type-"+c.name, []label{{"cluster-type", c.name}}, g.keys(4, "GATEWAY", "INSTANCE", "LOGGING", "MAINTENANCE_WINDOW", "NOTICE"))
	}
	for i, w := range g.workloads {
		if i%10 < 7 {
			g.addConfig(g.fleet.Main, "60-workload-"+w.name, []label{{"workload", w.name}}, g.keys(4, "DATABASE", "DATABASE_URL", "FEATURE_FLAGS"))
		}
	}
	g.addNarrowConfigs()
}

// addLabelConfigs adds those for one label of the cluster type or of the target, and those for two.
func (g *generator) addLabelConfigs() {
	for _, level := range []struct {
		number int
		labels []string
		keys   []string
	}{
		{10, []string{"region"}, []string{"REGION", "TIMEZONE", "CURRENCY", "DNS_ZONE"}},
		{11, []string{"site"}, []string{"STORAGE_CLASS", "SYNC"}},
		{12, []string{"size"}, []string{"RESOURCES", "NODE_POOL"}},
		{13, []string{"ring"}, []string{"RELEASE_CHANNEL", "FEATURE_FLAGS"}},
		{14, []string{"edge"}, []string{"PROXY_URL"}},
		{20, []string{"region", "site"}, []string{"MIRROR_URL"}},
		{21, []string{"size", "ring"}, nil},
	} {
		for _, labels := range g.combinations(level.labels) {
			g.addConfig(g.fleet.Dev, configName(level.number, labels), labels, g.keys(2, level.keys...))
		}
	}
	for _, tier := range tiers() {
		g.addConfig(g.fleet.Main, "30-tier-"+tier, []label{{"tier", tier}}, g.keys(2, "REPLICAS", "PROBES"))
	}
}

// combinations returns the values that cluster types have of some labels, in order of their names.
func (g *generator) combinations(keys []string) [][]label {
	byName := map[string][]label{}
	for _, c := range g.clusterTypes {
		var labels []label
		for _, key := range keys {
			labels = append(labels, label{key, c.value(key)})
		}
		byName[configName(0, labels)] = labels
	}
	var all [][]label
	for _, name := range sorted(byName) {
		all = append(all, byName[name])
	}
	return all
}

// addNarrowConfigs adds those that apply where two things meet, and to single targets.
func (g *generator) addNarrowConfigs() {
	seen := map[string]bool{}
	for len(seen) < g.size.Pairs {
		c, w, tier := g.assignment()
		labels := []label{{"cluster-type", c.name}, {"workload", w.name}}
		if len(seen)%3 == 0 {
			labels = []label{{"region", c.value("region")}, {"workload", w.name}, {"tier", tier}}
		}
		if name := configName(70, labels); !seen[name] {
			seen[name] = true
			g.addConfig(g.fleet.Dev, name, labels, g.keys(3))
		}
	}
	for i, w := range g.workloads {
		if i%4 == 0 {
			name := w.target(turn(i/4, tiers()...))
			g.addConfig(g.fleet.Dev, "80-target-"+name, []label{{"deployment-target", name}}, g.keys(3))
		}
	}
}

// assignment draws one of those that there are.
func (g *generator) assignment() (clusterType, workload, string) {
	w, tier := g.workloads[g.IntN(len(g.workloads))], g.IntN(len(tiers()))
	q := quarterOf(w.repository, tier)
	there := slices.DeleteFunc(slices.Clone(g.clusterTypes), func(c clusterType) bool { return c.value(q.key) != q.value })
	return there[g.IntN(len(there))], w, tiers()[tier]
}

func configName(number int, labels []label) string {
	name := fmt.Sprintf("%02d", number)
	for _, l := range labels {
		name += "-" + l.key + "-" + l.value
	}
	return name
}

// keys returns those that are given and n others.
func (g *generator) keys(n int, given ...string) []string {
	common := overridden()
	g.Shuffle(len(common), func(i, j int) { common[i], common[j] = common[j], common[i] })
	keys := slices.Clone(given)
	for _, key := range common {
		if len(keys) < len(given)+n && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (g *generator) addConfig(files fstest.MapFS, name string, labels []label, keys []string) {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\n")
	b.WriteString(metadata(name, append([]label{{"platform-config", "true"}}, labels...)))
	b.WriteString("data:\n")
	for _, key := range keys {
		b.WriteString("  " + key + ":" + scalar("    ", g.values[key]()))
	}
	add(files, "configs/"+name+".yaml", b.String())
}
