package fleet_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/flux/fluxtest"
)

var kustomizations = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}

// TestClientGo: the clients of Kubernetes itself take the stand-in for an API server, in its answers and its errors.
func TestClientGo(t *testing.T) {
	t.Parallel()
	cluster := fluxtest.NewFluxCluster(fluxtest.GitRepository("https://github.com/acme/gitops", "dev", "c0ffee"))
	for i := range 5 {
		cluster.Put(fluxtest.Kustomization("./edge", "dev@sha1:c0ffee").With("metadata.name", fmt.Sprintf("app-%d", i)))
	}
	cluster.Require("token")
	server := httptest.NewTLSServer(cluster)
	t.Cleanup(server.Close)
	at := fluxtest.ContextOf("edge", server)
	at.Token = "token"
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(fluxtest.Kubeconfig(at)))
	require.NoError(t, err)
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	list := func(options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
		return client.Resource(kustomizations).List(context.WithoutCancel(t.Context()), options)
	}

	first, err := list(metav1.ListOptions{Limit: 3})
	require.NoError(t, err)
	assert.Len(t, first.Items, 3)
	assert.Equal(t, int64(2), *first.GetRemainingItemCount())
	rest, err := list(metav1.ListOptions{Limit: 3, Continue: first.GetContinue()})
	require.NoError(t, err)
	require.Len(t, rest.Items, 2)
	assert.Equal(t, "app-4", rest.Items[1].GetName())
	assert.Empty(t, rest.GetContinue())

	cluster.Delete(fluxtest.Kustomization("", "").With("metadata.name", "app-4"))
	_, err = list(metav1.ListOptions{Limit: 3, Continue: first.GetContinue()})
	assert.True(t, apierrors.IsResourceExpired(err), "%v", err)
	cluster.Deny("kustomizations")
	_, err = list(metav1.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	cluster.Serve("v1beta2")
	_, err = list(metav1.ListOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	cluster.Require("another")
	_, err = list(metav1.ListOptions{})
	assert.True(t, apierrors.IsUnauthorized(err), "%v", err)
}
