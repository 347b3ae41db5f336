package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// graph adds commits to a branch of a bare repository: each with the parents that are given by their numbers, and
// the last one as tip. It returns their ids.
func graph(t testing.TB, dir, branch string, parents [][]int) []string {
	t.Helper()
	var stream bytes.Buffer
	for i, of := range parents {
		fmt.Fprintf(&stream, "commit refs/heads/%s\nmark :%d\ncommitter Test <test@example.com> %d +0000\ndata %d\n%s\n", branch, i+1, 1_700_000_000+i, len(branch), branch)
		for n, parent := range of {
			fmt.Fprintf(&stream, "%s :%d\n", []string{"from", "merge"}[min(n, 1)], parent+1)
		}
		fmt.Fprintf(&stream, "M 100644 inline f%d\ndata 1\nx\n\n", i)
		if i+1 < len(parents) && len(parents[i+1]) == 0 {
			fmt.Fprintf(&stream, "reset refs/heads/%s\n\n", branch)
		}
	}
	marks := filepath.Join(t.TempDir(), "marks")
	cmd := exec.Command("git", "fast-import", "--quiet", "--force", "--export-marks="+marks)
	cmd.Dir, cmd.Stdin = dir, &stream
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	data, err := os.ReadFile(marks)
	require.NoError(t, err)
	ids := make([]string, len(parents))
	for line := range strings.Lines(string(data)) {
		var mark int
		var id string
		_, err := fmt.Sscanf(line, ":%d %s", &mark, &id)
		require.NoError(t, err)
		ids[mark-1] = id
	}
	return ids
}

// mesh are the parents of n commits with merges, which the last one has all.
func mesh(random *rand.Rand, n int) [][]int {
	parents := make([][]int, n)
	for i := 1; i < n; i++ {
		for range 1 + random.IntN(3) {
			if parent := max(0, i-1-random.IntN(4)); !slices.Contains(parents[i], parent) {
				parents[i] = append(parents[i], parent)
			}
		}
	}
	for i := range n - 1 {
		if !slices.Contains(parents[n-1], i) {
			parents[n-1] = append(parents[n-1], i)
		}
	}
	return parents
}

// compared answers as an API that compares commits does.
type compared struct {
	dir   string
	asked int
	err   error
}

func (c *compared) IsAncestor(_ context.Context, ancestor, descendant string) (bool, error) {
	c.asked++
	if c.err != nil {
		return false, c.err
	}
	return isAncestor(c.dir, ancestor, descendant)
}

