package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// validObjects is an object of each kind.
func validObjects() map[string]string {
	objects := map[string]string{
		"Environment":          "spec: {controlPlane: {repo: https://h/r, branch: dev}}",
		"BaseRepo":             "spec: {repo: https://h/r, branch: main}",
		"GitOpsRepo":           "spec: {repo: https://h/r, branch: dev}",
		"WorkloadRegistration": "spec: {workload: {repo: https://h/r, branch: main}}",
		"Workload":             "spec: {deploymentTargets: [{name: t, environment: dev, manifests: {repo: r}}]}",
		"DeploymentTarget":     "spec: {manifests: {repo: r}}",
		"ClusterType":          "spec: {reconciler: r, namespaceService: ns}",
		"Template":             "spec: {type: config, manifests: [a]}",
		"SchedulingPolicy":     "spec: {}",
		"ConfigSchema":         "spec: {schema: '{}'}",
	}
	for kind, spec := range objects {
		objects[kind] = api + "kind: " + kind + "\nmetadata: {name: x}\n" + spec + "\n"
	}
	objects["ConfigMap"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: b}\n"
	return objects
}

// count counts the objects of each kind.
func (o *Objects) count() map[string]int {
	counts := map[string]int{
		"Environment": len(o.Environments), "BaseRepo": len(o.BaseRepos), "GitOpsRepo": len(o.GitOpsRepos),
		"WorkloadRegistration": len(o.Registrations), "Workload": len(o.Workloads), "DeploymentTarget": len(o.Targets),
		"ClusterType": len(o.ClusterTypes), "Template": len(o.Templates), "SchedulingPolicy": len(o.Policies),
		"ConfigSchema": len(o.ConfigSchemas), "ConfigMap": len(o.ConfigMaps),
	}
	for kind, n := range counts {
		if n == 0 {
			delete(counts, kind)
		}
	}
	return counts
}

// SECURITY S5: which kinds are allowed where. A tenant can only add Workloads; other kinds are reported.
func TestS5Kinds(t *testing.T) {
	t.Parallel()
	const (
		accept = "accept"
		notice = "notice" // skipped, and said
		refuse = "refuse"
		other  = "other" // counted as another project's
	)
	want := map[string][4]string{
		//                      main    platform base    tenant
		"Environment":          {accept, notice, notice, refuse},
		"BaseRepo":             {notice, accept, notice, refuse},
		"GitOpsRepo":           {notice, accept, notice, refuse},
		"WorkloadRegistration": {notice, accept, accept, refuse},
		"Workload":             {notice, accept, accept, accept},
		"DeploymentTarget":     {notice, accept, accept, refuse},
		"ClusterType":          {notice, accept, accept, refuse},
		"Template":             {notice, accept, accept, refuse},
		"SchedulingPolicy":     {notice, accept, accept, refuse},
		"ConfigSchema":         {notice, accept, accept, refuse},
		"ConfigMap":            {other, accept, accept, other},
	}
	objects := validObjects()
	for kind := range kinds {
		require.Contains(t, want, kind, "a new kind needs a row here")
	}
	for kind, outcomes := range want {
		for _, role := range []Role{Main, Platform, Base, Tenant} {
			t.Run(fmt.Sprintf("%s/%d", kind, role), func(t *testing.T) {
				t.Parallel()
				path := "f.yaml"
				if role == Main {
					path = EnvironmentsDirectory + "/f.yaml"
				}
				got, diags := parse(role, tree{path: objects[kind]})
				switch outcomes[role] {
				case accept:
					assert.Empty(t, shown(diags))
					assert.Equal(t, map[string]int{kind: 1}, got.count())
				case notice:
					assert.Equal(t, []string{"2:7 not-counted"}, places(diags))
					assert.Equal(t, 1, diags.Count(diag.Notice))
					assert.Empty(t, got.count())
				case refuse:
					assert.Equal(t, []string{fmt.Sprintf(`repo:f.yaml:2:7: error: %s is not allowed here: only Workloads are read from the repository of WorkloadRegistration "app" [tenant-kind]`, kind)}, shown(diags))
					require.Len(t, diags, 1)
					assert.Equal(t, "control-plane:registration.yaml:1:1", diags[0].Related[0].At.String())
					assert.Empty(t, got.count())
					assert.True(t, got.Incomplete)
				case other:
					assert.Empty(t, shown(diags))
					assert.Empty(t, got.count())
					assert.Equal(t, map[string]int{kind: 1}, got.Others)
				}
			})
		}
	}
}

