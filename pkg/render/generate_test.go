package render

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// fleetSize says how large a generated fleet is.
type fleetSize struct {
	clusterTypes, configs, policies int
	// tenants have that many workloads each, and these that many targets.
	tenants, workloads, targets int
}

func smallFleet() fleetSize {
	return fleetSize{clusterTypes: 6, configs: 20, policies: 6, tenants: 4, workloads: 2, targets: 3}
}

// generate makes a fleet in which nothing is wrong: the same for the same seed, on every machine.
func generate(size fleetSize, seed uint64) fleetTexts {
	g := &generator{rand.New(rand.NewPCG(seed, 7))}
	texts := platform(g.templates()...)
	for i := range size.clusterTypes {
		texts.platform = append(texts.platform, g.clusterType(i))
	}
	for i := range size.configs {
		texts.platform = append(texts.platform, g.config(i))
	}
	for i := range size.policies {
		texts.platform = append(texts.platform, g.policy(i))
	}
	texts.platform = append(texts.platform, g.schema(), object("BaseRepo", "main", "", "spec: {repo: https://example.com/cp, branch: main, commit: 0a1b2c3d}"))
	for i := range size.tenants {
		name := fmt.Sprintf("tenant-%d", i)
		texts.platform = append(texts.platform, registration(name, g.pick("retail", "finance", "platform")))
		var workloads []string
		for j := range size.workloads {
			workloads = append(workloads, g.workload(fmt.Sprintf("app-%d-%d", i, j), size.targets))
		}
		texts = texts.app(name, workloads...)
	}
	return texts
}

type generator struct{ *rand.Rand }

func (g *generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g *generator) templates() []string {
	return []string{
		standardTemplates(),
		textTemplate("argo", "reconciler", `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: {{ .Namespace }}
  namespace: argocd
  labels:
{{- range $key, $value := .Labels }}
    {{ $key }}: {{ $value | quote }}
{{- end }}
  annotations: {config: "{{ hash .ConfigData }}"}
spec:
  source: {repoURL: {{ .Repo | quote }}, targetRevision: {{ .Branch | quote }}, path: {{ .Path | quote }}}
`, `apiVersion: v1
kind: ConfigMap
metadata: {name: shared, namespace: argocd}
data: {clusterType: {{ .ClusterType }}}
`),
		object("Template", "ansible", "", `spec: {type: reconciler, manifests: [{tasks: [{name: "{{ .DeploymentTargetName }}", repo: "{{ .Manifests.repo }}", retries: 3}]}]}`),
		textTemplate("values", "config", `apiVersion: v1
kind: ConfigMap
metadata: {name: platform-config, namespace: {{ .Namespace }}}
data:
{{ .ConfigData | stringify | indent 2 }}
`),
		object("Template", "script", "", "spec:\n  type: config\n  contentType: sh\n  manifests:\n  - |\n    {{- range $key, $value := .ConfigData }}\n    export {{ $key }}={{ $value | toYaml | b64enc }}\n    {{- end }}\n"),
	}
}

func (g *generator) labels() string {
	return fmt.Sprintf("region: %s, size: %s, site: %s", g.pick("west", "east", "north"), g.pick("large", "small"), g.pick("store", "cloud"))
}

func (g *generator) clusterType(i int) string {
	return object("ClusterType", fmt.Sprintf("type-%d", i), g.labels(), fmt.Sprintf("spec: {reconciler: %s, namespaceService: default, configType: %s}",
		g.pick("flux", "argo", "ansible"), g.pick(`""`, "configMap", "envFile", "values", "script")))
}

func (g *generator) config(i int) string {
	labels := g.pick("", "region: west", "region: east, size: large", "site: store", "tier: web", "workspace: retail", "tier: db, region: north", `tier: ""`,
		"cluster-type: type-0", "workload: app-0-0", "deployment-target: app-0-0-target-0")
	if g.IntN(8) == 0 {
		return configMap(fmt.Sprintf("azure-app-config-%d", i), "", "{REGION: any, region.west.REGION: west, region.west.tier.web.DATABASE: '{host: w}'}")
	}
	data := []string{
		"REGION: " + g.pick("eu", "us", "asia"), fmt.Sprintf("REPLICAS: %q", fmt.Sprint(1+g.IntN(9))), "QUOTED: \"'5'\"",
		"DATABASE: '{host: " + g.pick("a", "b", "c") + ", port: 5432}'", "HOSTS: '[{name: " + g.pick("a", "b", "c") + ", weight: 1}]'",
		"NESTED: \"{{ .Environment }}-{{ .ClusterType }}\"", "LINES: \"one\\ntwo\\n\"",
	}
	g.Shuffle(len(data), func(i, j int) { data[i], data[j] = data[j], data[i] })
	return platformConfig(fmt.Sprintf("config-%d", i), labels, "{"+strings.Join(data[:1+g.IntN(4)], ", ")+"}")
}

func (g *generator) policy(i int) string {
	targets := g.pick("{}", "{matchLabels: {tier: web}}", "{matchExpressions: [{key: tier, operator: In, values: [web, db]}]}", "{matchLabels: {workspace: retail}}")
	clusterTypes := g.pick("{}", "{matchLabels: {size: large}}", "{matchLabels: {site: store}}", "{matchExpressions: [{key: region, operator: NotIn, values: [north]}]}")
	return object("SchedulingPolicy", fmt.Sprintf("policy-%d", i), "", fmt.Sprintf("spec: {deploymentTargetSelector: {workspace: %s, labelSelector: %s}, clusterTypeSelector: {labelSelector: %s}}",
		g.pick(`""`, "retail", "finance"), targets, clusterTypes))
}

func (g *generator) schema() string {
	return object("ConfigSchema", "basic", "", `spec: {schema: '{"properties": {"REPLICAS": {"type": "number", "minimum": 1}, "DATABASE": {"type": "object"}}}'}`)
}

func (g *generator) workload(name string, targets int) string {
	var specs []string
	for i := range targets {
		specs = append(specs, fmt.Sprintf("name: target-%d, labels: {tier: %s}, manifests: {repo: https://example.com/%s.git, branch: %s, path: ./%s/%d}",
			i, g.pick("web", "db", "batch"), name, g.pick("main", "dev", "release/1.0"), name, i))
	}
	return workload(name, g.pick("", "team: blue", "team: green, critical: \"true\""), specs...)
}
