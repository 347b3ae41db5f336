package render

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/model/fleettest"
	"github.com/kalypso-gitops/kalypso/pkg/render/rendertest"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// requireSameAsWhole renders a fleet in pieces and in the usual way, and checks that there is no
// difference. It returns the tree.
func requireSameAsWhole(t *testing.T, fleet *model.Fleet, options Options) *Tree {
	t.Helper()
	assignments, _ := schedule.Assign(fleet)
	got, gotDiags := Render(fleet, assignments, options)
	options.whole = true
	want, wantDiags := Render(fleet, assignments, options)
	require.Equal(t, reported(wantDiags), reported(gotDiags))
	require.Equal(t, contents(want), contents(got))
	return got
}

func TestGeneratedFleetsIncrementally(t *testing.T) {
	t.Parallel()
	for seed := range uint64(share(5, 15)) {
		requireSameAsWhole(t, generate(smallFleet(), seed).read(t), Options{})
	}
}

func TestTypicalFleetIncrementally(t *testing.T) {
	t.Parallel()
	fleet, diags := fleettest.Generate(fleettest.Size{ClusterTypes: 8, Repositories: 4, Workloads: 8, Pairs: 3}).Load()
	require.False(t, diags.HasErrors(), reported(diags))
	requireSameAsWhole(t, fleet, Options{})
}

// hostileWorkload has a target for some of the hostile texts, others for another first one.
func hostileWorkload(first int) string {
	var targets []string
	step := share(12, 6)
	for i := first % step; i < len(rendertest.HostileTexts()); i += step {
		x := rendertest.HostileTexts()[i]
		if strings.HasSuffix(x, "{") {
			continue // the model refuses it
		}
		manifests, _ := json.Marshal(map[string]string{"x": x, "path": "./p", "a": x})
		targets = append(targets, fmt.Sprintf("name: t%d, labels: {app: a%d, tier-name: web}, manifests: %s", i, i%5, manifests))
	}
	return workload("cart", "", targets...)
}

// Tenants' strings come out the same, and are refused for the same reasons, whatever the template of the
// reconciler or the configuration.
func TestHostileStringsIncrementally(t *testing.T) {
	t.Parallel()
	if rendertest.RaceDetector {
		t.Skip("nothing here is done at once")
	}
	for i, text := range slices.Concat(optionalTexts(), rendertest.AllTemplates()) {
		if i%4 != 0 && !thorough() {
			continue
		}
		for _, use := range []struct{ contentType, flux, mine string }{{"yaml", text, ""}, {"yaml", rendertest.Flux, text}, {"sh", "", text}} {
			fleet, diags := platform(
				flowTemplate("flux", "reconciler", use.contentType, use.flux), textTemplate("default", "namespace", rendertest.Namespace),
				flowTemplate("mine", "config", use.contentType, use.mine),
				object("ClusterType", "edge", "region: west", "spec: {reconciler: flux, namespaceService: default, configType: mine}"),
				everywhere(), registration("shop", "retail"), platformConfig("a", "", nestedConfig), platformConfig("b", "app: a1", `{KEY: "a: b", NESTED: x}`),
			).app("shop", hostileWorkload(i)).tryRead()
			require.False(t, diags.HasErrors(), reported(diags))
			requireSameAsWhole(t, fleet, Options{})
		}
	}
}

// objectStrings are templates that stand in the strings of object manifests.
func objectStrings() []string {
	return []string{
		"{{ .Labels.app }}", "{{ .Manifests.x }}", "{{ .Manifests.x | quote }}", "x-{{ .Manifests.x }}", "{{ .Manifests.x }}-{{ .Labels.app }}", "a {{ .Manifests.x }} b", "{{ .Namespace }}", "{{ .Path }}",
		"{{ .Manifests.x }}\n", "a\n{{ .Manifests.x }}\nb", "{{ hash .ConfigData }}", "a{{ hash .ConfigData }}", "{{ toYaml .ConfigData }}", "{{ toYaml .Labels }}", "{{ .Labels.app }}: {{ .Workload }}", "# {{ .Labels.app }}",
		"{{ .ConfigData.NESTED }}", "{{ .ConfigData.KEY }}", "{{ .Labels.nothing }}", "{{ index .Labels \"nothing\" }}", "{{ range $k, $v := .ConfigData }}{{ $k }}={{ $v }},{{ end }}", "{{ .Labels.app }}" + strings.Repeat(" word", 30),
		strings.Repeat("{{ .Manifests.x }}", 5), "t{{ .Manifests.x }}", "n{{ .Labels.app }}", "é{{ .Labels.app }}", "{{ .Labels.app }}\t", "<{{ .Labels.app }}>&", "y{{ index .Labels \"nothing\" }}", "{{ .ClusterTypeLabels.region }}",
		"{{ .Labels.app }}{{ .Labels.app }}", "{{ if .Manifests.x }}yes{{ end }}", "kalypso0string0z{{ .Labels.app }}", "{{ define \"a\" }}{{ . }}{{ end }}{{ template \"a\" .Labels.app }}",
	}
}