// SECURITY S5: no way of writing it down gets a kind past the table.
func TestS5Smuggling(t *testing.T) {
	t.Parallel()
	rest := "metadata: {name: x}\nspec: {type: config, manifests: [a]}\n"
	for name, c := range map[string]struct {
		content string
		want    []string
	}{
		"second document":         {validObjects()["Workload"] + "---\n" + api + "kind: Template\n" + rest, []string{"7:7 tenant-kind"}},
		"behind an end marker":    {"---\n" + validObjects()["Workload"] + "...\n--- {apiVersion: scheduler.kalypso.io/v1alpha1, kind: Template}", []string{"7:55 tenant-kind"}},
		"JSON":                    {`{"apiVersion": "scheduler.kalypso.io/v1alpha1", "kind": "Template"}`, []string{"1:57 tenant-kind"}},
		"quoted and tagged":       {"'apiVersion': !!str scheduler.kalypso.io/v1alpha1\n\"kind\": 'Template'\n" + rest, []string{"2:9 tenant-kind"}},
		"escaped":                 {"apiVersion: scheduler.kalypso.io/v1alpha1\n\"\\x6bind\": \"\\x54emplate\"\n" + rest, []string{"2:12 tenant-kind"}},
		"explicit key":            {api + "? kind\n: Template\n" + rest, []string{"3:3 tenant-kind"}},
		"list":                    {"apiVersion: v1\nkind: List\nitems: []\n", []string{"2:7 list"}},
		"list of our group":       {api + "kind: List\nitems: []\n", []string{"2:7 list"}},
		"another version":         {"apiVersion: scheduler.kalypso.io/v1\nkind: Workload\n" + rest, []string{"1:13 unknown-version"}},
		"no version":              {"apiVersion: scheduler.kalypso.io\nkind: Workload\n" + rest, []string{"1:13 unknown-version"}},
		"group in another case":   {"apiVersion: Scheduler.Kalypso.io/v1alpha1\nkind: Template\n" + rest, []string{"1:13 unknown-version"}},
		"group misspelt":          {"apiVersion: scheduler.kalipso.io/v1alpha1\nkind: Template\n" + rest, []string{"1:13 unknown-version"}},
		"kind in another case":    {api + "kind: template\n" + rest, []string{"2:7 unknown-kind"}},
		"kind with blanks":        {api + "kind: 'Template '\n" + rest, []string{"2:7 unknown-kind"}},
		"unknown kind":            {api + "kind: Assignment\n" + rest, []string{"2:7 unknown-kind"}},
		"no apiVersion":           {"kind: Template\n" + rest, []string{"1:7 missing-field"}},
		"apiVersion is null":      {"apiVersion:\nkind: Template\n" + rest, []string{"2:7 missing-field"}},
		"apiVersion is a list":    {"apiVersion: [scheduler.kalypso.io/v1alpha1]\nkind: Template\n" + rest, []string{"1:13 wrong-type"}},
		"kind twice":              {api + "kind: Workload\nkind: Template\n" + rest, []string{"3:1 duplicate-key", "3:7 tenant-kind"}},
		"kind is null":            {api + "kind: ~\n" + rest, []string{"1:1 no-kind"}},
		"kind is a map":           {api + "kind: {Template: a}\n" + rest, []string{"1:1 no-kind"}},
		"merged (tenants cannot)": {"a: &a {kind: Template}\n<<: *a\n" + api + rest, []string{"2:5 yaml-alias"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, diags := parseOne(Tenant, c.content)
			assert.Equal(t, c.want, places(diags))
			counts := objects.count()
			delete(counts, "Workload")
			assert.Empty(t, counts)
		})
	}
}

// SECURITY S5: what does not count is not checked either, so that it can be faulty.
func TestS5WhatDoesNotCountIsNotChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role Role
		kind string
	}{{Base, "BaseRepo"}, {Base, "GitOpsRepo"}, {Base, "Environment"}, {Platform, "Environment"}, {Main, "Workload"}} {
		path := "f.yaml"
		if c.role == Main {
			path = EnvironmentsDirectory + "/f.yaml"
		}
		_, diags := parse(c.role, tree{path: api + "kind: " + c.kind + "\nmetadata: 5\nspec: {rep: x}\nfoo: bar\n"})
		assert.Equal(t, []string{"2:7 not-counted"}, places(diags))
	}
}

