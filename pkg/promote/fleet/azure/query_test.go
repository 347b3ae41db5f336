package azure

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// kqlLiteral is a text in a query: https://learn.microsoft.com/kusto/query/scalar-data-types/string
var kqlLiteral = regexp.MustCompile(`'(?:[^'\\\r\n]|\\['\\])*'`)

// A value that comes from a repository stays within its quotes, whatever is in it.
func TestS17QueryInjection(t *testing.T) {
	t.Parallel()
	skeleton := func(query string) string { return kqlLiteral.ReplaceAllString(query, "''") }
	harmless, err := queryFor(wanted)
	require.NoError(t, err)
	for _, branch := range []string{
		`dev' or '1'=='1`,
		`dev'|union-resources`,
		`dev'//`,
		`x'or(true)//`,
		`'`, `''`, `'''`, `"`, `"'"`, "```", `@'`, `h'x'`,
		`dev';set-x`, `dev|take-0`, `ünïcode`, `a"b`, `{}`, `$(id)`, `-- dev`,
	} {
		query, err := queryFor(promote.Deployment{Repo: gitOps, Branch: branch})
		if err != nil {
			assert.Contains(t, err.Error(), "cannot query the branch", branch)
			continue
		}
		assert.Equal(t, skeleton(harmless), skeleton(query), branch)
		literals := kqlLiteral.FindAllString(query, -1)
		got := literals[1]
		assert.Equal(t, branch, strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(got[1:len(got)-1]))
	}
	for _, repo := range []string{
		"https://github.com/acme/gitops'", "https://github.com/ac'me/gitops", "https://github.com/acme/gitops%27or1",
		"https://github.com/acme/x|y/gitops", "https://github.com/acme/[x]/gitops", `https://github.com/"acme"/acme/gitops`,
		"/srv/acme/gi'tops/gitops",
	} {
		query, err := queryFor(promote.Deployment{Repo: repo, Branch: "dev"})
		require.NoError(t, err, repo)
		assert.NotContains(t, skeleton(query), "'or", repo)
		for _, literal := range kqlLiteral.FindAllString(query, -1) {
			assert.Regexp(t, `^'[a-zA-Z0-9./_-]+'$`, literal, "of a URL only plain words are asked for")
		}
	}
}

func TestS17QueryRefused(t *testing.T) {
	t.Parallel()
	for _, wanted := range []promote.Deployment{
		{Repo: gitOps, Branch: ""},
		{Repo: gitOps, Branch: "-x"},
		{Repo: gitOps, Branch: `dev\`},
		{Repo: gitOps, Branch: `dev\' or 1==1 //`},
		{Repo: gitOps, Branch: "dev\n| union resources"},
		{Repo: gitOps, Branch: "dev\u2028x"},
		{Repo: gitOps, Branch: "dev\u202ex"},
		{Repo: gitOps, Branch: "dev\xff"},
		{Repo: gitOps, Branch: "dev\x00"},
		{Repo: gitOps, Branch: strings.Repeat("x", 1025)},
		{Repo: "", Branch: "dev"},
		{Repo: "https://github.com/acme/gitops' or 1==1", Branch: "dev"},
		{Repo: "https://github.com/acme\n/gitops", Branch: "dev"},
		{Repo: "ext::sh -c id", Branch: "dev"},
	} {
		server := newStandIn(t, func(int, question) answer { return data(0, "") })
		_, err := server.fleet(t, "", nil).Query(t.Context(), wanted)
		fault := faultIn(t, err)
		assert.False(t, fault.Temporary)
		assert.Contains(t, fault.Message, "cannot query the ")
		assert.Empty(t, server.asked)
	}
}

// All spellings of the repository are ours; other repositories and branches are not, though the words are there.
func TestS17OnlyThisRepositoryAndBranch(t *testing.T) {
	t.Parallel()
	for repo, ours := range map[string]bool{
		gitOps:                                  true,
		gitOps + ".git":                         true,
		gitOps + "/":                            true,
		"https://GitHub.com/Acme/GitOps":        true,
		"https://me@github.com/acme/gitops.git": true,
		"https://me:password@github.com/acme/gitops":  true,
		"https://ghp_abc@github.com/acme/gitops":      true,
		"ssh://git@github.com/acme/gitops":            true,
		"ssh://git@github.com:22/acme/gitops.git":     true,
		"git@github.com:acme/gitops.git":              true,
		" " + gitOps + " ":                            true,
		"https://github.com/acme/gitops-2":            false,
		"https://github.com/acme/x/gitops":            false,
		"https://github.com/gitops/acme":              false,
		"https://gitlab.com/acme/gitops":              false,
		"https://github.com.evil.example/acme/gitops": false,
		"https://github.com@evil.example/acme/gitops": false,
		"https://evil.example/github.com/acme/gitops": false,
		"ssh://git@github.com:2222/acme/gitops":       false,
		"http://github.com/acme/gitops":               false,
		"not a URL/acme/gitops":                       false,
	} {
		seen, is, err := rowOf(t, compliant(t, "edge-1", "repository", repo)).read(wanted)
		require.NoError(t, err, repo)
		assert.Equal(t, ours, is, repo)
		assert.Equal(t, ours, seen != clusterStatus{}, repo)
		if ours {
			assert.True(t, containsWords(repo), "%s is asked for", repo)
		}
	}
	for branch, ours := range map[string]bool{"dev": true, "Dev": false, "dev" + " ": false, "refs/heads/dev": false, "dev-2": false} {
		_, is, err := rowOf(t, compliant(t, "edge-1", "branch", branch)).read(wanted)
		require.NoError(t, err, branch)
		assert.Equal(t, ours, is, branch)
	}
}

// containsWords is what the query asks of a URL.
func containsWords(repo string) bool {
	for _, word := range wordsOf(gitOps) {
		if !strings.Contains(strings.ToLower(repo), word) {
			return false
		}
	}
	return true
}

func TestWords(t *testing.T) {
	t.Parallel()
	for repo, want := range map[string][]string{
		gitOps: {"acme", "gitops"},
		"https://dev.azure.com/org/project/_git/gitops": {"org", "project", "gitops"},
		"https://dev.azure.com/org/a%20b/_git/gitops":   {"org", "gitops"},
		"ssh://example.com:2222/~me/gitops":             {"gitops"},
		"https://example.com/%C3%BC":                    nil,
		"/srv/git/gitops":                               {"srv", "git", "gitops"},
	} {
		assert.Equal(t, want, wordsOf(repo), repo)
	}
	_, ours, err := rowOf(t, compliant(t, "x", "repository", "git@ssh.dev.azure.com:v3/org/project/gitops")).read(promote.Deployment{Repo: "https://dev.azure.com/org/project/_git/gitops", Branch: "dev", Path: "."})
	require.NoError(t, err)
	assert.True(t, ours)
}

// The same commit on another branch, and another commit on this one, are told as they are: it is not for this package
// to say that they will do.
func TestS17CommitIsTold(t *testing.T) {
	t.Parallel()
	for revision, want := range map[string]string{
		"dev@sha1:" + oldCommit:        oldCommit,
		"main@sha1:" + wantCommit:      wantCommit,
		"dev@sha1:" + wantCommit[:39]:  "",
		"dev@sha1:" + wantCommit + "'": "",
	} {
		seen, ours, err := rowOf(t, compliant(t, "edge-1", "revision", revision)).read(wanted)
		require.NoError(t, err)
		assert.True(t, ours)
		assert.Equal(t, want, seen.Commit)
		assert.Equal(t, want == wantCommit, seen.State == promote.Compliant, revision)
	}
}
