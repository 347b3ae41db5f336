package impact_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/impact"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

const templates = `
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: flux}
spec:
  type: reconciler
  manifests:
  - |
    kind: Kustomization
    metadata: {name: "{{ .DeploymentTargetName }}"}
    spec: {path: "{{ .Path }}", branch: "{{ .Environment }}"}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: default}
spec:
  type: namespace
  manifests:
  - |
    kind: Namespace
    metadata: {name: "{{ .Namespace }}"}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: config}
spec:
  type: config
  manifests:
  - |
    kind: ConfigMap
    metadata: {name: platform-config}
    data: {{ toYaml .ConfigData | nindent 2 }}
`

func clusterType(name, labels string) string {
	return fmt.Sprintf(`
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: %s, labels: {%s}}
spec: {reconciler: flux, namespaceService: default, configType: config}`, name, labels)
}

// workload has targets for environments: "uat: {size: large}".
func workload(name string, targets ...string) string {
	text := fmt.Sprintf("\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: %s}\nspec:\n  deploymentTargets:\n", name)
	for _, t := range targets {
		target, rest, _ := strings.Cut(t, ": ")
		environment, labels, _ := strings.Cut(rest, " ")
		text += fmt.Sprintf("  - {name: %s, labels: %s, environment: %s, manifests: {repo: 'https://example.com/r', branch: main, path: ./p}}\n", target, labels, environment)
	}
	return text
}

func policy(name, spec string) string {
	return fmt.Sprintf("\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: %s}\nspec: %s", name, spec)
}

func config(name, labels, data string) string {
	return fmt.Sprintf("\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {platform-config: \"true\", %s}}\ndata: %s", name, labels, data)
}

// compile makes a state of the documents of an environment.
func compile(t testing.TB, environment string, documents ...string) impact.State {
	t.Helper()
	source := &model.Source{
		Ref: model.Ref{Path: ".", Role: model.Platform}, Repo: "cp",
		FS: fstest.MapFS{"a.yaml": {Data: []byte(templates + "---\n" + strings.Join(documents, "\n---\n"))}},
	}
	objects, diags := model.Parse(source, nil, model.DefaultOptions())
	fleet, more := model.NewFleet(&model.Environment{Object: model.Object{Name: model.Text{Value: environment}}}, []string{"dev", "stage"}, []*model.Objects{objects})
	diags.Add(more)
	assignments, more := schedule.Assign(fleet)
	diags.Add(more)
	tree, more := render.Render(fleet, assignments, render.Options{})
	diags.Add(more)
	for _, d := range diags {
		require.NotEqual(t, diag.Error, d.Severity, "%v", d)
	}
	return impact.State{Fleet: fleet, Assignments: assignments, Tree: tree}
}

func compare(t testing.TB, before, after impact.State) *impact.Impact {
	t.Helper()
	found, err := impact.Compare(t.Context(), before, after)
	require.NoError(t, err)
	return found
}

// lines are what happens to targets, as text.
func lines(found *impact.Impact) []string {
	var all []string
	for _, t := range found.Targets {
		line := fmt.Sprintf("%s%s/%s", t.Action.Sign(), t.ClusterType, t.TargetChange.Target)
		if t.Was != "" {
			line += " was " + t.Was
		}
		if t.Cause != nil {
			line += " " + string(t.Cause.Why)
			for _, p := range t.Cause.Policies {
				line += " " + p.Name
				for _, m := range p.Misses {
					line += "; " + m.Message
				}
			}
		}
		all = append(all, line)
	}
	return all
}

// values are what happens to values, as text.
func values(found *impact.Impact) []string {
	var all []string
	for _, v := range found.Values {
		for _, value := range v.Changes {
			line := fmt.Sprintf("%d %s %s: %s -> %s", len(v.Targets), value.Action.Sign(), value.Key, value.Old, value.New)
			for _, o := range value.Before {
				line += " <" + o.Config.Name.Value
			}
			for _, o := range value.After {
				line += " >" + o.Config.Name.Value
			}
			all = append(all, line)
		}
	}
	return all
}

