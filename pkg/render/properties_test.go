package render

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// Properties that hold for every fleet, tried on generated ones. A test that fails names the seed.

// fleetSeeds is how many generated fleets a property is tried on.
func fleetSeeds() uint64 { return uint64(share(8, 20)) }

// propertyFleet is small, for many of them.
func propertyFleet() fleetSize {
	return fleetSize{clusterTypes: 4, configs: 8, policies: 4, tenants: 4, workloads: 2, targets: 2}
}

// forFleets tries a property on generated fleets, with chance that is the same every time.
func forFleets(t *testing.T, try func(t *testing.T, texts fleetTexts, g *generator)) {
	t.Helper()
	for seed := range fleetSeeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			try(t, generate(propertyFleet(), seed), &generator{rand.New(rand.NewPCG(seed, 1))})
		})
	}
}

// assertSame compares two outputs and names the files that differ.
func assertSame(t *testing.T, want, got map[string]string, which string) {
	t.Helper()
	require.NotEmpty(t, want)
	assert.Empty(t, differing(want, got), which)
}

// differing returns the paths of the files that are not the same in both.
func differing(a, b map[string]string) []string {
	var names []string
	for name, content := range a {
		if other, ok := b[name]; !ok || other != content {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// targetOf is the deployment target that a file belongs to; empty for a README.md.
func targetOf(file string) string {
	if directory := path.Dir(file); strings.Contains(directory, "/") {
		return path.Base(directory)
	}
	return ""
}

// scatteredFS lists the files of a directory in any order.
type scatteredFS struct {
	fstest.MapFS
	random *rand.Rand
}

func (f scatteredFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := f.MapFS.ReadDir(name)
	f.random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	return entries, err
}

// scatter puts documents into files of any name in any directory, one or more in each.
func (g *generator) scatter(documents []string) fs.FS {
	files := scatteredFS{fstest.MapFS{}, g.Rand}
	for _, document := range documents {
		name := fmt.Sprintf("%s%s-%d.%s", g.pick("", "a/", "b/", "b/c/d/"), g.pick("0", "m", "z"), g.IntN(5), g.pick("yaml", "yml"))
		file, ok := files.MapFS[name]
		switch {
		case !ok:
			files.MapFS[name] = &fstest.MapFile{Data: []byte(document)}
		case g.IntN(2) == 0:
			file.Data = []byte(string(file.Data) + "\n---\n" + document)
		default:
			file.Data = []byte(document + "\n---\n" + string(file.Data))
		}
	}
	return files
}

// anotherLayout reads the fleet from files that are laid out differently, repository after repository
// in another order.
func (g *generator) anotherLayout(texts fleetTexts) (*model.Fleet, diag.List) {
	parse := func(repo string, role model.Role, documents []string, registration *model.WorkloadRegistration) (*model.Objects, diag.List) {
		source := &model.Source{Ref: model.Ref{Path: ".", Role: role}, Repo: repo, FS: g.scatter(documents)}
		return model.Parse(source, registration, model.DefaultOptions())
	}
	platform, diags := parse("cp", model.Platform, texts.platform, nil)
	parts := []*model.Objects{platform}
	for _, registration := range platform.Registrations {
		objects, more := parse(registration.Name.Value, model.Tenant, texts.apps[registration.Name.Value], registration)
		parts = append(parts, objects)
		diags.Add(more)
	}
	g.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	environment := &model.Environment{Object: model.Object{Name: model.Text{Value: "dev"}}}
	fleet, more := model.NewFleet(environment, []string{"dev"}, parts)
	diags.Add(more)
	return fleet, diags
}

// TestR20AnyLayout: the same documents in other files, other directories, another order of files in them
// and of repositories, listed in any order: the same bytes.
func TestR20AnyLayout(t *testing.T) {
	t.Parallel()
	forFleets(t, func(t *testing.T, texts fleetTexts, g *generator) {
		want := texts.files(t)
		fleet, diags := g.anotherLayout(texts)
		require.False(t, diags.HasErrors(), "%s", reported(diags))
		tree, diags := renderFleet(fleet, Options{})
		require.False(t, diags.HasErrors(), "%s", reported(diags))
		assertSame(t, want, contents(tree), "another layout")
	})
}

// TestR17AnyParallelism: reading, scheduling and rendering with any number of processors. It changes
// GOMAXPROCS, so it is not parallel itself.
func TestR17AnyParallelism(t *testing.T) {
	for seed := range uint64(4) {
		texts := generate(propertyFleet(), seed)
		want := texts.files(t)
		for _, processors := range []int{1, 3, 64} {
			before := runtime.GOMAXPROCS(processors)
			got := texts.files(t)
			runtime.GOMAXPROCS(before)
			assertSame(t, want, got, fmt.Sprintf("seed %d, %d processors", seed, processors))
		}
	}
}

// TestR17Twice: rendering changes nothing of the fleet that it is given, nor of what others render of
// it at the same time.
func TestR17Twice(t *testing.T) {
	t.Parallel()
	forFleets(t, func(t *testing.T, texts fleetTexts, _ *generator) {
		fleet := texts.read(t)
		want, diags := renderFleet(fleet, Options{})
		require.False(t, diags.HasErrors())
		trees := make(chan *Tree)
		for range 2 {
			go func() {
				tree, _ := renderFleet(fleet, Options{})
				trees <- tree
			}()
		}
		for range 2 {
			assertSame(t, contents(want), contents(<-trees), "again")
		}
	})
}

// TestR21OneWorkload: a change in one workload changes the directories of its own targets, and no others.
func TestR21OneWorkload(t *testing.T) {
	t.Parallel()
	var changes atomic.Int64
	t.Cleanup(func() { assert.Positive(t, changes.Load(), "a change changes something") })
	forFleets(t, func(t *testing.T, texts fleetTexts, g *generator) {
		want := texts.files(t)
		i, j := g.IntN(4), g.IntN(2)
		tenant, name := fmt.Sprintf("tenant-%d", i), fmt.Sprintf("app-%d-%d", i, j)
		for _, targets := range []int{1, 2, 4} { // fewer, as many, more, and with other labels
			documents := slices.Clone(texts.apps[tenant])
			documents[j] = strings.ReplaceAll(g.workload(name, targets), "https://example.com/"+name, "https://example.com/moved")
			for _, file := range differing(want, texts.app(tenant, documents...).files(t)) {
				assert.True(t, strings.HasPrefix(targetOf(file), name+"-target-"), "%s changes", file)
				changes.Add(1)
			}
		}
	})
}

// hostile are documents with which an application repository may try to change what others get.
func (g *generator) hostile(victim string) string {
	target := "name: " + g.pick("target-0", "x", "0-target-0") + ", manifests: {repo: " + g.pick("r", "https://example.com/"+victim+".git", `"'\"}"`, "0123", "~") + "}"
	switch g.IntN(9) {
	case 0:
		return workload(victim, "", target)
	case 1:
		return workload(strings.TrimSuffix(victim, "-0"), "", target)
	case 2:
		return workload("mine", "workload: "+victim, target)
	case 3:
		return workload("mine", "workspace: "+g.pick("retail", "finance", "platform"), target)
	case 4:
		return workload("mine", "deployment-target: "+victim+"-target-0, cluster-type: type-0, platform-config: \"true\"", target)
	case 5:
		return platformConfig("config-0", "", "{REGION: mine, REPLICAS: none}")
	case 6:
		return object(g.pick("Template", "ClusterType", "SchedulingPolicy", "BaseRepo", "ConfigSchema"), g.pick("flux", "type-0", "policy-0", "main", "basic"), "", "spec: {}")
	case 7:
		return object("Workload", "mine", "", "spec:\n  configSchemas: ['{\"not\": {}}']\n  deploymentTargets: [{environment: dev, "+target+"}]\n")
	default:
		return g.pick("", "---", "a: &a [1]\nb: *a", "kind: List\nitems: []", "{{ fail }}", "\x00", "- not: a mapping")
	}
}

// TestNonInterferenceBetweenRepositories: whatever one application repository holds, the files of the
// others' targets stay as they are, or the run fails.
func TestNonInterferenceBetweenRepositories(t *testing.T) {
	t.Parallel()
	var compiled atomic.Int64
	t.Cleanup(func() { assert.Positive(t, compiled.Load(), "not all attacks are refused") })
	forFleets(t, func(t *testing.T, texts fleetTexts, g *generator) {
		want := texts.files(t)
		for range 6 {
			i := g.IntN(4)
			own := fmt.Sprintf("app-%d-", i)
			victim := fmt.Sprintf("app-%d-%d", (i+1+g.IntN(3))%4, g.IntN(2))
			attack := []string{g.hostile(victim), g.hostile(victim)}[:1+g.IntN(2)]
			fleet, diags := texts.app(fmt.Sprintf("tenant-%d", i), attack...).tryRead()
			if diags.HasErrors() {
				continue
			}
			tree, diags := renderFleet(fleet, Options{})
			if diags.HasErrors() {
				continue
			}
			got := contents(tree)
			for file, content := range want {
				if !strings.HasPrefix(targetOf(file), own) {
					assert.Equal(t, content, got[file], "%s changes by %q", file, attack)
				}
			}
			compiled.Add(1)
		}
	})
}

// TestUnusedObjectsChangeNothing: policies that select nothing, configs that apply to nothing, and
// policies that say once more what others say.
func TestUnusedObjectsChangeNothing(t *testing.T) {
	t.Parallel()
	forFleets(t, func(t *testing.T, texts fleetTexts, g *generator) {
		want := texts.files(t)
		more := texts
		more.platform = slices.Clone(texts.platform)
		for i := range 10 {
			name := fmt.Sprintf("%s-unused-%d", g.pick("a", "config", "policy", "z"), i)
			more.platform = append(more.platform, g.pick(
				platformConfig(name, "nowhere: "+g.pick("west", "large"), "{REGION: x, DATABASE: '{host: z}'}"),
				configMap(name, "region: west", "{REGION: x}"),
				configMap("azure-app-config-"+name, "", "{region.nowhere.REGION: x}"),
				object("SchedulingPolicy", name, "", "spec: {deploymentTargetSelector: {workspace: nobody}}"),
				object("SchedulingPolicy", name, "", "spec: {clusterTypeSelector: {labelSelector: {matchLabels: {region: nowhere}}}}"),
				object("ConfigSchema", name, "nowhere: west", `spec: {schema: '{"not": {}}'}`),
			))
		}
		for _, document := range texts.platform {
			if strings.Contains(document, "kind: SchedulingPolicy") {
				more.platform = append(more.platform, strings.Replace(document, `name: "policy-`, `name: "again-policy-`, 1))
			}
		}
		g.Shuffle(len(more.platform), func(i, j int) { more.platform[i], more.platform[j] = more.platform[j], more.platform[i] })
		assertSame(t, want, more.files(t), "with more")
	})
}

// TestPoliciesAddUp: without one of the policies some targets go, and the files of all others stay as
// they are.
func TestPoliciesAddUp(t *testing.T) {
	t.Parallel()
	var gone atomic.Int64
	t.Cleanup(func() { assert.Positive(t, gone.Load(), "without a policy some targets go") })
	forFleets(t, func(t *testing.T, texts fleetTexts, g *generator) {
		all := texts.files(t)
		policy := fmt.Sprintf(`name: "policy-%d"`, g.IntN(4))
		fewer := fleetTexts{slices.DeleteFunc(slices.Clone(texts.platform), func(document string) bool {
			return strings.Contains(document, policy)
		}), texts.apps}
		require.Len(t, fewer.platform, len(texts.platform)-1)
		some := fewer.files(t)
		for file, content := range some {
			assert.Equal(t, all[file], content, file)
		}
		gone.Add(int64(len(all) - len(some)))
	})
}

// TestFleetsOfProperties makes sure that the properties are not tried on nothing.
func TestFleetsOfProperties(t *testing.T) {
	t.Parallel()
	total := 0
	for seed := range fleetSeeds() {
		assignments, _ := schedule.Assign(generate(propertyFleet(), seed).read(t))
		total += len(assignments)
	}
	assert.Greater(t, total, int(10*fleetSeeds()))
}