// isAncestor asks git.
func isAncestor(dir, ancestor, descendant string) (bool, error) {
	_, err := gitopstest.Git(dir, "merge-base", "--is-ancestor", ancestor, descendant)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// relationByGit is what Relation should say. Git has listed the commits that each commit contains.
func relationByGit(contained map[string][]string, a, b string) gitobject.Relation {
	switch {
	case a == b:
		return gitobject.Same
	case slices.Contains(contained[b], a):
		return gitobject.Newer
	case slices.Contains(contained[a], b):
		return gitobject.Older
	default:
		return gitobject.Apart
	}
}

// openHistory reads the history of main.
func openHistory(t *testing.T, repo string, other Ancestry) *History {
	t.Helper()
	h, err := newReader(t, Options{}).History(t.Context(), model.Ref{Repo: repo, Branch: "main"}, other)
	require.NoError(t, err)
	return h
}

func relation(t *testing.T, h *History, a, b string) gitobject.Relation {
	t.Helper()
	found, err := h.Relation(t.Context(), a, b)
	require.NoError(t, err)
	return found
}

// TestRelationByGit compares random histories with what git says of them, by all ways to read one.
func TestRelationByGit(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	random := rand.New(rand.NewPCG(1, 2))
	url, _ := server.Add("repo")
	dir := server.Dir("repo")
	ids := graph(t, dir, "main", mesh(random, 14))
	lost := graph(t, dir, "gone", [][]int{nil})[0]
	clone := filepath.Join(t.TempDir(), "clone")
	require.NoError(t, gitopstest.Clone(dir, clone))
	gitopstest.RunGit(t, clone, "checkout", "--quiet", "--detach")
	gitopstest.RunGit(t, clone, "branch", "-D", "main")

	ways := map[string]*History{"bare": openHistory(t, dir, nil), "clone": openHistory(t, clone, nil), "filter": openHistory(t, url, nil)}
	server.Configure("repo", "uploadpack.allowFilter", "false")
	server.Configure("repo", "uploadpack.allowAnySHA1InWant", "false")
	api := &compared{dir: dir}
	ways["no filter"], ways["API"] = openHistory(t, url, nil), openHistory(t, url, api)
	for name, h := range ways {
		assert.Equal(t, "main", h.Branch(), name)
		assert.Equal(t, ids[13], h.Tip(), name)
		assert.Equal(t, gitobject.Unknown, relation(t, h, ids[3], lost), name)
		assert.Equal(t, gitobject.Unknown, relation(t, h, lost, ids[13]), name)
		assert.Equal(t, gitobject.Same, relation(t, h, lost, lost), name)
		has, err := h.Has(t.Context(), lost)
		require.NoError(t, err)
		assert.False(t, has, name)
	}
	contained := map[string][]string{}
	for _, id := range ids {
		contained[id] = strings.Fields(gitopstest.RunGit(t, dir, "rev-list", id))
	}
	for _, a := range ids {
		for _, b := range ids {
			want := relationByGit(contained, a, b)
			for name, h := range ways {
				if name != "API" || random.IntN(10) == 0 {
					require.Equal(t, want, relation(t, h, a, b), "%s: %s and %s", name, a, b)
				}
			}
		}
	}
	assert.Positive(t, api.asked)
	assert.Nil(t, ways["API"].graph, "nothing was fetched")
}

// TestHistoryTakesCommitsAlone: with a filter nothing else is sent, and without one nothing else is kept.
func TestHistoryTakesCommitsAlone(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, ids, _ := history(t, server, "repo")
	for _, setting := range []string{"true", "false"} {
		server.Configure("repo", "uploadpack.allowFilter", setting)
		r := newReader(t, Options{})
		h, err := r.History(t.Context(), model.Ref{Repo: url}, nil)
		require.NoError(t, err)
		tip := plumbing.NewHash(h.Tip())
		_, err = h.source.TreesAt(tip).Tree(plumbing.NewHash(gitopstest.RunGit(t, server.Dir("repo"), "rev-parse", h.Tip()+"^{tree}")))
		require.ErrorContains(t, err, "omitted")
		assert.Len(t, h.graph, 5)
		assert.Equal(t, "main", h.Branch())
		assert.Equal(t, gitobject.Newer, relation(t, h, ids[0], ids[4]))
	}
}

// TestHistoryFilterRefused: a server may offer to filter, and then not do it.
func TestHistoryFilterRefused(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, ids, lost := history(t, server, "repo")
	server.Configure("repo", "uploadpackfilter.tree.allow", "false")
	h := openHistory(t, url, nil)
	assert.Equal(t, gitobject.Older, relation(t, h, ids[4], ids[1]))
	api := &compared{dir: server.Dir("repo")}
	h = openHistory(t, url, api)
	assert.Equal(t, gitobject.Older, relation(t, h, ids[4], ids[1]))
	assert.Nil(t, h.graph)
	assert.Positive(t, api.asked)
	api.err = errors.New("rate limit")
	assert.Equal(t, gitobject.Unknown, relation(t, h, ids[4], lost), "then the history is read")
	assert.NotNil(t, h.graph)
}

func TestResolve(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, ids, lost := history(t, server, "repo")
	for _, filter := range []string{"true", "false"} {
		server.Configure("repo", "uploadpack.allowFilter", filter)
		for _, other := range []Ancestry{nil, &compared{dir: server.Dir("repo")}} {
			h := openHistory(t, url, other)
			for _, text := range []string{ids[2], ids[2][:7], ids[2][:8], strings.ToUpper(ids[2]), " " + ids[2][:11] + "\n"} {
				id, err := h.Resolve(t.Context(), text)
				require.NoError(t, err)
				assert.Equal(t, ids[2], id)
			}
			for _, text := range []string{"main", "HEAD", "@", "heads/main", "refs/heads/main", "main^{}", "main^{commit}"} {
				id, err := h.Resolve(t.Context(), text)
				require.NoError(t, err, text)
				assert.Equal(t, h.Tip(), id)
			}
			for text, want := range map[string]string{
				ids[2][:6]:      `revision "` + ids[2][:6] + `" not found in `,
				"":              `revision "" not found in `,
				ids[2] + "0":    `revision "` + ids[2] + `0" not found in `,
				"main~9":        `revision "main~9" not found in `,
				lost:            "commit " + lost + ` not found on branch "main" of `,
				lost[:10]:       "commit " + lost[:10] + ` not found on branch "main" of `,
				"zzzzzzz":       `revision "zzzzzzz" not found in `,
				"deadbeefdead0": `commit deadbeefdead0 not found on branch "main" of `,
			} {
				_, err := h.Resolve(t.Context(), text)
				var known *giterror.Error
				require.ErrorAs(t, err, &known, text)
				assert.Contains(t, known.Message, want)
				rule := giterror.RuleCommitNotFound
				if text != "main~9" && strings.HasPrefix(want, "revision") {
					rule = giterror.RuleBranchNotFound
				}
				assert.Equal(t, rule, known.Rule)
				assert.NotEmpty(t, known.Hint)
			}
		}
	}
}

// TestRefresh follows a branch that moves on, is forced back, and is forced to something else.
func TestRefresh(t *testing.T) {
	t.Parallel()
	for _, filter := range []string{"true", "false"} {
		server := gitopstest.NewServer(t)
		url, ids, lost := history(t, server, "repo")
		dir := server.Dir("repo")
		server.Configure("repo", "uploadpack.allowFilter", filter)
		clone := filepath.Join(t.TempDir(), "clone")
		require.NoError(t, gitopstest.Clone(dir, clone))
		for name, repo := range map[string]string{"http": url, "bare": dir, "clone": clone} {
			h := openHistory(t, repo, nil)
			point := func(id string) {
				gitopstest.RunGit(t, dir, "update-ref", "refs/heads/main", id)
				if repo == clone {
					gitopstest.RunGit(t, clone, "fetch", "--quiet", "--force", "--update-head-ok", "origin", "main:main")
				}
				require.NoError(t, h.Refresh(t.Context()), name)
				assert.Equal(t, id, h.Tip())
			}
			next := gitopstest.RunGit(t, dir, "commit-tree", ids[4]+"^{tree}", "-p", ids[4], "-m", "next "+name+filter)
			assert.Equal(t, gitobject.Unknown, relation(t, h, ids[4], next), name)
			require.NoError(t, h.Refresh(t.Context()))
			before := len(server.Requests())
			point(next)
			if name == "http" {
				assert.Len(t, server.Requests(), before+2)
			}
			assert.Equal(t, gitobject.Newer, relation(t, h, ids[4], next), name)
			assert.Len(t, h.graph, 6)
			point(ids[2])
			assert.Equal(t, gitobject.Unknown, relation(t, h, ids[2], next), "it is not on the branch any more")
			assert.Equal(t, gitobject.Older, relation(t, h, ids[2], ids[1]))
			point(lost)
			assert.Equal(t, gitobject.Unknown, relation(t, h, ids[2], lost))
			point(next)
			assert.Equal(t, gitobject.Newer, relation(t, h, ids[4], next), name)
			point(ids[4])
		}
		h := openHistory(t, dir, nil)
		gitopstest.RunGit(t, dir, "update-ref", "-d", "refs/heads/main")
		err := h.Refresh(t.Context())
		var known *giterror.Error
		require.ErrorAs(t, err, &known)
		assert.Equal(t, giterror.RuleBranchNotFound, known.Rule)
		assert.Equal(t, gitobject.Newer, relation(t, h, ids[2], ids[4]), "what was known stays")
	}
}

// TestRefreshFetchesOnlyWhatIsNew counts the commits that arrive.
func TestRefreshFetchesOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, ids, _ := history(t, server, "repo")
	for _, filter := range []string{"true", "false"} {
		server.Configure("repo", "uploadpack.allowFilter", filter)
		h := openHistory(t, url, nil)
		next := gitopstest.RunGit(t, server.Dir("repo"), "commit-tree", ids[4]+"^{tree}", "-p", ids[4], "-m", "next")
		gitopstest.RunGit(t, server.Dir("repo"), "update-ref", "refs/heads/main", next)
		links, err := h.source.Trace(t.Context(), gitobject.Range{Tip: plumbing.NewHash(next), Since: h.tip, Known: h.graph}, false)
		require.NoError(t, err)
		assert.Len(t, links, 1)
		gitopstest.RunGit(t, server.Dir("repo"), "update-ref", "refs/heads/main", ids[4])
	}
}