// Objects of other projects are counted and skipped.
func TestOtherProjects(t *testing.T) {
	t.Parallel()
	for _, role := range []Role{Platform, Base, Tenant} {
		objects, diags := parseOne(role, "apiVersion: apps/v1\nkind: Deployment\nspec: {unknown: [5]}\n---\napiVersion: argoproj.io/v1alpha1\nkind: Workload\n---\n"+
			"apiVersion: apps/v1\nkind: Deployment\n---\n- hosts: all\n---\njust a text\n---\nkind: Deployment\n")
		assert.Empty(t, shown(diags))
		assert.Equal(t, map[string]int{"Deployment": 3, "Workload": 1}, objects.Others)
		assert.Empty(t, objects.count())
		assert.False(t, objects.Incomplete)
	}
}

func TestNoKind(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"a: b\n", "kind: ''\n", "kind:\n", "kind: ~\n", "kind: []\n", "{}\n"} {
		_, diags := parseOne(Tenant, content)
		assert.Equal(t, []string{"repo:f.yaml:1:1: notice: the document has no kind, so it is skipped [no-kind]"}, shown(diags), content)
		_, diags = parseOne(Platform, content)
		assert.Equal(t, []string{"repo:f.yaml:1:1: warning: the document has no kind, so it is skipped [no-kind]"}, shown(diags), content)
	}
	_, diags := parseOne(Platform, "kind: ConfigMap\nmetadata: {name: c}\n")
	assert.Equal(t, []string{"repo:f.yaml:1:1: notice: ConfigMap has no apiVersion: using v1 [no-api-version]"}, shown(diags))
	_, diags = parseOne(Platform, "apiVersion:\nkind: ConfigMap\nmetadata: {name: c}\n")
	assert.Equal(t, []string{"repo:f.yaml:1:1: notice: ConfigMap has no apiVersion: using v1 [no-api-version]"}, shown(diags))
}

// SECURITY S6: workspace and workload come from the registration and the name; a tenant may repeat
// them, and nothing else.
func TestS6ReservedLabels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workspace  string // of the registration
		key, value string // what the tenant sets
		refused    bool
	}{
		{"shop", "workspace", "shop", false},
		{"shop", "workspace", "bank", true},
		{"shop", "workspace", "Shop", true},
		{"shop", "workspace", `""`, true},
		{"shop", "workspace", "~", true},
		{"", "workspace", "bank", true},
		{"", "workspace", `""`, false},
		{"", "workspace", "", false},
		{"shop", "workload", "cart", false},
		{"shop", "workload", "till", true},
		{"shop", "workload", `""`, true},
		{"", "workload", "till", true},
		// others are the tenant's own
		{"shop", "cluster-type", "edge", false},
		{"shop", "deployment-target", "x", false},
		{"shop", "platform-config", `"true"`, false},
		{"shop", "Workspace", "bank", false},
	} {
		for _, labels := range []string{
			"metadata: {name: cart, labels: {%s: %s}}\nspec: {deploymentTargets: [{name: web, environment: dev, manifests: {}}]}\n",
			"metadata: {name: cart}\nspec: {deploymentTargets: [{name: web, environment: dev, manifests: {}, labels: {%s: %s}}]}\n",
		} {
			repo := tree{"f.yaml": api + "kind: Workload\n" + fmt.Sprintf(labels, c.key, c.value)}
			objects, diags := Parse(sourceOf(Tenant, repo.fs()), registrationOf("app", c.workspace), DefaultOptions())
			if !c.refused {
				assert.Empty(t, shown(diags), c)
				fleet, _ := newFleet(objects)
				require.Len(t, fleet.Targets, 1)
				assert.Equal(t, c.workspace, fleet.Targets[0].Labels["workspace"].Value)
				assert.Equal(t, c.workspace, fleet.Targets[0].Workspace)
				assert.Equal(t, "cart", fleet.Targets[0].Labels["workload"].Value)
				continue
			}
			assert.Equal(t, []string{"reserved-label"}, rules(diags), c)
			assert.True(t, objects.Workloads[0].Broken)
			for _, related := range diags[0].Related {
				assert.False(t, related.At.IsZero())
			}
		}
	}
}

