package main_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/htmlreport"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

const evil = `</script><script>document.title='hacked'</script><img src=x onerror=document.title='hacked'>`

// environment compiles a small fleet with a hostile value.
func environment(t testing.TB, name string) htmlreport.Environment {
	t.Helper()
	documents := []string{
		"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: flux}\nspec:\n  type: reconciler\n  manifests:\n  - |\n    kind: Kustomization\n    metadata: {name: \"{{ .DeploymentTargetName }}\"}\n",
		"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: default}\nspec:\n  type: namespace\n  manifests:\n  - |\n    kind: Namespace\n    metadata: {name: \"{{ .Namespace }}\"}\n",
		"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: config}\nspec:\n  type: config\n  manifests:\n  - |\n    kind: ConfigMap\n    data: {{ toYaml .ConfigData | nindent 2 }}\n",
	}
	for i, region := range []string{"west", "east", "west"} {
		documents = append(documents, fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: type-%d, labels: {region: %s}}\nspec: {reconciler: flux, namespaceService: default, configType: config}", i, region))
	}
	for i := range 4 {
		documents = append(documents, fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: DeploymentTarget\nmetadata: {name: target-%d, labels: {size: s%d}}\nspec: {environment: %s, manifests: {repo: 'https://example.com/r', branch: main, path: ./p}}", i, i%2, name))
	}
	documents = append(documents,
		"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: west}\nspec: {clusterTypeSelector: {labelSelector: {matchLabels: {region: west}}}}",
		"apiVersion: scheduler.kalypso.io/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: small}\nspec: {deploymentTargetSelector: {labelSelector: {matchLabels: {size: s0}}}}",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: all, labels: {platform-config: \"true\"}}\ndata: {LEVEL: info, EVIL: \""+evil+"\", MAP: 'a: 1'}",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: west, labels: {platform-config: \"true\", region: west}}\ndata: {LEVEL: debug, MAP: 'b: 2'}",
	)
	source := &model.Source{
		Ref: model.Ref{Path: ".", Role: model.Platform}, Repo: "cp", FS: fstest.MapFS{"a.yaml": {Data: []byte(strings.Join(documents, "\n---\n"))}},
	}
	objects, diags := model.Parse(source, nil, model.DefaultOptions())
	fleet, more := model.NewFleet(&model.Environment{Object: model.Object{Name: model.Text{Value: name}}}, []string{name}, []*model.Objects{objects})
	diags.Add(more)
	assignments, more := schedule.Assign(fleet)
	diags.Add(more)
	tree, more := render.Render(fleet, assignments, render.Options{})
	diags.Add(more)
	for _, d := range diags {
		require.NotEqual(t, diag.Error, d.Severity, "%v", d)
	}
	diags.Warning("made-up", diag.Place{}, evil)
	return htmlreport.Environment{Name: name, Fleet: fleet, Assignments: assignments, Tree: tree, Diags: diags}
}

func write(t testing.TB, environments ...htmlreport.Environment) string {
	t.Helper()
	var page bytes.Buffer
	require.NoError(t, htmlreport.Write(t.Context(), &page, htmlreport.Report{Version: "v1", ControlPlane: "example.com/cp", Environments: environments}))
	return page.String()
}

// unpack reads a compressed block of a page.
func unpack(t *testing.T, page, id string, into any) {
	t.Helper()
	found := regexp.MustCompile(`<script type="text/plain" id="` + id + `">([^<]*)</script>`).FindStringSubmatch(page)
	require.NotNil(t, found, id)
	packed, err := base64.StdEncoding.DecodeString(found[1])
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	data, err := io.ReadAll(z)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}

// TestPageHasTheFleet: what the page says is what schedule, render and the Configurator say.
func TestPageHasTheFleet(t *testing.T) {
	t.Parallel()
	dev := environment(t, "dev")
	page := write(t, dev, environment(t, "stage"))
	var index struct {
		Manifests    bool
		Environments []struct {
			Name         string
			ClusterTypes []struct{ N string }
			Targets      []struct{ N string }
			Reasons      [][]struct{ N, At string }
			On           [][]int
		}
	}
	found := regexp.MustCompile(`<script type="application/json" id="index">(.*)</script>`).FindStringSubmatch(page)
	require.NotNil(t, found)
	require.NoError(t, json.Unmarshal([]byte(found[1]), &index))
	require.Len(t, index.Environments, 2)
	assert.True(t, index.Manifests)
	var table struct {
		Entries []struct{ K, N, At, V string }
	}
	unpack(t, page, "table-0", &table)
	configurator, _ := config.NewConfigurator(dev.Fleet)
	said := map[string]string{}
	for c, on := range index.Environments[0].On {
		var content struct {
			Configs [][]struct {
				O, M []int
				V    *string
			}
			Targets map[string]struct {
				Config int
				Files  [][2]string
			}
		}
		unpack(t, page, fmt.Sprintf("on-0-%d", c), &content)
		clusterType := dev.Fleet.ClusterTypes[c]
		for i := 0; i < len(on); i += 2 {
			target := dev.Fleet.Targets[on[i]]
			line := ""
			for _, reason := range index.Environments[0].Reasons[on[i+1]] {
				line += reason.N + " "
			}
			name := clusterType.Name.Value + "/" + target.Name.Value
			said[name] = line
			own := content.Targets[target.Name.Value]
			for _, f := range own.Files {
				want, there := dev.Tree.ReadFile(name + "/" + f[0])
				assert.True(t, there, f[0])
				assert.Equal(t, string(want), f[1])
			}
			values := configurator.Configure(clusterType, target)
			require.Len(t, content.Configs[own.Config], len(values.Keys()))
			for k, v := range content.Configs[own.Config] {
				key := values.Keys()[k]
				stack := values.Stack(key)
				require.Len(t, v.O, len(stack), key)
				text := table.Entries[v.O[len(v.O)-1]].V
				if v.V != nil {
					text = *v.V
				}
				assert.Equal(t, values.Text(key), text, key)
				for n, laid := range stack {
					entry := table.Entries[v.O[n]]
					assert.Equal(t, []string{key, laid.Config.Name.Value, laid.At.String(), laid.Text}, []string{entry.K, entry.N, entry.At, entry.V})
				}
			}
		}
	}
	want, files := map[string]string{}, 0
	for _, a := range dev.Assignments {
		line := ""
		for _, p := range a.Reasons {
			line += p.Name.Value + " "
		}
		want[a.ClusterType.Name.Value+"/"+a.Target.Name.Value] = line
	}
	for _, f := range dev.Tree.Files {
		if f.Assignment != nil && path.Dir(f.Path) == "type-0/target-0" {
			files++
		}
	}
	assert.Equal(t, want, said)
	assert.Equal(t, 3, files)
}

// TestPageIsSanitized: text of others is data, never where a browser parses tags.
func TestPageIsSanitized(t *testing.T) {
	t.Parallel()
	page := write(t, environment(t, "dev"))
	assert.NotContains(t, page, "<img")
	assert.NotContains(t, page, "<script>document")
	assert.Equal(t, strings.Count(page, "<script"), strings.Count(page, "</script>"))
	assert.Contains(t, page, "default-src 'none'")
	assert.NotContains(t, page, "-HASH")
}

func TestPageIsTheSame(t *testing.T) {
	t.Parallel()
	want := write(t, environment(t, "dev"), environment(t, "stage"))
	for range 5 {
		assert.Equal(t, want, write(t, environment(t, "dev"), environment(t, "stage")))
	}
}

// TestPageOfWhatIsBroken: an environment that could not be read has its errors, and others are shown.
func TestPageOfWhatIsBroken(t *testing.T) {
	t.Parallel()
	broken := htmlreport.Environment{Name: "prod"}
	broken.Diags.Error("branch-not-found", diag.Place{}, "there is no branch prod")
	assert.Contains(t, write(t, broken, environment(t, "dev")), "there is no branch prod")
	assert.Contains(t, write(t), `"environments":[]`)
}

func TestWriteStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, htmlreport.Write(ctx, io.Discard, htmlreport.Report{Environments: []htmlreport.Environment{environment(t, "dev")}}), context.Canceled)
}
