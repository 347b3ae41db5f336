package model

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// newFleet is the fleet of environment "dev", of the environments "dev" and "stage".
func newFleet(parts ...*Objects) (*Fleet, diag.List) {
	environment := &Environment{Object: Object{Kind: "Environment", Name: Text{Value: "dev"}}}
	return NewFleet(environment, []string{"dev", "stage"}, parts)
}

// fleetOf parses repositories, each named by its role and its number, and puts them together.
func fleetOf(t *testing.T, repos ...*Source) (*Fleet, diag.List) {
	t.Helper()
	var parts []*Objects
	var all diag.List
	for i, source := range repos {
		source.Repo = fmt.Sprintf("repo%d", i)
		var registration *WorkloadRegistration
		if source.Ref.Role == Tenant {
			registration = registrationOf(source.Repo, "shop")
			source.Ref.Subject = fmt.Sprintf("WorkloadRegistration %q", source.Repo)
			source.Ref.At = diag.Place{File: &diag.File{Path: "registrations.yaml"}, Line: i, Column: 1}
		}
		objects, diags := Parse(source, registration, DefaultOptions())
		parts = append(parts, objects)
		all.Add(diags)
	}
	fleet, diags := newFleet(parts...)
	all.Add(diags)
	return fleet, all
}

// Two objects of one kind and name are an error that names both places.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	for kind, object := range validObjects() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if kind == "Environment" {
				objects, diags := parse(Main, tree{".environments/a.yaml": object, ".environments/b.yaml": object})
				require.Empty(t, diags)
				before := slices.Clone(objects.Environments)
				environments, diags := UniqueEnvironments(objects)
				assert.Equal(t, []string{`repo:.environments/b.yaml:3:18: error: Environment "x" is defined twice [duplicate-object]`}, shown(diags))
				assert.Equal(t, "repo:.environments/a.yaml:3:18", diags[0].Related[0].At.String())
				assert.Len(t, environments, 1)
				assert.Equal(t, before, objects.Environments, "what was parsed stays as it is")
				return
			}
			rule, at := "duplicate-object", "3:18"
			want := kind + ` "x" is defined twice`
			if kind == "DeploymentTarget" {
				rule, want = "target-collision", `deployment target "x" of the control plane collides with that of the control plane`
			}
			source := sourceOf(Platform, tree{"a.yaml": object, "b.yaml": object + "---\n" + object}.fs())
			_, diags := fleetOf(t, source)
			second := fmt.Sprintf("repo0:b.yaml:%d:18", strings.Count(object, "\n")+4)
			assert.Equal(t, []string{
				fmt.Sprintf("repo0:b.yaml:%s: error: %s [%s]", at, want, rule),
				fmt.Sprintf("%s: error: %s [%s]", second, want, rule),
			}, shown(diags))
			for _, d := range diags {
				assert.Equal(t, "repo0:a.yaml:3:18", d.Related[0].At.String())
			}
		})
	}
	_, diags := fleetOf(t, sourceOf(Platform, tree{"a.yaml": validObjects()["ClusterType"], "b.yaml": validObjects()["SchedulingPolicy"]}.fs()))
	assert.Empty(t, shown(diags), "another kind may have the name")
}

// A workload's name belongs to the registration that has it first (SECURITY S7).
func TestS7StolenWorkload(t *testing.T) {
	t.Parallel()
	workload := validObjects()["Workload"]
	_, diags := fleetOf(t, sourceOf(Tenant, tree{"a.yaml": workload}.fs()), sourceOf(Tenant, tree{"a.yaml": workload}.fs()), sourceOf(Base, tree{"a.yaml": workload}.fs()))
	assert.Equal(t, []string{
		`repo1:a.yaml:3:18: error: Workload "x" of WorkloadRegistration "repo1" is already used by WorkloadRegistration "repo0" [duplicate-object]`,
		`repo2:a.yaml:3:18: error: Workload "x" of the control plane is already used by WorkloadRegistration "repo0" [duplicate-object]`,
	}, shown(diags))
}

