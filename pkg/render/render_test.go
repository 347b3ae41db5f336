package render

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// A generated fleet is worth testing with: much of it is assigned and rendertest.Configured, and nothing wrong.
func TestGeneratedFleets(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		texts := generate(smallFleet(), seed)
		fleet := texts.read(t)
		assignments, _ := schedule.Assign(fleet)
		tree, diags := Render(fleet, assignments, Options{})
		require.False(t, diags.HasErrors(), reported(diags))
		assert.Greater(t, len(assignments), 10, "seed %d", seed)
		for _, file := range tree.Files {
			if strings.HasSuffix(file.Path, ".yaml") {
				for document := range strings.SplitSeq(file.Content.String(), "\n---\n") {
					var object map[string]any
					require.NoError(t, yaml.UnmarshalStrict([]byte(document), &object), file.Path)
				}
			}
		}
		assert.Equal(t, texts, generate(smallFleet(), seed))
	}
}

// The same input gives the same bytes, twice, with any parallelism. It changes GOMAXPROCS, so it is
// not parallel itself.
func TestRenderIsTheSameWithAnyParallelism(t *testing.T) {
	for seed := range uint64(3) {
		texts := generate(fleetSize{clusterTypes: 8, configs: 30, policies: 6, tenants: 5, workloads: 2, targets: 3}, seed)
		want, wantDiags := texts.render(t)
		for _, processors := range []int{1, 2, 8} {
			before := runtime.GOMAXPROCS(processors)
			got, gotDiags := texts.render(t)
			runtime.GOMAXPROCS(before)
			require.Equal(t, contents(want), contents(got))
			require.Equal(t, reported(wantDiags), reported(gotDiags))
		}
	}
}

// What is staged is the tree, but for files that belong to no assignment.
func TestRenderStages(t *testing.T) {
	t.Parallel()
	fleet := generate(smallFleet(), 1).read(t)
	assignments, _ := schedule.Assign(fleet)
	want, _ := Render(fleet, assignments, Options{})
	var mutex sync.Mutex
	staged := map[string]string{}
	tree, diags := Render(fleet, assignments, Options{Stage: func(files []File) bool {
		mutex.Lock()
		defer mutex.Unlock()
		for _, file := range files {
			staged[file.Path] = file.Content.String()
		}
		return true
	}})
	require.False(t, diags.HasErrors(), reported(diags))
	for _, file := range tree.Files {
		assert.Equal(t, file.Assignment != nil, file.Staged, file.Path)
		if !file.Staged {
			staged[file.Path] = file.Content.String()
		}
	}
	assert.Equal(t, contents(want), staged)
}

// shuffled returns the texts with the documents of each repository in another order.
func (f fleetTexts) shuffled(random *rand.Rand) fleetTexts {
	shuffle := func(documents []string) []string {
		documents = slices.Clone(documents)
		random.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
		return documents
	}
	other := platform(shuffle(f.platform)...)
	for name, documents := range f.apps {
		other = other.app(name, shuffle(documents)...)
	}
	return other
}

// The order of documents changes nothing.
func TestRenderDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 8))
	for seed := range uint64(8) {
		texts := generate(smallFleet(), seed)
		want := texts.files(t)
		for range 2 {
			require.Equal(t, want, texts.shuffled(random).files(t), "seed %d", seed)
		}
	}
}

// Whatever order a scheduler gives assignments in, the tree is the same.
func TestRenderDoesNotDependOnTheOrderOfAssignments(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 9))
	fleet := generate(smallFleet(), 1).read(t)
	assignments, _ := schedule.Assign(fleet)
	want, wantDiags := Render(fleet, assignments, Options{})
	random.Shuffle(len(assignments), func(i, j int) { assignments[i], assignments[j] = assignments[j], assignments[i] })
	got, gotDiags := Render(fleet, assignments, Options{})
	assert.Equal(t, contents(want), contents(got))
	assert.Equal(t, reported(wantDiags), reported(gotDiags))
}

