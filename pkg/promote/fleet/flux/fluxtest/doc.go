// Package fluxtest stands in for the API servers of clusters with Flux: it answers the discovery and list calls for
// GitRepositories and Kustomizations as a Kubernetes API server does, page by page, with its errors. Its objects, of
// the shape that Flux writes, can be changed while it runs. It is for tests of any package.
package fluxtest