// One file can be read for two registrations, one of which registers a directory of the other's: which
// of them is said to be the first does not depend on the order.
func TestS7OverlappingRegistrations(t *testing.T) {
	t.Parallel()
	var parts []*Objects
	for _, name := range []string{"b", "a", "c"} {
		source := sourceOf(Tenant, tree{"f.yaml": validObjects()["Workload"]}.fs())
		source.Ref.Subject = fmt.Sprintf("WorkloadRegistration %q", name)
		objects, diags := Parse(source, registrationOf(name, "shop"), DefaultOptions())
		require.Empty(t, diags)
		parts = append(parts, objects)
	}
	fleet, diags := newFleet(parts...)
	want := shown(diags)
	assert.Equal(t, []string{
		`repo:f.yaml:3:18: error: Workload "x" of WorkloadRegistration "b" is already used by WorkloadRegistration "a" [duplicate-object]`,
		`repo:f.yaml:3:18: error: Workload "x" of WorkloadRegistration "c" is already used by WorkloadRegistration "a" [duplicate-object]`,
	}, want)
	slices.Reverse(parts)
	other, diags := newFleet(parts...)
	assert.Equal(t, want, shown(diags))
	assert.Equal(t, fleet.Targets, other.Targets)
}

// SECURITY S7: full names are ambiguous joins. All pairs of short names over a small alphabet: a
// collision is reported exactly if the joins are equal, and both are named.
func TestS7Collisions(t *testing.T) {
	t.Parallel()
	names := shortNames()
	require.Len(t, names, 18)
	type join struct{ workload, target string }
	var joins []join
	for _, w := range names {
		for _, target := range names {
			joins = append(joins, join{w, target})
		}
	}
	part := func(source *Source, j join) *Objects {
		at := diag.Place{File: source.File("w.yaml"), Line: 1}
		return &Objects{Source: source, Contents: Contents{Workloads: []*Workload{{
			Object:       Object{Kind: "Workload", Name: Text{j.workload, at}, Source: source},
			workloadSpec: workloadSpec{DeploymentTargets: []TargetSpec{{Name: Text{j.target, at}, Environment: Text{Value: "dev"}}}},
		}}}}
	}
	first, second := &Source{Repo: "one"}, &Source{Repo: "two"}
	collisions := 0
	for i, a := range joins {
		for _, b := range joins[:i] {
			if a.workload == b.workload {
				continue // a duplicate workload
			}
			equal := a.workload+"-"+a.target == b.workload+"-"+b.target
			fleet, diags := newFleet(part(first, a), part(second, b))
			if !equal {
				require.Empty(t, diags, "%v %v", a, b)
				require.Len(t, fleet.Targets, 2)
				continue
			}
			collisions++
			require.Len(t, diags, 1, "%v %v", a, b)
			require.Equal(t, "target-collision", diags[0].Rule)
			require.Equal(t, second.File("w.yaml"), diags[0].At.File)
			require.Equal(t, first.File("w.yaml"), diags[0].Related[0].At.File)
			require.Len(t, fleet.Targets, 1)
			require.Equal(t, a.workload, fleet.Targets[0].Workload)
		}
	}
	assert.Positive(t, collisions, "the alphabet has some")
}

// shortNames are the DNS labels of at most three characters over a, b and -.
func shortNames() []string {
	var names, last []string
	last = []string{""}
	for range 3 {
		var next []string
		for _, prefix := range last {
			for _, letter := range []string{"a", "b", "-"} {
				next = append(next, prefix+letter)
			}
		}
		for _, name := range next {
			if name[0] != '-' && name[len(name)-1] != '-' {
				names = append(names, name)
			}
		}
		last = next
	}
	return names
}

