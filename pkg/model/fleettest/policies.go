package fleettest

import "fmt"

// A quarter is a label value that exactly a quarter of the cluster types has.
type quarter struct {
	key, value string
	values     []string // that the label has
}

func quarters() []quarter {
	var all []quarter
	for i := range 4 {
		all = append(all, quarter{"site", sites()[i], sites()}, quarter{"size", sizes()[i], sizes()}, quarter{"ring", rings()[i], rings()})
	}
	return all
}

// quarterOf returns where the targets of a workspace and tier are.
func quarterOf(workspace, tier int) quarter {
	all := quarters()
	return all[(workspace*len(tiers())+tier)%len(all)]
}

// addPolicies adds one for each workspace and tier, and one for each workspace that says the same
// once more of what is critical.
func (g *generator) addPolicies() {
	for i := range g.size.Repositories {
		for j, tier := range tiers() {
			g.addPolicy(i, tier, quarterOf(i, j).selector(i+j), "matchLabels:\n        tier: "+tier)
		}
		g.addPolicy(i, "critical", quarterOf(i, 0).selector(i), "matchExpressions:\n        - {key: tier, operator: In, values: ["+tiers()[0]+"]}\n        - {key: critical, operator: Exists}")
	}
}

func (g *generator) addPolicy(i int, what, clusterTypes, targets string) {
	name := workspace(i) + "-" + what
	add(g.fleet.Dev, "scheduling/"+workspace(i)+"/"+what+".yaml", policyText(name, workspace(i), targets, clusterTypes))
}

// policyText has the requirements of two label selectors.
func policyText(name, workspace, targets, clusterTypes string) string {
	return object("SchedulingPolicy", name, nil) + "spec:\n" +
		"  deploymentTargetSelector:\n    workspace: " + workspace + "\n    labelSelector:\n      " + targets + "\n" +
		"  clusterTypeSelector:\n    labelSelector:\n      " + clusterTypes + "\n"
}

// selector asks for the quarter in one of the ways that there are.
func (q quarter) selector(way int) string {
	return turn(
		way,
		fmt.Sprintf("matchLabels:\n        %s: %s", q.key, q.value),
		fmt.Sprintf("matchExpressions:\n        - {key: %s, operator: In, values: [%s]}", q.key, q.value),
		fmt.Sprintf("matchExpressions:\n        - {key: %s, operator: Exists}\n        - {key: %s, operator: NotIn, values: %s}", q.key, q.key, without(q.value, q.values)),
	)
}