func TestCauses(t *testing.T) {
	t.Parallel()
	before := compile(t, "dev",
		clusterType("edge", "size: small"), clusterType("cloud", "size: large"), clusterType("old", "size: small"),
		workload("shop", "web: dev {size: small}", "gone: dev {size: small}"), workload("till", "app: dev {size: large}"),
		policy("small", "{deploymentTargetSelector: {labelSelector: {matchLabels: {size: small}}}, clusterTypeSelector: {labelSelector: {matchLabels: {size: small}}}}"),
		policy("large", "{deploymentTargetSelector: {labelSelector: {matchLabels: {size: large}}}, clusterTypeSelector: {labelSelector: {matchLabels: {size: large}}}}"),
	)
	after := compile(t, "dev",
		clusterType("edge", "size: small"), clusterType("cloud", "size: huge"), clusterType("new", "size: small"),
		workload("shop", "web: dev {size: small}"), workload("till", "app: dev {size: large}"),
		policy("small", "{deploymentTargetSelector: {labelSelector: {matchLabels: {size: small}}}, clusterTypeSelector: {labelSelector: {matchLabels: {size: small}}}}"),
		policy("large", "{deploymentTargetSelector: {labelSelector: {matchLabels: {size: large}}}, clusterTypeSelector: {labelSelector: {matchLabels: {size: large}}}}"),
		policy("till", "{deploymentTargetSelector: {labelSelector: {matchLabels: {workload: till}}}, clusterTypeSelector: {labelSelector: {matchLabels: {size: small}}}}"),
	)
	assert.Equal(t, []string{
		`-cloud/till-app policies large; requires size=large, but the cluster type has size=huge`,
		`-edge/shop-gone deployment-target small`,
		`+edge/till-app policies till`,
		`+new/shop-web cluster-type small`,
		`+new/till-app cluster-type till`,
		`-old/shop-gone deployment-target small`,
		`-old/shop-web cluster-type small`,
	}, lines(compare(t, before, after)))
	back := compare(t, after, before)
	assert.Contains(t, lines(back), `+cloud/till-app policies large; requires size=large, but the cluster type has size=huge`)
	assert.Contains(t, lines(back), `-edge/till-app policies till`)
	assert.Empty(t, lines(compare(t, before, before)))
	assert.True(t, compare(t, before, before).Change.Empty())
}

func TestValues(t *testing.T) {
	t.Parallel()
	everywhere := policy("everywhere", "{}")
	fleet := []string{clusterType("edge", "region: west"), clusterType("cloud", "region: east"), workload("shop", "web: dev {size: small}"), everywhere}
	before := compile(t, "dev", append(slices.Clone(fleet), config("all", "", "{LEVEL: debug, OLD: x}"), config("west", "region: west", "{LEVEL: info}"))...)
	after := compile(t, "dev", append(slices.Clone(fleet), config("all", "", "{LEVEL: warn, NEW: z}"), config("west", "region: west", "{LEVEL: info}"))...)
	assert.Equal(t, []string{
		`2 - OLD: x ->  <all`,
		`2 + NEW:  -> z >all`,
		`1 ~ LEVEL: debug -> warn <all >all`,
	}, values(compare(t, before, after)))
}

// TestSeveralPolicies: each of them has its own part in it.
func TestSeveralPolicies(t *testing.T) {
	t.Parallel()
	fleet := []string{clusterType("edge", ""), workload("shop", "web: dev {size: small}")}
	before := compile(t, "dev", append(slices.Clone(fleet), policy("a", "{}"), policy("b", "{}"))...)
	after := compile(t, "dev", append(slices.Clone(fleet), policy("b", "{deploymentTargetSelector: {labelSelector: {matchLabels: {size: large}}}}"))...)
	assert.Equal(t, []string{`-edge/shop-web policies a b; requires size=large, but the deployment target has size=small`}, lines(compare(t, before, after)))
	gone := impact.State{Absent: true, Fleet: &model.Fleet{Environment: before.Fleet.Environment}, Tree: &render.Tree{}}
	assert.Equal(t, []string{`-edge/shop-web environment a b`}, lines(compare(t, before, gone)))
	assert.Equal(t, []string{`+edge/shop-web environment a b`}, lines(compare(t, gone, before)))
}

// TestWhatSetIt: of the ConfigMaps that make up a value, the one that changed is named first.
func TestWhatSetIt(t *testing.T) {
	t.Parallel()
	fleet := []string{clusterType("edge", "region: west"), workload("shop", "web: dev {size: small}"), policy("everywhere", "{}")}
	west := config("a-west", "region: west", "{LOGGING: 'level: info'}")
	before := compile(t, "dev", append(slices.Clone(fleet), west, config("z-all", "", "{LOGGING: 'sink: a'}"))...)
	after := compile(t, "dev", append(slices.Clone(fleet), west, config("z-all", "", "{LOGGING: 'sink: b'}"))...)
	found := compare(t, before, after)
	require.Len(t, found.Values, 1)
	assert.Equal(t, "z-all", found.Values[0].Changes[0].After[0].Config.Name.Value)
	assert.Equal(t, "a-west", found.Values[0].Changes[0].After[1].Config.Name.Value)
}

