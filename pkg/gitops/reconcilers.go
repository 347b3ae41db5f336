package gitops

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Reconciler is an object of Flux or Argo CD in a published tree that applies or fetches other objects.
type Reconciler struct {
	// Group is the API group without the version, Kind the kind of the object.
	Group, Kind string
	// Namespace is empty if the file does not set it.
	Namespace, Name string
	// Path is the path of its file, relative to the directory of the output.
	Path string
}

// reconcilerKinds are the kinds that count as reconcilers, by the group of their API.
var reconcilerKinds = map[string][]string{
	"argoproj.io":                 {"Application"},
	"helm.toolkit.fluxcd.io":      {"HelmRelease"},
	"kustomize.toolkit.fluxcd.io": {"Kustomization"},
	"source.toolkit.fluxcd.io":    {"Bucket", "GitRepository", "HelmChart", "HelmRepository", "OCIRepository"},
}

// ReadReconcilers returns the reconcilers that a commit of a GitOps branch has in the directories of deployment
// targets, in order of their paths. The error is an *Error.
func ReadReconcilers(ctx context.Context, r *remote.Reader, repo *model.GitOpsRepo, commit string) ([]Reconciler, error) {
	tree, err := readOutputAt(ctx, r, repo, commit)
	if err != nil {
		return nil, err
	}
	found, err := readReconcilers(ctx, tree)
	if err != nil {
		return nil, r.Clean(fmt.Errorf("read the reconcilers at %.12s: %w", commit, err))
	}
	return found, nil
}

func readReconcilers(ctx context.Context, tree fs.FS) ([]Reconciler, error) {
	published, err := change.ReadLayout(tree)
	if err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(published.Files, func(name string) bool { return !gitobject.IsManifest(name) })
	if err := gitobject.Prefetch(ctx, tree, files); err != nil {
		return nil, err
	}
	var all []Reconciler
	for _, name := range files {
		content, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		for _, found := range reconcilersIn(content) {
			found.Path = name
			all = append(all, found)
		}
	}
	slices.SortStableFunc(all, func(a, b Reconciler) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// reconcilersIn returns the reconcilers in a file. It ignores files that are not YAML: neither Flux nor Argo CD applies
// them, and templates of cluster types without Kubernetes may write any text.
func reconcilersIn(content []byte) (found []Reconciler) {
	if !bytes.Contains(content, []byte("toolkit.fluxcd.io/")) && !bytes.Contains(content, []byte("argoproj.io/")) {
		return nil
	}
	defer func() { _ = recover() }() // the YAML library has panicked on malformed input before
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		if decoder.Decode(&document) != nil {
			return found
		}
		var object struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string `yaml:"kind"`
			Metadata   struct {
				Namespace string `yaml:"namespace"`
				Name      string `yaml:"name"`
			} `yaml:"metadata"`
			Spec struct {
				Suspend yaml.Node `yaml:"suspend"`
			} `yaml:"spec"`
		}
		if document.Decode(&object) != nil {
			continue
		}
		group, _, _ := strings.Cut(object.APIVersion, "/")
		var suspended bool // an object that the commit suspends does not reconcile
		_ = object.Spec.Suspend.Decode(&suspended)
		if slices.Contains(reconcilerKinds[group], object.Kind) && !suspended {
			found = append(found, Reconciler{Group: group, Kind: object.Kind, Namespace: object.Metadata.Namespace, Name: object.Metadata.Name})
		}
	}
}
