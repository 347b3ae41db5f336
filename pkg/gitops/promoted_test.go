package gitops

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// TestS17Promoted: the commit that a check reports on is what the tracking file holds at just the commit asked for.
func TestS17Promoted(t *testing.T) {
	t.Parallel()
	commit, other := strings.Repeat("a", 40), strings.Repeat("b", 40)
	readme := render.Readme
	for name, test := range map[string]struct {
		path  string
		files gitopstest.Files
		want  Promoted
		rule  string
	}{
		"a commit": {files: gitopstest.Files{render.TrackingFile: commit, "edge/README.md": readme}, want: Promoted{commit, []string{"edge"}}},
		"in other letters, with a line break": {
			files: gitopstest.Files{render.TrackingFile: strings.ToUpper(commit) + "\r\n"}, want: Promoted{Commit: commit},
		},
		"none":              {files: gitopstest.Files{"x": "1"}},
		"below a path":      {path: "./out/", files: gitopstest.Files{"out/" + render.TrackingFile: commit, render.TrackingFile: other}, want: Promoted{Commit: commit}},
		"no such directory": {path: "out", files: gitopstest.Files{render.TrackingFile: other}},
		"a branch":          {files: gitopstest.Files{render.TrackingFile: "main"}, rule: RuleInvalidTracking},
		"half a commit":     {files: gitopstest.Files{render.TrackingFile: commit[:12]}, rule: RuleInvalidTracking},
		"two commits":       {files: gitopstest.Files{render.TrackingFile: commit + "\n" + other}, rule: RuleInvalidTracking},
		"nothing":           {files: gitopstest.Files{render.TrackingFile: ""}, rule: RuleInvalidTracking},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := gitopstest.NewServer(t)
			url, ids := server.Add("gitops", gitopstest.Commit{Branch: "dev", Files: test.files}, gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{render.TrackingFile: other}})
			repo := &model.GitOpsRepo{Location: model.Location{
				Repo: model.Text{Value: "https://example.com/acme/gitops"}, Branch: model.Text{Value: "dev"}, Path: model.Text{Value: test.path},
			}}
			reader := newReader(t, remote.Options{Replace: []string{"https://example.com/acme/gitops=" + url}})
			got, err := ReadPromoted(t.Context(), reader, repo, ids[0])
			if test.rule != "" {
				var known *giterror.Error
				require.ErrorAs(t, err, &known)
				assert.Equal(t, test.rule, known.Rule)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestIsCommit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1234567": true, strings.Repeat("F", 40): true, "123456": false, strings.Repeat("a", 41): false, "main123": false, "": false, "12 4567": false,
	} {
		assert.Equal(t, want, giturl.IsCommit(text), text)
	}
}