// SECURITY S6: the platform's own Workloads say their workspace themselves.
func TestS6PlatformWorkloads(t *testing.T) {
	t.Parallel()
	objects, diags := parseOne(Base, api+"kind: Workload\nmetadata: {name: cart, labels: {workspace: infra}}\nspec: {deploymentTargets: [{name: web, environment: dev, manifests: {path: ../x, a: '{{ .Path }}'}}]}\n")
	assert.Empty(t, shown(diags), "the control plane is trusted")
	fleet, _ := newFleet(objects)
	assert.Equal(t, "infra", fleet.Targets[0].Workspace)
	assert.Nil(t, fleet.Targets[0].Registration)
}

// SECURITY S2, S3: a value of a tenant is plain text: no template, no line break, no hidden characters.
func TestS2TenantValuesArePlain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{`manifests: {path: "{{ .Workload }}"}`, "8:23 tenant-template"},
		{`manifests: {path: "a {{"}`, "8:23 tenant-template"},
		{`manifests: {extra: "\x7b\x7b"}`, "8:24 tenant-template"},
		{`manifests: {"{{ x }}": a}`, "8:28 tenant-template"},
		{`manifests: {path: "a\nb"}`, "8:23 tenant-control-character"},
		{`manifests: {path: "a\rb"}`, "8:23 tenant-control-character"},
		{`manifests: {path: "a\tb"}`, "8:23 tenant-control-character"},
		{`manifests: {path: "a\0b"}`, "8:23 tenant-control-character"},
		{`manifests: {path: "a\eb"}`, "8:23 tenant-control-character"},
		{`manifests: {path: "a\x7fb"}`, "8:23 tenant-control-character"},
		{`manifests: {path: "a\Nb"}`, "8:23 tenant-control-character"},     // U+0085
		{`manifests: {path: "a\Lb"}`, "8:23 tenant-control-character"},     // U+2028
		{`manifests: {path: "a\Pb"}`, "8:23 tenant-control-character"},     // U+2029
		{`manifests: {path: "a\u202eb"}`, "8:23 tenant-control-character"}, // right to left
		{`manifests: {path: "a\ufeffb"}`, "8:23 tenant-control-character"},
		{`manifests: {path: "a\u2066b"}`, "8:23 tenant-control-character"},
		{`manifests: {"a\nb": c}`, "8:25 tenant-control-character"},
		{"manifests: {path: |\n      a}", "8:23 invalid-yaml"},
		{"manifests:\n      path: |\n        a", "9:13 tenant-control-character"},
	} {
		_, diags := parseOne(Tenant, tenantWorkload(c.line))
		if strings.HasSuffix(c.want, "invalid-yaml") {
			assert.Equal(t, []string{"invalid-yaml"}, rules(diags), c.line)
			continue
		}
		assert.Equal(t, []string{c.want}, places(diags), c.line)
	}
	for _, line := range []string{
		`manifests: {path: "{ { }}", a: "}}", b: "{%", c: "$(x)", d: "--- # & * !", e: "Zürich 東京", "f g": "", h: "\"'"}`,
		"manifests: {path: >-\n      a\n      b\n      }",
	} {
		_, diags := parseOne(Tenant, tenantWorkload(line))
		assert.NotContains(t, rules(diags), "tenant-template", line)
		assert.NotContains(t, rules(diags), "tenant-control-character", line)
	}
}

