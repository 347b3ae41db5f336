package render

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/reference"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
)

// What templates see as a whole has more fields than the operator's: its text, its type and its hash are others.
// Fleets have them in the names of objects, so they must not change again.
func TestTheDataAsAWhole(t *testing.T) {
	t.Parallel()
	d := reference.Data{
		DeploymentTargetName: "cart-web", Namespace: "dev-edge-cart-web", Environment: "dev", Workspace: "shop", Workload: "cart", ClusterType: "edge",
		Labels: map[string]string{"tier": "web"}, ClusterTypeLabels: map[string]string{"site": "store"}, ConfigData: map[string]any{"LIST": []any{1}},
		Manifests: map[string]string{"repo": "https://h/r", "branch": "main", "path": "web"}, Repo: "https://h/r", Branch: "main", Path: "web",
	}
	parsed, _ := template.Parse(model.Block{Text: model.Text{Value: "{{ hash . }}\n{{ typeOf . }}\n{{ toYaml . }}"}})
	text, _, err := parsed.Execute(view(&d), template.Bounds{})
	require.NoError(t, err)
	assert.Equal(t, `6661520984589618184
*render.data
deploymenttargetname: cart-web
namespace: dev-edge-cart-web
environment: dev
workspace: shop
workload: cart
clustertype: edge
labels:
    tier: web
clustertypelabels:
    site: store
manifests:
    branch: main
    path: web
    repo: https://h/r
configdata:
    LIST:
        - 1
repo: https://h/r
branch: main
path: web`, text)
}