// TestTrace: what a branch does not have is the same wherever the repository is.
func TestTrace(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _ := server.Add("repo")
	// 0 - 1 - 2 and 0 - 3, merged as 4.
	ids := graph(t, server.Dir("repo"), "main", [][]int{nil, {0}, {1}, {0}, {2, 3}})
	id := func(i int) (id plumbing.Hash) {
		if i >= 0 {
			id = plumbing.NewHash(ids[i])
		}
		return id
	}
	for _, filter := range []string{"true", "false"} {
		server.Configure("repo", "uploadpack.allowFilter", filter)
		for _, from := range []string{url, server.Dir("repo")} {
			r := newReader(t, Options{})
			at, err := r.Locate(model.Ref{Repo: from})
			require.NoError(t, err)
			repo, err := r.Repository(t.Context(), at, model.Output)
			require.NoError(t, err)
			for _, tc := range []struct {
				tip, branch int
				want        []int
			}{{4, 1, []int{2, 3, 4}}, {1, 4, nil}, {4, 4, nil}, {3, 2, []int{3}}, {1, -1, []int{0, 1}}} {
				found, err := repo.Trace(t.Context(), gitobject.Range{Tip: id(tc.tip), Since: id(tc.branch)}, false)
				require.NoError(t, err)
				var want []plumbing.Hash
				for _, i := range tc.want {
					want = append(want, id(i))
				}
				assert.ElementsMatch(t, want, slices.Collect(maps.Keys(found)), "%d without %d from %s, filter %s", tc.tip, tc.branch, from, filter)
			}
		}
	}
}

