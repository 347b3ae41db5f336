package gitops

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/model"
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
	for path, want := range map[string]string{"clusters/all": "", "file": "is no folder"} {
		outputs := ReadOutputs(t.Context(), reader, &model.Fleet{Contents: model.Contents{GitOpsRepos: []*model.GitOpsRepo{{Location: model.Location{
			Repo: model.Text{Value: "https://github.com/acme/gitops"}, Branch: model.Text{Value: "dev"}, Path: model.Text{Value: path},
		}}}}})
		change, err := Compare(t.Context(), outputs[0].Tree, oneTarget)
		if want != "" {
			require.ErrorContains(t, err, want, path)
			continue
		}
		require.NoError(t, err, path)
		assert.Equal(t, "1 target on 1 cluster type: +1 ~0 -0 =0", change.Plan().String())
	}
}
