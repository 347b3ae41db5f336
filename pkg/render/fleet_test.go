package render

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/rendertest"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// object returns an object of kalypso; labels are such as "size: large", body such as "spec: {…}".
func object(kind, name, labels, body string) string {
	return fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: %s\nmetadata: {name: %q, labels: {%s}}\n%s", kind, name, labels, body)
}

// clusterType is one with the templates flux and default.
func clusterType(name, labels string) string {
	return object("ClusterType", name, labels, "spec: {reconciler: flux, namespaceService: default}")
}

// target is a deployment target of the control plane's own, with the label workload.
func target(name, labels string) string {
	return object("DeploymentTarget", name, labels, "spec: {environment: dev, manifests: {repo: https://example.com/r, branch: main, path: ./p}}")
}

// everywhere is a policy that assigns all to all.
func everywhere() string { return object("SchedulingPolicy", "everywhere", "", "spec: {}") }

// config is a platform config; data is in flow or block style.
func platformConfig(name, labels, data string) string {
	return configMap(name, `platform-config: "true", `+labels, data)
}

func configMap(name, labels, data string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %q, labels: {%s}}\ndata: %s", name, labels, data)
}

// textTemplate is a Template with a text of each manifest.
func textTemplate(name, kind string, manifests ...string) string {
	body := fmt.Sprintf("spec:\n  type: %s\n  manifests:\n", kind)
	for _, manifest := range manifests {
		body += "  - |\n" + indented(manifest, 6)
	}
	return object("Template", name, "", body)
}

func indented(text string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.Repeat(" ", columns) + line)
	}
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}

// standardTemplates are the templates that clusterType names.
func standardTemplates() string {
	return textTemplate("flux", model.ReconcilerTemplate, rendertest.Flux) + "---\n" +
		textTemplate("default", model.NamespaceTemplate, rendertest.Namespace)
}

func registration(name, workspace string) string {
	return object("WorkloadRegistration", name, "", fmt.Sprintf("spec: {workload: {repo: https://example.com/%s, branch: main}, workspace: %s}", name, workspace))
}

// workload has the targets that are given, in flow style: "name: web, manifests: {…}".
func workload(name, labels string, targets ...string) string {
	body := "spec:\n  deploymentTargets:\n"
	for _, target := range targets {
		body += "  - {environment: dev, " + target + "}\n"
	}
	return object("Workload", name, labels, body)
}

// fleetTexts is a fleet of the environment dev: the documents of its branch, which stand in the file
// cp:a.yaml, and of the application repositories, by the name of their registration: shop:a.yaml.
type fleetTexts struct {
	platform []string
	apps     map[string][]string
}

func platform(documents ...string) fleetTexts { return fleetTexts{platform: documents} }

// app adds or replaces the repository of a registration.
func (f fleetTexts) app(registration string, documents ...string) fleetTexts {
	apps := map[string][]string{}
	maps.Copy(apps, f.apps)
	apps[registration] = documents
	return fleetTexts{f.platform, apps}
}

// read returns a fleet in which the model finds no error.
func (f fleetTexts) read(t testing.TB) *model.Fleet {
	t.Helper()
	fleet, diags := f.tryRead()
	require.False(t, diags.HasErrors(), "%s", reported(diags))
	return fleet
}

func (f fleetTexts) tryRead() (*model.Fleet, diag.List) {
	parts, diags := parseRepo("cp", model.Platform, f.platform, nil)
	all := []*model.Objects{parts}
	for _, registration := range parts.Registrations {
		if documents, ok := f.apps[registration.Name.Value]; ok {
			objects, more := parseRepo(registration.Name.Value, model.Tenant, documents, registration)
			all = append(all, objects)
			diags.Add(more)
		}
	}
	environment := &model.Environment{Object: model.Object{Name: model.Text{Value: "dev"}}}
	fleet, more := model.NewFleet(environment, []string{"dev"}, all)
	diags.Add(more)
	return fleet, diags
}

func parseRepo(repo string, role model.Role, documents []string, registration *model.WorkloadRegistration) (*model.Objects, diag.List) {
	source := &model.Source{
		Ref: model.Ref{Path: ".", Role: role}, Repo: repo,
		FS: fstest.MapFS{"a.yaml": {Data: []byte(strings.Join(documents, "\n---\n"))}},
	}
	return model.Parse(source, registration, model.DefaultOptions())
}

// render compiles the fleet, which the model must accept.
func (f fleetTexts) render(t testing.TB) (*Tree, diag.List) {
	t.Helper()
	return renderFleet(f.read(t), Options{})
}

func renderFleet(fleet *model.Fleet, options Options) (*Tree, diag.List) {
	assignments, diags := schedule.Assign(fleet)
	tree, more := Render(fleet, assignments, options)
	diags.Add(more)
	return tree, diags
}

// files returns what the tree holds as text. There is no error.
func (f fleetTexts) files(t testing.TB) map[string]string {
	t.Helper()
	tree, diags := f.render(t)
	require.False(t, diags.HasErrors(), "%s", reported(diags))
	return contents(tree)
}

func contents(tree *Tree) map[string]string {
	files := make(map[string]string, len(tree.Files))
	for _, file := range tree.Files {
		files[file.Path] = file.Content.String()
	}
	return files
}

// reported returns the diagnostics as people read them.
func reported(diags diag.List) string {
	var b strings.Builder
	for _, d := range diags.Sorted() {
		b.WriteString(diag.Format(d, diag.Style{}))
	}
	return b.String()
}

// problems returns the warnings and errors as people read them, without the lines below them.
func problems(diags diag.List) []string {
	lines := []string{}
	for _, d := range diags.Sorted() {
		if d.Severity > diag.Notice {
			d.Hint, d.Related = "", nil
			lines = append(lines, strings.TrimSuffix(diag.Format(d, diag.Style{}), "\n"))
		}
	}
	return lines
}