// TestShallowHistory: what cannot be said of a shallow clone is not guessed.
func TestShallowHistory(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	server.Add("repo")
	dir := server.Dir("repo")
	// 0 - 1 - 2 - 3 - 4 and 0 - 5, merged as 6.
	ids := graph(t, dir, "main", [][]int{nil, {0}, {1}, {2}, {3}, {0}, {4, 5}})
	clone := filepath.Join(t.TempDir(), "clone")
	_, err := gitopstest.Git("", "clone", "--quiet", "--depth=3", "file://"+dir, clone)
	require.NoError(t, err)
	h := openHistory(t, clone, nil)
	assert.Equal(t, gitobject.Newer, relation(t, h, ids[3], ids[6]))
	assert.Equal(t, gitobject.Older, relation(t, h, ids[6], ids[5]))
	id, err := h.Resolve(t.Context(), ids[4][:9])
	require.NoError(t, err)
	assert.Equal(t, ids[4], id)
	for name, ask := range map[string]func() error{
		"apart or not":         func() error { _, err := h.Relation(t.Context(), ids[3], ids[5]); return err },
		"on the branch or not": func() error { _, err := h.Has(t.Context(), ids[1]); return err },
		"there or not":         func() error { _, err := h.Relation(t.Context(), ids[1], ids[6]); return err },
		"which":                func() error { _, err := h.Resolve(t.Context(), ids[1][:8]); return err },
	} {
		var known *giterror.Error
		require.ErrorAs(t, ask(), &known, name)
		assert.Equal(t, RuleCutHistory, known.Rule, name)
		assert.Contains(t, known.Message, "cannot determine", name)
		assert.Contains(t, known.Hint, "git fetch --unshallow", name)
	}
	gitopstest.RunGit(t, clone, "fetch", "--quiet", "--unshallow")
	assert.Equal(t, gitobject.Apart, relation(t, openHistory(t, clone, nil), ids[3], ids[5]))

	shallow := gitopstest.NewServer(t)
	_, err = gitopstest.Git("", "clone", "--quiet", "--bare", "--depth=3", "file://"+dir, shallow.Dir("repo"))
	require.NoError(t, err)
	_, err = openHistory(t, shallow.URL+"/repo.git", nil).Has(t.Context(), ids[1])
	var known *giterror.Error
	require.ErrorAs(t, err, &known)
	assert.Equal(t, RuleCutHistory, known.Rule)
	assert.Contains(t, known.Hint, "use one with the full history")
}