// The strings of object manifests come out the same.
func TestObjectManifestsIncrementally(t *testing.T) {
	t.Parallel()
	all := objectStrings()
	for i, text := range all {
		manifest := map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "{{ .DeploymentTargetName }}", "namespace": "{{ .Namespace }}"},
			"data": map[string]any{"a": text, "b": []any{"x-{{ .Labels.app }}", 5, nil, true}, strings.Repeat("k", 130): "{{ .Workload }}", "c": "constant"},
		}
		written, err := json.Marshal(map[string]any{"type": "reconciler", "manifests": []any{manifest, map[string]any{"other": text}}})
		require.NoError(t, err)
		fleet, diags := platform(
			object("Template", "flux", "", "spec: "+string(written)), textTemplate("default", "namespace", rendertest.Namespace), clusterType("edge", "region: west"),
			everywhere(), registration("shop", "retail"), platformConfig("a", "", nestedConfig), platformConfig("b", "app: a1", `{KEY: "a: b", NESTED: x}`),
		).app("shop", hostileWorkload(i)).tryRead()
		require.False(t, diags.HasErrors(), reported(diags))
		requireSameAsWhole(t, fleet, Options{})
	}
}

// optionalTexts are templates of files that are not always there.
func optionalTexts() []string {
	return []string{
		"{{ if contains \":\" .Manifests.x }}a: b{{ end }}", "{{ if not (contains \":\" .Manifests.x) }}a: b{{ end }}", "{{ if eq .Manifests.x \"5\" }}a: b{{ end }}",
		"{{ if ne .Manifests.x \"5\" }}a: b{{ end }}", "{{ with .Manifests.x }}a: b{{ end }}", "{{ .Manifests.x }}",
	}
}

// The sample fleets, good and bad, as far as the model accepts them.
func TestSampleFleetsIncrementally(t *testing.T) {
	t.Parallel()
	const samples = "../../testdata"
	files := 0
	for _, dir := range []string{"fleets/harvest/in", "seeds/in"} {
		files += requireFolders(t, os.DirFS(filepath.Join(samples, dir)))
	}
	assert.Greater(t, files, 50)
	archives, err := filepath.Glob(filepath.Join(samples, "bad", "*.txtar"))
	require.NoError(t, err)
	files = 0
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		require.NoError(t, err)
		directories, err := txtar.FS(archive)
		require.NoError(t, err, name)
		files += requireFolders(t, directories)
	}
	assert.Greater(t, files, 20)
}

// requireFolders checks all environments of the control plane in a tree of plain directories. It returns
// how many files there are.
func requireFolders(t *testing.T, directories fs.FS) (files int) {
	t.Helper()
	source := func(dir, branch, at string, role model.Role) *model.Source {
		if _, err := fs.Stat(directories, path.Join(dir, branch)); err == nil {
			dir = path.Join(dir, branch)
		}
		tree, err := fs.Sub(directories, dir)
		require.NoError(t, err)
		return &model.Source{Ref: model.Ref{Repo: dir, Branch: branch, Path: path.Clean("./" + at), Role: role}, Repo: dir, FS: tree}
	}
	parse := func(source *model.Source, registration *model.WorkloadRegistration) *model.Objects {
		objects, _ := model.Parse(source, registration, model.DefaultOptions())
		return objects
	}
	environments, _ := model.UniqueEnvironments(parse(source("control-plane", "main", ".", model.Main), nil))
	for _, environment := range environments {
		parts := []*model.Objects{
			parse(source("control-plane", environment.ControlPlane.Branch.Value, environment.ControlPlane.Path.Value, model.Platform), nil),
			parse(source("control-plane", "main", ".", model.Base), nil),
		}
		for _, base := range parts[0].BaseRepos {
			if name := repoName(base.Repo.Value); name == "harvest-global" {
				parts = append(parts, parse(source("global", "main", base.Path.Value, model.Base), nil))
			}
		}
		for _, part := range parts {
			for _, r := range part.Registrations {
				parts = append(parts, parse(source(repoName(r.Workload.Repo.Value), r.Workload.Branch.Value, r.Workload.Path.Value, model.Tenant), r))
			}
		}
		fleet, _ := model.NewFleet(environment, []string{environment.Name.Value}, parts)
		files += len(requireSameAsWhole(t, fleet, Options{}).Files)
	}
	return files
}

func repoName(url string) string { return strings.TrimSuffix(path.Base(url), ".git") }