// TestEnvironments: what is called by the names of target and environment is the same in both.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	everywhere := policy("everywhere", "{}")
	shop := workload("shop", "bench: dev {size: small}", "uat: stage {size: small}")
	twice := workload("till", "one: dev {a: b}", "two: dev {a: b}", "three: stage {a: b}")
	dev := compile(t, "dev", clusterType("edge", ""), shop, twice, everywhere, config("all", "", "{URL: dev.example.com, DEVICE: devices, LEVEL: debug}"))
	stage := compile(t, "stage", clusterType("edge", ""), shop, twice, everywhere, config("all", "", "{URL: stage.example.com, DEVICE: devices, LEVEL: info}"))
	found := compare(t, dev, stage)
	assert.Equal(t, []string{
		`~edge/shop-uat was shop-bench`,
		`-edge/till-one deployment-target everywhere`,
		`+edge/till-three deployment-target everywhere`,
		`-edge/till-two deployment-target everywhere`,
	}, lines(found))
	assert.Equal(t, []string{`1 ~ LEVEL: debug -> info <all >all`}, values(found))
	assert.Equal(t, []impact.Counterpart{{ClusterType: "edge", Target: "shop-bench", Other: "shop-uat"}}, impact.Counterparts(dev, stage))
	assert.Empty(t, impact.Counterparts(dev, dev))
	assert.Empty(t, lines(compare(t, stage, stage)))
}

// TestEnvironmentsInvent: what is the same in both is no difference, whatever names are in it; and a value is shown as it is.
func TestEnvironmentsInvent(t *testing.T) {
	t.Parallel()
	fleet := []string{clusterType("edge", ""), workload("shop", "bench: dev {size: small}", "uat: stage {size: small}"), policy("everywhere", "{}")}
	same := "MIRROR: https://registry.dev.example, NAMES: stage and dev, CACHE: shop-bench.internal"
	dev := compile(t, "dev", append(slices.Clone(fleet), config("all", "", "{"+same+", URL: dev.example/v1}"))...)
	stage := compile(t, "stage", append(slices.Clone(fleet), config("all", "", "{"+same+", URL: stage.example/v2}"))...)
	assert.Equal(t, []string{`1 ~ URL: dev.example/v1 -> stage.example/v2 <all >all`}, values(compare(t, dev, stage)))
	assert.Equal(t, []string{`1 ~ URL: stage.example/v2 -> dev.example/v1 <all >all`}, values(compare(t, stage, dev)))
}

// TestTargetsAreThoseOfTheAssignments: of any two states, what comes and goes is the difference of what was assigned, and
// every cause names a policy.
func TestTargetsAreThoseOfTheAssignments(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		chance := rand.New(rand.NewPCG(seed, 1))
		state := func() (impact.State, map[string]bool) {
			var documents []string
			for i := range 3 {
				if chance.IntN(4) > 0 {
					documents = append(documents, clusterType(fmt.Sprint("c", i), fmt.Sprintf("l: v%d", chance.IntN(2))))
				}
				if chance.IntN(4) > 0 {
					documents = append(documents, workload(fmt.Sprint("w", i), fmt.Sprintf("t: dev {l: v%d}", chance.IntN(2))))
				}
				if chance.IntN(4) > 0 {
					documents = append(documents, policy(fmt.Sprint("p", i), fmt.Sprintf(
						"{deploymentTargetSelector: {labelSelector: {matchLabels: {l: v%d}}}, clusterTypeSelector: {labelSelector: {matchLabels: {l: v%d}}}}", chance.IntN(2), chance.IntN(2))))
				}
			}
			compiled := compile(t, "dev", documents...)
			assigned := map[string]bool{}
			for _, a := range compiled.Assignments {
				assigned[a.ClusterType.Name.Value+"/"+a.Target.Name.Value] = true
			}
			return compiled, assigned
		}
		before, had := state()
		after, has := state()
		found := compare(t, before, after)
		for _, target := range found.Targets {
			name := target.ClusterType + "/" + target.TargetChange.Target
			switch target.Action {
			case change.Added:
				assert.True(t, has[name] && !had[name], name)
				assert.NotEmpty(t, target.Cause.Policies, name)
			case change.Removed:
				assert.True(t, had[name] && !has[name], name)
				assert.NotEmpty(t, target.Cause.Policies, name)
			default:
				assert.True(t, had[name] && has[name], name)
			}
			if target.Cause != nil {
				assert.False(t, target.Cause.At.IsZero(), name)
			}
			delete(had, name)
			delete(has, name)
		}
		assert.Equal(t, had, has, "seed %d: the others stay", seed)
	}
}
