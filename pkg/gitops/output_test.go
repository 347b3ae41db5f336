package gitops

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// TestOutputBelowAPath reads a GitOps branch on which the folder of the output is not there yet.
func TestOutputBelowAPath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "gitops.git")
	_, err := gitopstest.Bare(dir, gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"README.md": "x", "file": "x"}})
	require.NoError(t, err)
	reader, err := remote.NewReader(remote.Options{Replace: []string{"https://github.com/acme/gitops=" + dir}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, reader.Close()) })
	for path, want := range map[string]string{"clusters/all": "", "file": "is not a directory"} {
		outputs := ReadOutputs(t.Context(), reader, &model.Fleet{Contents: model.Contents{GitOpsRepos: []*model.GitOpsRepo{{Location: model.Location{
			Repo: model.Text{Value: "https://github.com/acme/gitops"}, Branch: model.Text{Value: "dev"}, Path: model.Text{Value: path},
		}}}}})
		change, err := change.Compare(t.Context(), outputs[0].Tree, oneTarget)
		if want != "" {
			require.ErrorContains(t, err, want, path)
			continue
		}
		require.NoError(t, err, path)
		assert.Equal(t, "1 target on 1 cluster type, 1 assignment: +1 ~0 -0", change.Plan().String())
	}
}

// TestCompareFetchesOnlyWhatChanged reads a GitOps branch from a server: the contents of what stays
// as it is are never asked for.
func TestCompareFetchesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _ := server.Add("gitops", gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{
		"edge/README.md": render.Readme, "edge/a/namespace.yaml": "n", "edge/a/reconciler.yaml": "r",
	}})
	reader, err := remote.NewReader(remote.Options{Replace: []string{"https://github.com/acme/gitops=" + url}})
	require.NoError(t, err)
	outputs := ReadOutputs(t.Context(), reader, &model.Fleet{Contents: model.Contents{GitOpsRepos: []*model.GitOpsRepo{{Location: model.Location{
		Repo: model.Text{Value: "https://github.com/acme/gitops"}, Branch: model.Text{Value: "dev"}, Path: model.Text{Value: "."},
	}}}}})
	require.Len(t, outputs, 1)
	require.NotNil(t, outputs[0].Tree, outputs[0].Diags)
	before := len(server.Requests())
	diff, err := change.Compare(t.Context(), outputs[0].Tree, gitopstest.Tree("edge/"+gitopstest.Readme, "edge/a/namespace.yaml=n", "edge/a/reconciler.yaml=r"))
	require.NoError(t, err)
	assert.True(t, diff.Empty())
	assert.Len(t, server.Requests(), before, "what is the same is known by its id")
	diff, err = change.Compare(t.Context(), outputs[0].Tree, gitopstest.Tree("edge/"+gitopstest.Readme, "edge/a/namespace.yaml=other", "edge/a/reconciler.yaml=other"))
	require.NoError(t, err)
	assert.Equal(t, "n", string(diff.Files[0].Old))
	assert.Len(t, server.Requests(), before+1, "what changes is fetched at once")
	assert.NotEmpty(t, outputs[0].Commit)
}