// An object that has nothing to do with the rest changes nothing of it.
func TestUnrelatedObjectsChangeNothing(t *testing.T) {
	t.Parallel()
	unrelated := []string{
		textTemplate("unrelated", "reconciler", "x: {{ nope }}\n"), configMap("unrelated", "", "{REGION: x}"), platformConfig("unrelated", "colour: red", "{REGION: x}"),
		object("SchedulingPolicy", "a-unrelated", "", "spec: {deploymentTargetSelector: {workspace: nobody}}"),
		object("ConfigSchema", "unrelated", "colour: red", `spec: {schema: '{"not": {}}'}`),
		registration("unrelated", "nobody"), object("GitOpsRepo", "unrelated", "", "spec: {repo: https://example.com/g, branch: dev}"),
		configMap("azure-app-config-unrelated", "", "{colour.red.REGION: x}"),
	}
	for seed := range uint64(2) {
		texts := generate(smallFleet(), seed)
		want := texts.files(t)
		for _, document := range unrelated {
			more := fleetTexts{append([]string{document}, texts.platform...), texts.apps}
			require.Equal(t, want, more.files(t), document)
		}
		more := fleetTexts{append([]string{object("ClusterType", "unrelated", "region: none", "spec: {reconciler: flux, namespaceService: default}")}, texts.platform...), texts.apps}
		got := more.files(t)
		for path := range got {
			if strings.HasPrefix(path, "unrelated/") {
				delete(got, path)
			}
		}
		require.Equal(t, want, got)
	}
}

// filesOfOthers returns the files of all targets but those of one registration.
func filesOfOthers(tree *Tree, registration string) map[string]string {
	files := map[string]string{}
	for _, file := range tree.Files {
		if file.Assignment == nil || file.Assignment.Target.Registration.Name.Value != registration {
			files[file.Path] = file.Content.String()
		}
	}
	return files
}

// Whatever one application repository holds, the output of the others stays as it is, or the run
// fails.
func TestNonInterference(t *testing.T) {
	t.Parallel()
	changes := 0
	for seed := range uint64(3) {
		texts := generate(smallFleet(), seed)
		before, diags := texts.render(t)
		require.False(t, diags.HasErrors())
		for i := range 6 {
			g := &generator{rand.New(rand.NewPCG(seed, uint64(i)))}
			name := g.pick("app-0-0", "app-0-1", "app-0-0-target", "app-1-1", "other", "app-0")
			changed := texts.app("tenant-0", g.workload(name, g.IntN(4)), strings.ReplaceAll(g.workload("new", 2), "tier: web", g.pick("region: west", "tier: db", "deployment-target: app-1-0")))
			fleet, diags := changed.tryRead()
			if diags.HasErrors() {
				continue
			}
			after, diags := renderFleet(fleet, Options{})
			if diags.HasErrors() {
				continue
			}
			changes++
			require.Equal(t, filesOfOthers(before, "tenant-0"), filesOfOthers(after, "tenant-0"))
		}
	}
	assert.Greater(t, changes, 5)
}

// FuzzNonInterference: the same, for any bytes in a tenant's repository.
func FuzzNonInterference(f *testing.F) {
	texts := generate(fleetSize{clusterTypes: 1, configs: 5, policies: 1, tenants: 3, workloads: 1, targets: 1}, 2)
	texts.platform = append(texts.platform, everywhere())
	before, diags := renderFleet(texts.read(f), Options{})
	require.False(f, diags.HasErrors(), reported(diags))
	want := filesOfOthers(before, "tenant-0")
	for _, seed := range []string{
		"", strings.Join(texts.apps["tenant-0"], "\n---\n"), texts.apps["tenant-1"][0],
		workload("app-1", "", "name: 0-target-0, manifests: {repo: r}"), workload("x", "workspace: finance", "name: a, manifests: {repo: r}"),
		workload("x", "deployment-target: app-1-0-target-0", "name: a, labels: {workload: app-1-0}, manifests: {path: '\"}'}"),
		object("ClusterType", "type-0", "", "spec: {reconciler: flux, namespaceService: default}"), platformConfig("config-0", "", "{REGION: mine}"),
		object("Template", "flux", "", "spec: {type: reconciler, manifests: ['x']}"),
		object("DeploymentTarget", "app-1-0-target-0", "", "spec: {manifests: {repo: r}}"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, app string) {
		fleet, diags := texts.app("tenant-0", app).tryRead()
		if diags.HasErrors() {
			return
		}
		after, diags := renderFleet(fleet, Options{})
		if diags.HasErrors() {
			return
		}
		require.Equal(t, want, filesOfOthers(after, "tenant-0"))
	})
}

