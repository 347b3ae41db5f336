package fleettest

import (
	"fmt"
	"strings"
	"testing/fstest"
)

// A workload has a deployment target of each tier.
type workload struct {
	name, workspace, team string
	repository            int
}

// target is the full name of its target of a tier.
func (w workload) target(tier string) string { return w.name + "-" + tier }

func tiers() []string { return []string{"web", "worker", "batch"} }

const teamsOfWorkspace = 3

// addWorkloads adds the application repositories, which are a workspace each, and registers them.
func (g *generator) addWorkloads() {
	for i := range g.size.Repositories {
		name, workspace := repository(i), workspace(i)
		g.fleet.Apps[name] = fstest.MapFS{}
		add(g.fleet.Main, "workloads/"+name+".yaml", object("WorkloadRegistration", name, nil)+
			"spec:\n  workload:\n    repo: "+server+name+"\n    branch: "+baseBranch+"\n    path: deploy\n  workspace: "+workspace+"\n")
		add(g.fleet.Apps[name], "README.md", "# "+name+"\n\nThe applications of "+workspace+".\n")
	}
	for i := range g.size.Workloads {
		of := i % g.size.Repositories
		w := workload{
			name:      fmt.Sprintf("%s-%s-%03d", turn(i, nouns()...), turn(i/len(nouns()), kinds()...), i),
			workspace: workspace(of), team: fmt.Sprintf("%s-%c", workspace(of), 'a'+rune(i/g.size.Repositories%teamsOfWorkspace)),
			repository: of,
		}
		g.workloads = append(g.workloads, w)
		g.addWorkload(i, w)
	}
}

func nouns() []string {
	return []string{"cart", "catalog", "checkout", "delivery", "invoice", "loyalty", "pricing", "recipe", "returns", "search", "shelf", "stock", "till"}
}

func kinds() []string { return []string{"api", "sync", "feed", "portal", "engine"} }

func repository(i int) string { return fmt.Sprintf("%s-apps-%02d", turn(i, nouns()...), i) }

func workspace(i int) string { return fmt.Sprintf("%s-%02d", turn(i, nouns()...), i) }

// addWorkload adds a workload, and other files that such a repository has.
func (g *generator) addWorkload(i int, w workload) {
	files := g.fleet.Apps[repository(w.repository)]
	add(files, "deploy/"+w.name+"/workload.yaml", g.workloadText(i, w))
	add(files, "deploy/"+w.name+"/alerts.yaml", fmt.Sprintf(alertsText, w.name))
	add(files, "charts/"+w.name+"/values.yaml", fmt.Sprintf("image: registry.acme.example/%s\nreplicas: %d\n", w.name, 1+i%5))
}

func (g *generator) workloadText(i int, w workload) string {
	var b strings.Builder
	labels := []label{{"team", w.team}, {"language", turn(i, "go", "java", "dotnet", "python")}}
	if i/g.size.Repositories%7 == 0 {
		labels = append(labels, label{"critical", "true"})
	}
	b.WriteString(object("Workload", w.name, labels) + "spec:\n  deploymentTargets:\n")
	for j, tier := range tiers() {
		fmt.Fprintf(&b, "    - name: %s\n      environment: %s\n", tier, Environment)
		b.WriteString(labelLines("      ", []label{{"tier", tier}, {"app.kubernetes.io/component", tier}}))
		fmt.Fprintf(&b, "      manifests:\n        repo: %s%s-manifests\n        branch: %s\n        path: ./%s/%s\n",
			server, repository(w.repository), Environment, w.name, tier)
		if (i+j)%4 == 0 {
			fmt.Fprintf(&b, "        interval: %dm\n", 1+g.IntN(15))
		}
		if (i+j)%20 == 0 {
			b.WriteString("      configSchemas:\n        - |\n          {\"properties\": {\"RETRY_LIMIT\": {\"type\": \"integer\", \"maximum\": 10}}}\n")
		}
	}
	if i%5 == 0 {
		b.WriteString("  configSchemas:\n    - |\n" + indented("      ", workloadSchema))
	}
	return b.String()
}

const workloadSchema = `{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "required": ["DATABASE", "DATABASE_URL", "REPLICAS"],
  "properties": {
    "DATABASE": {
      "type": "object",
      "required": ["host", "port"],
      "properties": {"port": {"type": "integer", "minimum": 1, "maximum": 65535}}
    },
    "DATABASE_URL": {"type": "string", "pattern": "^postgres://"},
    "REPLICAS": {"type": "integer", "minimum": 1, "maximum": 40}
  }
}
`

const alertsText = `apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: %s
spec:
  groups:
    - name: availability
      rules:
        - alert: Down
          expr: up == 0
          for: 5m
`