// SECURITY S3: a credential in what reaches the output is refused at its line, and is not repeated. Texts that
// only look a little like one are not.
func TestS3Secrets(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a1B2", 30)
	for _, secret := range []string{
		"ghp_" + long[:36], "gho_" + long[:36], "ghu_" + long[:36], "ghs_" + long[:36], "ghr_" + long[:36],
		"github_pat_" + long[:22] + "_" + long[:59], "glpat-" + long[:20], "AKIA" + "IOSFODNN7EXAMPLE", "ASIA" + "IOSFODNN7EXAMPLE",
		"AKIA" + "7OSFODNNAEXAMPLE", "ASIA" + "IOSFODNNEXAMPLE7", "AKIABARAHEADQUARTERS " + "AKIA" + "IOSFODNN7EXAMPLE",
		"xoxb" + "-1234567890-" + long[:24], "https://hooks.slack.com/services/" + "T01234567/B01234567/" + long[:24], "sk_" + "live_" + long[:24],
		"AIza" + long[:35], "npm_" + long[:36], "pypi-" + "AgEI" + long[:60], "AccountName=a;AccountKey=" + long[:86] + "==",
		"-----BEGIN " + "RSA PRIVATE KEY-----", "-----BEGIN " + "PRIVATE KEY-----",
		"https://user:ghp_" + long[:36] + "@github.com/acme/app", "_npm_" + long[:36],
	} {
		for _, line := range []string{"manifests: {path: '" + secret + "'}", "manifests: {'" + secret + "': a}", "manifests: {path: .}\n    labels: {a: '" + secret + "'}"} {
			_, diags := parseOne(Tenant, tenantWorkload(line))
			require.Contains(t, rules(diags), ruleTenantSecret, line)
			for _, d := range diags {
				assert.NotContains(t, d.Message+d.Hint, long[:8])
				assert.NotContains(t, d.Message+d.Hint, "EXAMPLE")
			}
		}
	}
	for _, harmless := range []string{
		"ghp_short", "AKIA", "AKIAIOSFODNN7example", "AKIAIOSFODNN7EXAMPLES", "ASIAPACIFICSOUTHEAST", "AKIABARAHEADQUARTERS", "npm_config_registry", "xoxo-" + long[:40], "AIza",
		"https://hooks.slack.com/services/", "-----BEGIN CERTIFICATE-----", "xghp_" + long[:36], "glpat-", "sk_test_" + long[:24],
		"4c1f9e2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "AccountKey=", "https://github.com/acme/shop",
	} {
		_, diags := parseOne(Tenant, tenantWorkload("manifests: {path: '"+harmless+"'}"))
		assert.NotContains(t, rules(diags), ruleTenantSecret, harmless)
	}
	name := "glpat-" + strings.Repeat("a", 20)
	_, diags := parseOne(Tenant, strings.ReplaceAll(tenantWorkload("manifests: {path: .}"), "name: web", "name: "+name))
	assert.Contains(t, rules(diags), ruleTenantSecret)
	assert.NotContains(t, diags[0].Message, name)
	_, diags = parseOne(Base, strings.ReplaceAll(tenantWorkload("manifests: {path: .}"), "name: web", "name: "+name))
	assert.NotContains(t, rules(diags), ruleTenantSecret, "the platform team is trusted")
}

// Names of workloads and targets become path segments and parts of namespaces (SPEC 4).
func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 63)
	for name, ok := range map[string]bool{
		"a": true, "a-b": true, "a1": true, "1a": true, "1": true, long: true, long + "n": false,
		"A": false, "a.b": false, "a_b": false, "-a": false, "a-": false, "a/b": false, "..": false, ".git": false, "a b": false, "ä": false, "a\n": false,
		"con": true, // Windows' reserved names are no concern of Kubernetes
	} {
		written := fmt.Sprintf("%q", name)
		for kind, spec := range map[string]string{
			"Workload":         "spec: {deploymentTargets: []}",
			"ClusterType":      "spec: {reconciler: r, namespaceService: ns}",
			"DeploymentTarget": "spec: {manifests: {}}",
		} {
			_, diags := parseOne(Platform, api+"kind: "+kind+"\nmetadata: {name: "+written+"}\n"+spec+"\n")
			assert.Equal(t, ok, !diags.HasErrors(), "%s %q: %v", kind, name, shown(diags))
		}
		_, diags := parse(Main, tree{".environments/e.yaml": api + "kind: Environment\nmetadata: {name: " + written + "}\nspec: {controlPlane: {repo: r, branch: b}}\n"})
		assert.Equal(t, ok, !diags.HasErrors(), "Environment %q: %v", name, shown(diags))
		for kind, spec := range map[string]string{
			"Template": "spec: {type: config, manifests: []}", "SchedulingPolicy": "spec: {}", "ConfigSchema": "spec: {schema: '{}'}",
			"BaseRepo": "spec: {repo: r, branch: b}", "GitOpsRepo": "spec: {repo: r, branch: b}", "WorkloadRegistration": "spec: {workload: {repo: r, branch: b}}",
		} {
			_, diags := parseOne(Platform, api+"kind: "+kind+"\nmetadata: {name: "+written+"}\n"+spec+"\n")
			assert.Equal(t, name == "a\n", diags.HasErrors(), "%s may have any name that can be shown: %q", kind, name)
		}
	}
}

