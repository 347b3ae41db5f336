package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// TestCommitThroughTheHistoryOfItsBranch: of a server that serves the tips of branches only, as over ssh without
// uploadpack.allow...SHA1InWant, an older commit is read through its branch.
func TestCommitThroughTheHistoryOfItsBranch(t *testing.T) {
	t.Parallel()
	for _, filter := range []string{"true", "false"} {
		server := gitopstest.NewServer(t)
		var commits []gitopstest.Commit
		for i := range 5 {
			commits = append(commits, gitopstest.Commit{Files: gitopstest.Files{"a.yaml": fmt.Sprintf("%d\n", i), "b.bin": strings.Repeat("b", 100)}})
		}
		url, ids := server.Add("repo", append(commits, gitopstest.Commit{Branch: "gone", Files: gitopstest.Files{"a.yaml": "gone\n"}})...)
		gitopstest.RunGit(t, server.Dir("repo"), "update-ref", "-d", "refs/heads/gone")
		server.Configure("repo", "uploadpack.allowFilter", filter)

		names, err := giturl.NewResolver(nil)
		require.NoError(t, err)
		at, err := names.Locate(model.Ref{Repo: url})
		require.NoError(t, err)
		connection := &Connection{
			At: at, Role: model.Base, Net: wire.NewNetwork(nil, nil, nil, wire.Limits{}),
			Keys: credentials.NewKeyring(func(string) string { return "" }, nil, nil),
		}
		repo, err := connection.Connect(t.Context(), nil)
		require.NoError(t, err)
		repo.anyID = false

		for _, i := range []int{2, 4} {
			id := plumbing.NewHash(ids[i])
			commit, err := repo.CommitAt(t.Context(), id, "main")
			require.NoError(t, err)
			tree := gitobject.NewTreeFS(t.Context(), repo.TreesAt(id), commit)
			assert.Equal(t, fmt.Sprintf("%d\n", i), gitopstest.Content(t, tree, "a.yaml"))
			assert.Len(t, gitopstest.Content(t, tree, "b.bin"), 100)
		}
		_, err = repo.CommitAt(t.Context(), plumbing.NewHash(ids[5]), "main")
		var e *giterror.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, giterror.RuleCommitNotFound, e.Rule)
		assert.Contains(t, e.Message, `commit `+ids[5]+` not found on branch "main"`)
	}
}
