package github_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// historian is a fixture with a control plane that git keeps: first and last of main, side off first, and an orphan.
type historian struct {
	*fixture
	control                   *github.Repository
	first, last, side, orphan string
}

func withHistory(t *testing.T) *historian {
	t.Helper()
	h := &historian{fixture: setup(t, githubtest.Options{}, nil)}
	dir := filepath.Join(t.TempDir(), "control.git")
	file := gitopstest.Files{"a": "1"}
	first, err := gitopstest.Bare(dir, gitopstest.Commit{Files: file})
	require.NoError(t, err)
	_, err = gitopstest.Git(dir, "branch", "side", "main")
	require.NoError(t, err)
	rest, err := gitopstest.Add(dir, gitopstest.Commit{Files: file, Message: "next"}, gitopstest.Commit{Files: file, Message: "last"},
		gitopstest.Commit{Branch: "side", Files: file, Message: "side"}, gitopstest.Commit{Branch: "orphan", Files: file, Message: "orphan"})
	require.NoError(t, err)
	h.first, h.last, h.side, h.orphan = first[0], rest[1], rest[2], rest[3]
	h.hub.AddRepo("acme/control", githubtest.RepoOptions{Dir: dir, Private: true})
	h.control = h.client(t, nil).Repository("acme", "control")
	return h
}

func TestIsAncestor(t *testing.T) {
	t.Parallel()
	h := withHistory(t)
	for name, test := range map[string]struct {
		ancestor, descendant string
		want                 bool
		fails                string
		kind                 github.Kind
	}{
		"ancestor":    {ancestor: h.first, descendant: h.last, want: true},
		"itself":      {ancestor: h.last, descendant: h.last, want: true},
		"descendant":  {ancestor: h.last, descendant: h.first},
		"branched":    {ancestor: h.side, descendant: h.last},
		"unrelated":   {h.orphan, h.last, false, "the two commits have no history in common", github.Invalid},
		"unknown":     {commit("9"), h.last, false, "compare 999999999999 with " + h.last[:12] + " in acme/control: GitHub does not find both commits (404)", github.NotFound},
		"unknown too": {h.first, commit("9"), false, "GitHub does not find both commits", github.NotFound},
		"a branch":    {h.first, "main", false, `"main" is not a full commit SHA`, github.Invalid},
		"a range":     {h.first + "..." + h.last, h.last, false, "is not a full commit SHA", github.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := h.control.IsAncestor(t.Context(), test.ancestor, test.descendant)
			assert.Equal(t, test.want, got)
			if test.fails == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.fails)
			var failed *github.Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, test.kind, failed.Kind)
			if test.kind == github.NotFound {
				assert.Contains(t, failed.Hint, `one of them was not pushed, or is not visible to the token: the token needs the permission "contents: read"`)
			}
		})
	}
}

func TestIsAncestorAsksForLittle(t *testing.T) {
	t.Parallel()
	h := withHistory(t)
	_, err := h.control.IsAncestor(t.Context(), h.first, h.last)
	require.NoError(t, err)
	requests := h.hub.Requests()
	require.Len(t, requests, 1)
	assert.Equal(t, fmt.Sprintf("GET /repos/acme/control/compare/%s...%s?per_page=1", h.first, h.last), requests[0].String())
}

// TestIsAncestorNeverGuesses: an answer that does not say how they stand is none.
func TestIsAncestorNeverGuesses(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"nothing": `{}`, "a new word": `{"status":"beside"}`, "a web page": `<html>`, "null": `null`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
			_, err := repo.IsAncestor(t.Context(), commit("0"), commit("1"))
			var failed *github.Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, github.Unavailable, failed.Kind)
			assert.NotEmpty(t, failed.Hint)
		})
	}
}