// The same target twice, a target of the control plane, and targets of other environments.
func TestS7TargetCollisions(t *testing.T) {
	t.Parallel()
	workload := func(name string, targets ...string) string {
		content := api + "kind: Workload\nmetadata: {name: " + name + "}\nspec:\n  deploymentTargets:\n"
		for _, target := range targets {
			target, environment, _ := strings.Cut(target, "@")
			content += "  - {name: " + target + ", environment: " + environment + ", manifests: {}}\n"
		}
		return content
	}
	for _, c := range []struct {
		name string
		repo tree
		want []string
	}{
		{"twice in one workload", tree{"a.yaml": workload("a", "b@dev", "b@dev", "b@dev")}, []string{
			`repo0:a.yaml:7:12: error: deployment target "a-b" of workload "a" collides with that of workload "a" [target-collision]`,
			`repo0:a.yaml:8:12: error: deployment target "a-b" of workload "a" collides with that of workload "a" [target-collision]`,
		}},
		{"in two environments", tree{"a.yaml": workload("a", "b@dev", "b@stage")}, []string{}},
		{"both of another environment", tree{"a.yaml": workload("a", "b@stage", "b@stage")}, []string{}},
		{"joins", tree{"a.yaml": workload("a", "b-c@dev"), "b.yaml": workload("a-b", "c@dev")}, []string{
			`repo0:b.yaml:6:12: error: deployment target "a-b-c" of workload "a-b" collides with that of workload "a" [target-collision]`,
		}},
		{"joins in two environments", tree{"a.yaml": workload("a", "b-c@dev"), "b.yaml": workload("a-b", "c@stage")}, []string{}},
		{"a target of the control plane", tree{
			"a.yaml": workload("a", "b@dev"),
			"b.yaml": api + "kind: DeploymentTarget\nmetadata: {name: a-b}\nspec: {manifests: {}}\n",
			"c.yaml": api + "kind: DeploymentTarget\nmetadata: {name: a-b}\nspec: {environment: stage, manifests: {}}\n",
			"d.yaml": api + "kind: DeploymentTarget\nmetadata: {name: a-b, labels: {workload: x}}\nspec: {environment: dev, manifests: {}}\n",
		}, []string{
			`repo0:b.yaml:3:18: error: deployment target "a-b" of the control plane collides with that of workload "a" [target-collision]`,
			`repo0:d.yaml:3:18: error: deployment target "a-b" of workload "x" collides with that of workload "a" [target-collision]`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, diags := fleetOf(t, sourceOf(Platform, c.repo.fs()))
			assert.Equal(t, c.want, shown(diags))
		})
	}
}

// From workloads to deployment targets (SPEC 5).
func TestUnfold(t *testing.T) {
	t.Parallel()
	fleet, diags := fleetOf(t, sourceOf(Tenant, tree{"w.yaml": api + `kind: Workload
metadata:
  name: cart
  labels: {team: workload, family: shop}
  annotations: {a: b}
spec:
  configSchemas: ['{"a": 1}', '{"b": 2}']
  deploymentTargets:
  - name: web
    environment: dev
    labels: {team: target, tier: front, workload: cart}
    manifests: {repo: r, branch: b, path: ./p, storage: s}
    configSchemas: ['{"c": 3}']
  - name: job
    environment: dev
    manifests: {}
  - {name: web, environment: stage, manifests: {}}
  - {name: other, environment: Dev, manifests: {}}
`}.fs()))
	assert.Equal(t, []string{
		`repo0:w.yaml:19:32: warning: environment "Dev" of deployment target "other" not found [unknown-environment]`,
	}, shown(diags))
	assert.Equal(t, `did you mean "dev"?`, diags[0].Hint)
	require.Len(t, fleet.Targets, 2, "only the environment exactly")
	job, web := fleet.Targets[0], fleet.Targets[1]
	assert.Equal(t, "cart-job", job.Name.Value)
	assert.Equal(t, map[string]string{"team": "workload", "family": "shop", "workload": "cart", "workspace": "shop"}, texts(job.Labels))
	assert.Equal(t, []string{`{"a": 1}`, `{"b": 2}`}, list(job.ConfigSchemas))

	assert.Equal(t, "cart-web", web.Name.Value)
	assert.Equal(t, "repo0:w.yaml:10:11", web.Name.At.String())
	assert.Equal(t, map[string]string{"team": "workload", "tier": "front", "family": "shop", "workload": "cart", "workspace": "shop"}, texts(web.Labels))
	assert.Equal(t, "repo0:w.yaml:5:18", web.Labels["team"].At.String(), "the place of the label that counts")
	assert.Equal(t, map[string]string{"repo": "r", "branch": "b", "path": "./p", "storage": "s"}, texts(web.Manifests))
	assert.Equal(t, []string{`{"c": 3}`, `{"a": 1}`, `{"b": 2}`}, list(web.ConfigSchemas), "the target's, then the workload's")
	assert.Equal(t, "cart", web.Workload)
	assert.Equal(t, "shop", web.Workspace)
	assert.Equal(t, "dev", web.Environment.Value)
	assert.Equal(t, "repo0", web.Registration.Name.Value)
	assert.False(t, web.Broken)
}