// Nothing comes of what is reported already, and nothing is reported twice.
func TestBrokenObjectsAreLeftOut(t *testing.T) {
	t.Parallel()
	fleet, diags := platform(standardTemplates(), clusterType("edge", ""), everywhere(), target("cart", ""),
		object("DeploymentTarget", "broken", "", "spec: {environment: dev, manifests: {path: 5}}"),
		object("ClusterType", "broken", "", "spec: {reconciler: flux, namespaceService: default, configtype: x}"),
		object("Template", "broken", "", "spec: {type: reconciler, manifests: ['{{'], contentype: sh}"),
		configMap("broken", `platform-config: "true"`, "{K: 5}"), platformConfig("fine", "", "{K: v}"),
	).tryRead()
	assert.Equal(t, 4, diags.Count(diag.Error))
	tree, diags := renderFleet(fleet, Options{})
	assert.Empty(t, slices.DeleteFunc(problems(diags), func(line string) bool { return strings.Contains(line, "warning") }))
	assert.Equal(t, []string{"edge/README.md", "edge/cart/namespace.yaml", "edge/cart/platform-config.yaml", "edge/cart/reconciler.yaml"}, paths(tree))
	content, _ := tree.ReadFile("edge/cart/platform-config.yaml")
	assert.Contains(t, string(content), "K: v\n")
}

func paths(tree *Tree) []string {
	var all []string
	for _, file := range tree.Files {
		all = append(all, file.Path)
	}
	return all
}

// All errors of all files of all assignments are reported in one run.
func TestRenderReportsEverything(t *testing.T) {
	t.Parallel()
	texts := platform(
		flowTemplate("flux", "reconciler", "yaml", "a: {{ fail \"one\" }}", "a: {{ fail \"two\" }}", "a: [\n"),
		flowTemplate("default", "namespace", "yaml", "a: {{ .ConfigData.nothing }}\n"),
		object("ClusterType", "edge", "", "spec: {reconciler: flux, namespaceService: default, configType: mine}"),
		flowTemplate("mine", "config", "yaml", "a: {{ index .ConfigData 5 }}\n"),
		object("ConfigSchema", "s", "", `spec: {schema: '{"required": ["K"]}'}`),
		target("cart", ""), everywhere(),
	)
	_, diags := texts.render(t)
	rules := map[string]int{}
	for _, d := range diags {
		rules[d.Rule]++
		assert.False(t, d.At.IsZero())
	}
	assert.Equal(t, map[string]int{"template-failed": 3, "invalid-output": 1, "no-value": 1, "schema-violation": 1}, rules, reported(diags))
}

// BenchmarkRenderFleet measures the whole of scheduling and rendering.
func BenchmarkRenderFleet(b *testing.B) {
	for _, size := range []fleetSize{smallFleet(), {clusterTypes: 30, configs: 60, policies: 10, tenants: 20, workloads: 5, targets: 3}} {
		fleet := generate(size, 1).read(b)
		assignments, _ := schedule.Assign(fleet)
		b.Run(fmt.Sprintf("assignments=%d", len(assignments)), func(b *testing.B) {
			for b.Loop() {
				renderFleet(fleet, Options{})
			}
		})
	}
}
