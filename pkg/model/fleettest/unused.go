package fleettest

import "fmt"

// addUnused adds policies and configs that ask for what exists, but nowhere together.
func (g *generator) addUnused() {
	for i := range g.size.Unused {
		c, w := g.clusterTypes[i%len(g.clusterTypes)], g.workloads[i%len(g.workloads)]
		name := fmt.Sprintf("%04d", i)
		add(g.fleet.Dev, "scheduling/unused/"+name+".yaml", policyText("unused-"+name, w.workspace,
			"matchLabels:\n        team: "+w.team+"-to-be",
			"matchLabels:\n        region: "+c.value("region")))
		labels := []label{{"cluster-type", c.name}, {"site", otherThan(c.value("site"), sites())}}
		if i%2 == 1 {
			labels = []label{{"workload", w.name}, {"deployment-target", g.workloads[(i+1)%len(g.workloads)].target(tiers()[0])}}
		}
		g.addConfig(g.fleet.Dev, "90-unused-"+name, labels, g.keys(3))
	}
}

func otherThan(value string, values []string) string {
	if values[0] != value {
		return values[0]
	}
	return values[1]
}