func texts(values map[string]Text) map[string]string {
	out := map[string]string{}
	for key, value := range values {
		out[key] = value.Value
	}
	return out
}

func list(values []Text) []string {
	var out []string
	for _, value := range values {
		out = append(out, value.Value)
	}
	return out
}

// A DeploymentTarget of the control plane is one of its environment, or of all if it names none.
func TestDirectTargets(t *testing.T) {
	t.Parallel()
	fleet, diags := fleetOf(t, sourceOf(Platform, tree{
		"a.yaml": api + "kind: DeploymentTarget\nmetadata: {name: a, labels: {workload: w, workspace: ws}}\nspec: {environment: dev, manifests: {repo: r}, configSchemas: ['{}']}\n",
		"b.yaml": api + "kind: DeploymentTarget\nmetadata: {name: b}\nspec: {manifests: {}}\n",
		"c.yaml": api + "kind: DeploymentTarget\nmetadata: {name: c}\nspec: {environment: stage, manifests: {}}\n",
	}.fs()))
	noProblem(t, diags)
	require.Len(t, fleet.Targets, 2)
	assert.Equal(t, "w", fleet.Targets[0].Workload)
	assert.Equal(t, "ws", fleet.Targets[0].Workspace)
	assert.Equal(t, map[string]string{"workload": "w", "workspace": "ws"}, texts(fleet.Targets[0].Labels))
	assert.Len(t, fleet.Targets[0].ConfigSchemas, 1)
	assert.Equal(t, "b", fleet.Targets[1].Name.Value)
}

func TestPromotedCommit(t *testing.T) {
	t.Parallel()
	base := func(name, commit string) string {
		return api + "kind: BaseRepo\nmetadata: {name: " + name + "}\nspec: {repo: https://h/r, branch: main, commit: " + commit + "}\n"
	}
	for _, c := range []struct {
		repo tree
		want string
	}{
		{tree{}, ""},
		{tree{"a.yaml": base("main", "abc")}, "abc"},
		{tree{"a.yaml": base("main", "' abc\t'")}, "abc"},
		{tree{"a.yaml": base("main", "")}, ""},
		{tree{"a.yaml": base("global", "def"), "b.yaml": base("main", "abc"), "c.yaml": base("zoo", "ghi")}, "abc"},
		{tree{"a.yaml": base("global", "def")}, ""},
		{tree{"a.yaml": base("Main", "def")}, ""},
	} {
		fleet, diags := fleetOf(t, sourceOf(Platform, c.repo.fs()))
		noProblem(t, diags)
		assert.Equal(t, c.want, fleet.PromotedCommit)
	}
}

// Incomplete keeps later stages from concluding anything from what is not there.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	good := validObjects()["ClusterType"]
	for content, want := range map[string]bool{
		good:                                           false,
		good + "---\na: b\n":                           false, // no kind: a warning
		good + "---\n[\n":                              true,  // not read
		good + "---\n" + api + "kind: Foo\n":           true,  // perhaps it was meant to be what is missing
		good + "---\nkind: Template\n":                 true,
		good + "---\nkind: List\n":                     true,
		good + "---\n&a [*a]\n":                        true,
		good + "---\napiVersion: v1\nkind: X\n":        false,
		strings.ReplaceAll(good, "ns", "5"):            false, // it is there, if broken
		"version https://git-lfs.github.com/spec/v1\n": true,
	} {
		fleet, _ := fleetOf(t, sourceOf(Base, tree{"a.yaml": good}.fs()), sourceOf(Platform, tree{"a.yaml": strings.ReplaceAll(content, "name: x", "name: z")}.fs()))
		assert.Equal(t, want, fleet.Incomplete, "%q", content)
	}
}

