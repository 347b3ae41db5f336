package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// readFleet returns the fleet of the environment dev with the documents of its branch, all in the file cp:a.yaml. They
// must have no errors of the model.
func readFleet(t testing.TB, documents ...string) *model.Fleet {
	t.Helper()
	fleet, diags := tryFleet(documents...)
	require.False(t, diags.HasErrors(), "%v", diags)
	return fleet
}

func tryFleet(documents ...string) (*model.Fleet, diag.List) {
	source := &model.Source{
		Ref:  model.Ref{Path: ".", Role: model.Platform},
		Repo: "cp",
		FS:   fstest.MapFS{"a.yaml": {Data: []byte(strings.Join(documents, "\n---\n"))}},
	}
	objects, diags := model.Parse(source, nil, model.DefaultOptions())
	environment := &model.Environment{Object: model.Object{Name: model.Text{Value: "dev"}}}
	fleet, more := model.NewFleet(environment, []string{"dev"}, []*model.Objects{objects})
	diags.Add(more)
	return fleet, diags
}

// target is a DeploymentTarget with labels such as "size: large, workspace: shop".
func target(name, labels string) string {
	return fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: DeploymentTarget
metadata: {name: %s, labels: {%s}}
spec: {manifests: {repo: r}}`, name, labels)
}

func clusterType(name, labels string) string {
	return fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: %s, labels: {%s}}
spec: {reconciler: r, namespaceService: ns}`, name, labels)
}

// policy is a SchedulingPolicy whose specification is given in flow style.
func policy(name, spec string) string {
	return fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: %s}
spec: %s`, name, spec)
}

// everything is a policy that assigns all targets to all cluster types.
func everything(name string) string { return policy(name, "{}") }

// summary returns each assignment as "cluster type/target: policy policy".
func summary(assignments []schedule.Assignment) []string {
	lines := []string{}
	for _, a := range assignments {
		var reasons []string
		for _, p := range a.Reasons {
			reasons = append(reasons, p.Name.Value)
		}
		lines = append(lines, fmt.Sprintf("%s/%s: %s", a.ClusterType.Name, a.Target.Name, strings.Join(reasons, " ")))
	}
	return lines
}

// messages returns the diagnostics as text, without the repository.
func messages(diags diag.List) string {
	var b strings.Builder
	for _, d := range diags.Sorted() {
		b.WriteString(strings.TrimPrefix(diag.Format(d, diag.Style{}), "cp:a.yaml:"))
	}
	return b.String()
}