// The full name of a target has 63 characters at most.
func TestFullNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workload, target int
		want             []string
	}{
		{31, 31, []string{}},
		{1, 61, []string{}},
		{61, 1, []string{}},
		{32, 31, []string{"invalid-name"}},
		{1, 62, []string{"invalid-name"}},
		{63, 1, []string{"invalid-name"}},
		{1, 64, []string{"invalid-name"}}, // said once, of the target's own name
	} {
		for _, role := range []Role{Tenant, Platform} {
			_, diags := parseOne(role, api+"kind: Workload\nmetadata: {name: "+strings.Repeat("w", c.workload)+
				"}\nspec: {deploymentTargets: [{name: "+strings.Repeat("t", c.target)+", environment: dev, manifests: {}}]}\n")
			assert.Equal(t, c.want, rules(diags), "%d and %d", c.workload, c.target)
		}
	}
}

// Labels that Kubernetes would not accept: an error for a tenant, a warning for the platform.
func TestLabels(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 63)
	for label, ok := range map[string]bool{
		"a: b": true, "a: ''": true, "a: ~": true, "app.kubernetes.io/name: x": true, "A_b.c-d: A_b.c-d": true, long + ": " + long: true,
		"a: 'b c'": false, "a: -b": false, "a: b-": false, "a: ä": false, "'a b': c": false, "a/b/c: d": false, "-a: b": false, "'': a": false,
		"a: " + long + "x": false, long + "x: a": false, "a: 'b/c'": false, "a: '{{ x }}'": false, "Example.com/a: b": false,
	} {
		for role, rule := range map[Role][]string{Tenant: {"error"}, Platform: {"warning"}, Base: {"warning"}} {
			_, diags := parseOne(role, api+"kind: Workload\nmetadata: {name: w, labels: {"+label+"}}\nspec: {deploymentTargets: []}\n")
			if ok {
				assert.Empty(t, shown(diags), label)
				continue
			}
			require.NotEmpty(t, diags, label)
			for _, d := range diags {
				assert.Equal(t, rule[0], d.Severity.String(), label)
				assert.Equal(t, "invalid-label", d.Rule)
				assert.NotContains(t, d.Message, "e.g.", "the regular expression helps nobody")
			}
		}
	}
}

// Whatever another tenant's repository holds, a tenant's targets stay as they are, or the run fails
// (SPEC 4, non-interference).
func FuzzTenantsDoNotInterfere(f *testing.F) {
	for _, seed := range oddYAML {
		f.Add(seed)
	}
	f.Add(tenantWorkload("manifests: {repo: r}"))
	f.Add(strings.ReplaceAll(tenantWorkload("manifests: {repo: r}"), "cart", "till"))
	f.Add(strings.ReplaceAll(tenantWorkload("manifests: {repo: r}\n    labels: {workspace: shop}"), "cart", "till"))
	f.Add(api + "kind: Workload\nmetadata: {name: cart-web}\nspec: {deploymentTargets: [{name: x, environment: dev, manifests: {}}]}\n")
	victim, diags := Parse(sourceOf(Tenant, tree{"f.yaml": tenantWorkload("manifests: {repo: r}") +
		"  - {name: web-x, environment: dev, manifests: {a: b}, labels: {c: d}}\n"}.fs()), registrationOf("victim", "shop"), DefaultOptions())
	require.Empty(f, diags)
	alone, diags := newFleet(victim)
	require.Empty(f, diags)
	require.Len(f, alone.Targets, 2)
	f.Fuzz(func(t *testing.T, content string) {
		source := sourceOf(Tenant, tree{"f.yaml": content}.fs())
		source.Repo = "other"
		attacker, diags := Parse(source, registrationOf("attacker", "bank"), DefaultOptions())
		fleet, more := newFleet(victim, attacker)
		if diags.HasErrors() || more.HasErrors() {
			return
		}
		var mine []*DeploymentTarget
		for _, target := range fleet.Targets {
			if target.Registration == victim.Registration {
				mine = append(mine, target)
				continue
			}
			require.Equal(t, "bank", target.Workspace)
			require.Equal(t, "bank", target.Labels[WorkspaceLabel].Value)
			require.Equal(t, target.Workload, target.Labels[WorkloadLabel].Value)
			for key, value := range target.Manifests {
				require.NotContains(t, key+value.Value, "{{")
				require.NotContains(t, key+value.Value, "\n")
			}
		}
		require.Equal(t, alone.Targets, mine)
	})
}