func TestNoWorkload(t *testing.T) {
	t.Parallel()
	want := []string{`registrations.yaml: warning: repo0 has no Workload below "." [no-workload]`}
	_, diags := fleetOf(t, sourceOf(Tenant, tree{"README.md": ""}.fs()))
	assert.Equal(t, want, shown(diags))
	_, diags = fleetOf(t, sourceOf(Tenant, tree{"a.yaml": "apiVersion: v1\nkind: Pod\n"}.fs()))
	assert.Equal(t, append(want, "notice: skipped 1 document of other API groups: Pod (1) [other-kinds]"), shown(diags))
	_, diags = fleetOf(t, sourceOf(Tenant, tree{"a.yaml": "["}.fs()))
	assert.Equal(t, []string{"invalid-yaml"}, rules(diags), "it may be in what cannot be read")
	_, diags = fleetOf(t, sourceOf(Base, tree{}.fs()), sourceOf(Platform, tree{}.fs()))
	assert.Empty(t, shown(diags))
}

func TestOtherKindsAreOneNotice(t *testing.T) {
	t.Parallel()
	pod, secret := "apiVersion: v1\nkind: Pod\n---\n", "apiVersion: v1\nkind: Secret\n---\n"
	_, diags := fleetOf(t,
		sourceOf(Platform, tree{"a.yaml": pod + secret + pod}.fs()), sourceOf(Base, tree{"a.yaml": pod, "b.yaml": "apiVersion: a/b\nkind: C\n"}.fs()))
	assert.Equal(t, []string{"notice: skipped 5 documents of other API groups: C (1), Pod (3), Secret (1) [other-kinds]"}, shown(diags))
}

func TestTemplateByName(t *testing.T) {
	t.Parallel()
	repo := tree{}
	for _, name := range []string{"b", "a", "B", "a-b", "ab", "z z"} {
		repo[name+".yaml"] = api + "kind: Template\nmetadata: {name: " + name + "}\nspec: {type: config, manifests: [x]}\n"
	}
	fleet, diags := fleetOf(t, sourceOf(Base, repo.fs()))
	noProblem(t, diags)
	assert.True(t, slices.IsSortedFunc(fleet.Templates, func(a, b *Template) int { return strings.Compare(a.Name.Value, b.Name.Value) }))
	for _, template := range fleet.Templates {
		assert.Same(t, template, fleet.Template(template.Name.Value))
	}
	for _, name := range []string{"", "A", "c", "zz", "a-"} {
		assert.Nil(t, fleet.Template(name))
	}
}

// fleetParts are the parts of a fleet with several objects of each kind, some of them wrong.
func fleetParts(t *testing.T) []*Objects {
	t.Helper()
	var parts []*Objects
	for i, role := range []Role{Platform, Base, Base, Tenant, Tenant, Tenant} {
		repo := tree{}
		for kind, object := range validObjects() {
			for n := range 3 {
				if role == Tenant && kind != "Workload" || role == Base && strings.HasSuffix(kind, "Repo") || kind == "Environment" {
					continue
				}
				// Names that some other part has too, and some that none has.
				object := strings.ReplaceAll(object, "name: x", fmt.Sprintf("name: x%d", (i*i+n)%11))
				repo[fmt.Sprintf("%s%d.yaml", kind, n)] = strings.ReplaceAll(object, "environment: dev", []string{"environment: dev", "environment: nowhere"}[(i+n)%2])
			}
		}
		repo["other.yaml"] = "apiVersion: v1\nkind: Pod\n---\na: b\n"
		source := sourceOf(role, repo.fs())
		source.Repo = fmt.Sprintf("repo%d", i)
		var registration *WorkloadRegistration
		if role == Tenant {
			registration = registrationOf(source.Repo, "shop")
			source.Ref.Subject = fmt.Sprintf("WorkloadRegistration %q", source.Repo)
		}
		objects, diags := Parse(source, registration, DefaultOptions())
		require.False(t, diags.HasErrors(), "%v", shown(diags))
		parts = append(parts, objects)
	}
	return parts
}

