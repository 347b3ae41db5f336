package github_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
)

// TestS14CommentsOfOthersAreNotKept: a user with read access could write the marker first and change the text later.
func TestS14CommentsOfOthersAreNotKept(t *testing.T) {
	t.Parallel()
	for login, action := range map[string]string{
		"ann":                 "created", // may write, and is still not us
		"bob":                 "created", // a collaborator who may only read
		"stranger":            "created",
		"other[bot]":          "created",
		"kalypso[bot]":        "updated",
		"github-actions[bot]": "updated", // a workflow without the App
	} {
		t.Run(login, func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			f.hub.AddToken(secret, githubtest.Token{Name: "app", Login: "kalypso[bot]", Permissions: githubtest.AllPermissions()})
			number := f.remote.OpenPull(githubtest.Pull{Head: "deployment/main", Base: "main", Issue: githubtest.Issue{Title: "x", Author: "bob"}}).Number
			f.remote.Comment(number, login, "<!-- marker --> nothing changes")
			kept, err := f.repo.KeepComment(t.Context(), number, func(text string) bool { return strings.Contains(text, "<!-- marker -->") }, "<!-- marker --> all goes")
			require.NoError(t, err)
			assert.Equal(t, action, kept.Action)
			ours := f.remote.Comments(number)[len(f.remote.Comments(number))-1]
			assert.Equal(t, "<!-- marker --> all goes", ours.Body)
		})
	}
}
