package gitops

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// TestReconcilers: those of the folders of targets at just the commit asked for; nothing else that a file may hold.
func TestReconcilers(t *testing.T) {
	t.Parallel()
	const reconciler = `# Two documents, and what is none of them.
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop, namespace: flux-system}
spec: {path: ./shop}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: shop
---
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
metadata: {name: "toolkit.fluxcd.io/"}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: paused, namespace: flux-system}
spec: {suspend: true}
---
- a list
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
`
	files := gitopstest.Files{
		"out/edge/README.md": render.Readme, "out/edge/shop/reconciler.yaml": reconciler, "out/edge/shop/namespace.yaml": "kind: Namespace\n",
		"out/edge/shop/chart.yml":         "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop, namespace: shop}\n",
		"out/edge/script/reconciler.yaml": "#!/bin/sh\n# toolkit.fluxcd.io/\nif [ : ]: then {\n", "out/edge/script/namespace.yaml": "",
		"out/edge-2/README.md": render.Readme, "out/edge-2/shop/reconciler.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: last}\n",
		"out/edge-2/shop/namespace.yaml":  "",                                               // after edge among folders, before it among paths
		"out/edge/notes.yaml":             reconciler,                                       // beside the targets
		"out/theirs/shop/reconciler.yaml": reconciler, "out/theirs/shop/namespace.yaml": "", // no cluster type
	}
	server := gitopstest.NewServer(t)
	url, ids := server.Add("gitops", gitopstest.Commit{Branch: "dev", Files: files}, gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"x": ""}})
	reader := newReader(t, remote.Options{Replace: []string{"https://example.com/acme/gitops=" + url}})
	repo := &model.GitOpsRepo{Location: model.Location{
		Repo: model.Text{Value: "https://example.com/acme/gitops"}, Branch: model.Text{Value: "dev"}, Path: model.Text{Value: "./out"},
	}}
	got, err := ReadReconcilers(t.Context(), reader, repo, ids[0])
	require.NoError(t, err)
	const file = "edge/shop/reconciler.yaml"
	assert.Equal(t, []Reconciler{
		{"helm.toolkit.fluxcd.io", "HelmRelease", "", "last", "edge-2/shop/reconciler.yaml"},
		{"helm.toolkit.fluxcd.io", "HelmRelease", "shop", "shop", "edge/shop/chart.yml"},
		{"kustomize.toolkit.fluxcd.io", "Kustomization", "flux-system", "shop", file},
		{"source.toolkit.fluxcd.io", "GitRepository", "", "shop", file},
		{"argoproj.io", "Application", "argocd", "shop", file},
	}, got)
	_, err = ReadReconcilers(t.Context(), reader, repo, "0123456789012345678901234567890123456789")
	require.Error(t, err)
}
