package gitops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
)

// TestR29SelfCheck: what a broken renderer could make is not published.
func TestR29SelfCheck(t *testing.T) {
	t.Parallel()
	whole := func() *render.Tree {
		return gitopstest.Tree(".github/tracking/Promoted_Commit_Id=0123", "edge/"+gitopstest.Readme, "edge/a/namespace.yaml=n", "edge/a/platform-config.sh=x", "edge/a/reconciler.yaml=r")
	}
	require.NoError(t, selfCheck(t.Context(), whole(), &render.Tree{}))
	for want, breakIt := range map[string]func(tree *render.Tree){
		"edge/a/namespace.yaml is missing beside edge/a/": func(tree *render.Tree) { tree.Files = append(tree.Files[:2:2], tree.Files[3:]...) },
		"edge/README.md is missing beside edge/a/":        func(tree *render.Tree) { tree.Files = append(tree.Files[:1:1], tree.Files[2:]...) },
		"is not a path of an output":                      func(tree *render.Tree) { tree.Files[3].Path = "edge/a/platform-config.txt" },
		"is missing beside edge/../x":                     func(tree *render.Tree) { tree.Files[1].Path = "edge/../x" },
		"is duplicated, or out of order":                  func(tree *render.Tree) { tree.Files[3] = tree.Files[2] },
		"README.md: it is not the kalypso marker line":    func(tree *render.Tree) { tree.Files[1].Content = content.New("hello") },
		"Promoted_Commit_Id: it is not a commit":          func(tree *render.Tree) { tree.Files[0].Content = content.New("a\nb") },
		"reconciler.yaml: it is not UTF-8":                func(tree *render.Tree) { tree.Files[4].Content = content.New("\xff") },
	} {
		broken := whole()
		breakIt(broken)
		diff := &change.Change{}
		for _, f := range broken.Files {
			diff.Files = append(diff.Files, change.FileChange{Path: f.Path, Action: change.Added, New: f.Content})
		}
		require.ErrorContains(t, selfCheck(t.Context(), broken, freshFiles(broken, diff)), want)
	}
}