func TestNoHistory(t *testing.T) {
	t.Parallel()
	r := newReader(t, Options{})
	_, err := r.History(t.Context(), model.Ref{Repo: t.TempDir(), Branch: "main"}, nil)
	var known *giterror.Error
	require.ErrorAs(t, err, &known)
	assert.Contains(t, known.Message, "is a plain directory, which has no history")
	assert.NotEmpty(t, known.Hint)
	dir, ids := gitopstest.NewBare(t, gitopstest.Commit{Files: gitopstest.Shop()})
	_, err = r.History(t.Context(), model.Ref{Repo: dir, Branch: "mian"}, nil)
	require.ErrorContains(t, err, `branch "mian" not found in `)
	h := openHistory(t, dir, nil)
	for _, commit := range []string{"", ids[0][:10], "main"} {
		_, err := h.Relation(t.Context(), ids[0], commit)
		require.ErrorContains(t, err, "is not a full commit SHA")
	}
}

// TestHistoryOfSilentServer: nothing is waited for longer than the caller wants to.
func TestHistoryOfSilentServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := gitopstest.NewServer(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				_, _ = io.Copy(io.Discard, r.Body) // only then is it noticed that the client leaves
				cancel()
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	url, _ := server.Add("repo", gitopstest.Commit{Files: gitopstest.Shop()})
	_, err := newReader(t, Options{}).History(ctx, model.Ref{Repo: url, Branch: "main"}, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "was interrupted")
}

func TestHistoryOverSSH(t *testing.T) {
	server, dir, ids := sshRepo(t)
	for _, setting := range []string{"true", "false"} {
		gitopstest.RunGit(t, dir, "config", "uploadpack.allowAnySHA1InWant", setting)
		gitopstest.RunGit(t, dir, "config", "uploadpack.allowFilter", setting)
		h := openHistory(t, server.URL+"/acme/shop.git", nil)
		assert.Equal(t, gitobject.Newer, relation(t, h, ids[0], ids[1]))
		next := gitopstest.RunGit(t, dir, "commit-tree", ids[1]+"^{tree}", "-p", ids[1], "-m", "next"+setting)
		gitopstest.RunGit(t, dir, "update-ref", "refs/heads/main", next)
		require.NoError(t, h.Refresh(t.Context()))
		assert.Equal(t, gitobject.Newer, relation(t, h, ids[1], next))
		gitopstest.RunGit(t, dir, "update-ref", "refs/heads/main", ids[1])
	}
}

// TestResolveWhatWasJustPushed: a commit that was pushed after the branch was read is found, by full or short id.
func TestResolveWhatWasJustPushed(t *testing.T) {
	t.Parallel()
	for _, digits := range []int{40, 10} {
		server := gitopstest.NewServer(t)
		url, ids, _ := history(t, server, "repo")
		h := openHistory(t, url, nil)
		_, err := h.Resolve(t.Context(), ids[0])
		require.NoError(t, err)
		next := gitopstest.RunGit(t, server.Dir("repo"), "commit-tree", ids[4]+"^{tree}", "-p", ids[4], "-m", "next")
		gitopstest.RunGit(t, server.Dir("repo"), "update-ref", "refs/heads/main", next)
		got, err := h.Resolve(t.Context(), next[:digits])
		require.NoError(t, err)
		assert.Equal(t, next, got)
	}
}