// The order of repositories, files and documents means nothing.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	parts := fleetParts(t)
	fleet, diags := newFleet(parts...)
	want, wantDiags := spelt(fleet), shown(diags)
	require.Contains(t, strings.Join(wantDiags, " "), "duplicate-object")
	require.Contains(t, strings.Join(wantDiags, " "), "unknown-environment")
	random := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		shuffle(random, parts)
		for _, part := range parts {
			shuffle(random, part.BaseRepos)
			shuffle(random, part.GitOpsRepos)
			shuffle(random, part.Registrations)
			shuffle(random, part.Workloads)
			shuffle(random, part.Targets)
			shuffle(random, part.ClusterTypes)
			shuffle(random, part.Templates)
			shuffle(random, part.Policies)
			shuffle(random, part.ConfigSchemas)
			shuffle(random, part.ConfigMaps)
		}
		fleet, diags := newFleet(parts...)
		require.Equal(t, want, spelt(fleet))
		require.Equal(t, wantDiags, shown(diags))
	}
}

func shuffle[T any](random *rand.Rand, list []T) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// spelt spells out all objects of a fleet, with their places.
func spelt(f *Fleet) []string {
	var lines []string
	add := func(o Object) {
		lines = append(lines, fmt.Sprint(o.Kind, " ", o.Name.Value, " ", o.Name.At, " ", o.At, " ", slices.Sorted(maps.Keys(o.Labels)), o.Broken))
	}
	for _, x := range f.BaseRepos {
		add(x.Object)
	}
	for _, x := range f.GitOpsRepos {
		add(x.Object)
	}
	for _, x := range f.ClusterTypes {
		add(x.Object)
	}
	for _, x := range f.Targets {
		add(x.Object)
		lines = append(lines, fmt.Sprint(x.Workload, x.Workspace, x.Environment, x.Manifests, x.ConfigSchemas))
	}
	for _, x := range f.Policies {
		add(x.Object)
	}
	for _, x := range f.Templates {
		add(x.Object)
	}
	for _, x := range f.ConfigSchemas {
		add(x.Object)
	}
	for _, x := range f.ConfigMaps {
		add(x.Object)
	}
	for _, x := range f.Registrations {
		add(x.Object)
	}
	return append(lines, f.PromotedCommit, fmt.Sprint(f.Incomplete))
}

// The order of documents in a file changes places, and nothing else.
func TestOrderOfDocumentsDoesNotMatter(t *testing.T) {
	t.Parallel()
	var docs []string
	for _, kind := range slices.Sorted(maps.Keys(validObjects())) {
		if kind != "Environment" {
			docs = append(docs, validObjects()[kind], strings.ReplaceAll(validObjects()[kind], "name: x", "name: other"))
		}
	}
	docs = append(docs, "a: b\n", "- c\n", "apiVersion: v1\nkind: Pod\n", api+"kind: ClusterType\nmetadata: {name: bad}\nspec: {reconciler: 5, foo: bar}\n", "# nothing\n")
	read := func() ([]string, []string) {
		objects, diags := parseOne(Platform, "---\n"+strings.Join(docs, "---\n"))
		fleet, more := newFleet(objects)
		diags.Add(more)
		var names, problems []string
		for _, line := range spelt(fleet) {
			fields := strings.Fields(line)
			names = append(names, strings.Join(fields[:min(2, len(fields))], " "))
		}
		for _, d := range diags {
			problems = append(problems, d.Severity.String()+" "+d.Rule+" "+d.Message+" "+d.Hint)
		}
		slices.Sort(problems)
		return names, problems
	}
	names, problems := read()
	require.NotEmpty(t, problems)
	random := rand.New(rand.NewPCG(7, 8))
	for range 30 {
		shuffle(random, docs)
		gotNames, gotProblems := read()
		require.Equal(t, problems, gotProblems)
		require.ElementsMatch(t, names, gotNames)
	}
}

// Parsing is parallel; what comes out is not a matter of chance.
func TestParseIsDeterministic(t *testing.T) {
	t.Parallel()
	repo := tree{}
	for i := range 60 {
		repo[fmt.Sprintf("%02d.yaml", i)] = validObjects()["ClusterType"] + "---\nkind: Template\n---\na: [\n---\n" + api + "kind: Workload\nspec: {foo: 5}\n"
	}
	objects, diags := parse(Platform, repo)
	for range 10 {
		again, more := parse(Platform, repo)
		require.Equal(t, shown(diags), shown(more))
		require.Len(t, again.ClusterTypes, len(objects.ClusterTypes))
		for i, c := range again.ClusterTypes {
			require.Equal(t, objects.ClusterTypes[i].Name, c.Name, "in the order of files")
		}
	}
}
