package gitops

import (
	"context"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// press is a GitOps repository with the branch dev, and what publishes to it.
type press struct {
	t *testing.T
	// dir is the bare repository, url how it is reached.
	dir, url string
	options  PublishOptions
	path     string
	forge    pullrequest.Forge
	// meanwhile is called after everything was read and before it is published.
	meanwhile func()
	reader    remote.Options
	// published makes git check the repository at the end of the test.
	published bool
}

func newPress(t *testing.T, files gitopstest.Files) *press {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "gitops.git")
	_, err := gitopstest.Bare(dir, gitopstest.Commit{Branch: "dev", Files: files})
	require.NoError(t, err)
	p := &press{t: t, dir: dir, url: dir, path: ".", options: PublishOptions{Author: gitobject.Identity{Name: "Kalypso", Email: "kalypso@example.com"}}}
	t.Cleanup(func() {
		if p.published {
			p.git("fsck", "--strict", "--no-dangling")
		}
	})
	return p
}

func (p *press) git(args ...string) string {
	p.t.Helper()
	out, err := gitopstest.Git(p.dir, args...)
	require.NoError(p.t, err)
	return strings.TrimSpace(out)
}

// commit adds a commit to a branch as somebody else would.
func (p *press) commit(branch string, files gitopstest.Files, message string) string {
	p.t.Helper()
	ids, err := gitopstest.Add(p.dir, gitopstest.Commit{Branch: branch, Files: files, Message: message})
	require.NoError(p.t, err)
	return ids[0]
}

// found is a commit: by its id, the tip of a branch, or a parent of one, as in "dev^".
func (p *press) found(revision string) gitopstest.Found {
	p.t.Helper()
	commit, err := gitopstest.FindCommit(p.dir, revision)
	require.NoError(p.t, err)
	return commit
}

// read returns what is on a branch.
func (p *press) read(branch string) gitopstest.Files {
	p.t.Helper()
	files, err := gitopstest.Read(p.dir, branch)
	require.NoError(p.t, err)
	return files
}

// files lists what is on a branch.
func (p *press) files(branch string) []string {
	p.t.Helper()
	return slices.Sorted(maps.Keys(p.read(branch)))
}

// content is a file of a branch, without the space around it.
func (p *press) content(branch, name string) string {
	p.t.Helper()
	content, ok := p.read(branch)[name]
	require.True(p.t, ok, "%s has no %s", branch, name)
	return strings.TrimSpace(content)
}

// merge merges the deployment branch as a person would.
func (p *press) merge(branch, into string) string {
	p.t.Helper()
	tree := strings.Fields(p.git("merge-tree", "--write-tree", into, branch))[0]
	id := p.git("commit-tree", tree, "-p", into, "-p", branch, "-m", "Merge "+branch)
	p.git("update-ref", "refs/heads/"+into, id)
	return id
}

// publication reads everything that publishing a tree needs.
func (p *press) publication(tree *render.Tree) *Publication {
	p.t.Helper()
	reader, err := remote.NewReader(p.reader)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = reader.Close() })
	repo := &model.GitOpsRepo{}
	repo.Name.Value, repo.Repo.Value, repo.Branch.Value, repo.Path.Value = "dev", p.url, "dev", p.path
	ctx := p.t.Context()
	destination := openDestination(ctx, reader, repo, "")
	require.Empty(p.t, destination.Diags)
	reader.Snapshot()
	output := ReadOutput(ctx, reader, repo)
	if !output.New {
		require.Empty(p.t, output.Diags)
	}
	change, err := change.Compare(ctx, output.Tree, tree)
	require.NoError(p.t, err)
	return &Publication{
		Destination: destination, Output: output, Tree: tree, Change: change, Dates: source.Dates{Platform: time.Unix(1_700_000_500, 0)}, PublishOptions: p.options, Forge: p.forge,
		Report: message.Report{Environment: "dev", Change: change, Now: message.Provenance{Version: "v1", Environment: "dev"}},
	}
}

func (p *press) try(files ...string) (Published, error) {
	p.t.Helper()
	publication := p.publication(gitopstest.Tree(files...))
	if p.meanwhile != nil {
		p.meanwhile()
	}
	return publication.Publish(p.t.Context())
}

func (p *press) publish(files ...string) Published {
	p.t.Helper()
	published, err := p.try(files...)
	require.NoError(p.t, err)
	p.published = true
	return published
}

// target are the files of a deployment target.
func target(folder, content string) []string {
	return []string{folder + "/namespace.yaml=kind: Namespace\n", folder + "/reconciler.yaml=" + content}
}

func twoTargets(content string) []string {
	return append(append([]string{"edge/" + gitopstest.Readme}, target("edge/a", content)...), target("edge/b", "b: 1\n")...)
}

// byAllWays runs a test for each way to reach a repository. Of SSH, which differs from HTTP in the connection alone, make
// test has those in which branches come, go and move, and make ci-full all.
func byAllWays(t *testing.T, test func(t *testing.T, p *press)) {
	few := []string{"TestPublish", "TestPublishMoved", "TestPublishNewBranch", "TestBranchCommit", "TestBranchPropose", "TestBranchMoved", "TestBranchIsReadAnew"}
	top, _, _ := strings.Cut(t.Name(), "/")
	ways := map[string]func(t *testing.T, p *press){
		"path": func(*testing.T, *press) {},
		"http": func(t *testing.T, p *press) {
			handler, err := gitopstest.Handler(filepath.Dir(p.dir))
			require.NoError(t, err)
			server := gitopstest.NewServer(t, func(http.Handler) http.Handler { return gitopstest.BasicAuth("secret-token", handler) })
			p.url = server.URL + "/gitops.git"
			p.reader.Env = func(name string) string {
				return map[string]string{credentials.EnvGitOps: "secret-token", credentials.EnvControlPlane: "secret-token", credentials.EnvTokenHosts: server.URL[len("http://"):]}[name]
			}
		},
		"ssh": func(t *testing.T, p *press) {
			server := gitopstest.NewSSHServer(t, filepath.Dir(p.dir))
			t.Setenv("SSH_AUTH_SOCK", server.AgentSocket)
			t.Setenv("SSH_KNOWN_HOSTS", server.KnownHosts)
			p.url = server.URL + "/gitops.git"
		},
	}
	for name, way := range ways {
		if name == "ssh" && !slices.Contains(few, top) && os.Getenv("KALYPSO_WHOLE_MATRIX") == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := newPress(t, gitopstest.Files{"docs/notes.md": "Somebody wrote this.\n"})
			way(t, p)
			test(t, p)
		})
	}
}

func TestPublish(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		first := p.publish(twoTargets("a: 1\n")...)
		assert.True(t, first.Pushed)
		assert.Equal(t, "deployment/dev", first.Branch)
		assert.Equal(t, p.found("deployment/dev").ID, first.Commit)
		assert.Equal(t, []string{
			"docs/notes.md", "edge/README.md", "edge/a/namespace.yaml", "edge/a/reconciler.yaml",
			"edge/b/namespace.yaml", "edge/b/reconciler.yaml",
		}, p.files("deployment/dev"))
		assert.Equal(t, "1", p.git("rev-list", "--count", "dev..deployment/dev"))
		assert.Equal(t, "Kalypso <kalypso@example.com> 1700000500", p.git("log", "-1", "--format=%an <%ae> %ct", "deployment/dev"))

		again := p.publish(twoTargets("a: 1\n")...)
		assert.False(t, again.Pushed, "nothing is new")
		assert.Equal(t, first.Commit, again.Commit)

		changed := p.publish(twoTargets("a: 2\n")...)
		assert.True(t, changed.Pushed)
		assert.Equal(t, "1", p.git("rev-list", "--count", "dev..deployment/dev"), "one commit on top of the GitOps branch")
		assert.Equal(t, "a: 2", p.content("deployment/dev", "edge/a/reconciler.yaml"))

		p.merge("deployment/dev", "dev")
		merged := p.publish(twoTargets("a: 2\n")...)
		assert.Empty(t, merged.Commit, "up to date")

		less := p.publish(append([]string{"edge/" + gitopstest.Readme}, target("edge/b", "b: 1\n")...)...)
		assert.True(t, less.Pushed)
		assert.Equal(t, []string{"docs/notes.md", "edge/README.md", "edge/b/namespace.yaml", "edge/b/reconciler.yaml"}, p.files("deployment/dev"))
	})
}

// TestPublishSameCommit: the same input gives the same commit, whoever makes it.
func TestPublishSameCommit(t *testing.T) {
	t.Parallel()
	a, b := newPress(t, gitopstest.Files{"x": "1"}), newPress(t, gitopstest.Files{"x": "1"})
	assert.Equal(t, a.publish(twoTargets("a: 1\n")...).Commit, b.publish(twoTargets("a: 1\n")...).Commit)
}

func TestPublishDirect(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"x": "1"})
	p.options.Direct = true
	done := p.publish(twoTargets("a: 1\n")...)
	assert.Equal(t, "dev", done.Branch)
	assert.Equal(t, done.Commit, p.found("dev").ID)
	assert.Equal(t, "dev", p.git("branch", "--format=%(refname:short)"))
	assert.Empty(t, p.publish(twoTargets("a: 1\n")...).Commit)
}

func TestPublishNewBranch(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		p.git("update-ref", "-d", "refs/heads/dev")
		_, err := p.try(twoTargets("a: 1\n")...)
		require.ErrorContains(t, err, `branch "dev" to publish to not found in `)
		p.options.CreateBranch = true
		p.publish(twoTargets("a: 1\n")...)
		assert.Empty(t, p.files("dev"))
		assert.Equal(t, "1", p.git("rev-list", "--count", "dev..deployment/dev"))
		assert.Len(t, p.files("deployment/dev"), 5)
	})
}

func TestPublishBelowPath(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"x": "1", "clusters/eu/keep.md": "k"})
	p.path = "clusters/eu"
	done := p.publish(append([]string{".github/tracking/Promoted_Commit_Id=abc"}, twoTargets("a: 1\n")...)...)
	assert.Equal(t, "deployment/dev.clusters-eu", done.Branch)
	assert.Equal(t, []string{
		"clusters/eu/.github/tracking/Promoted_Commit_Id", "clusters/eu/edge/README.md", "clusters/eu/edge/a/namespace.yaml",
		"clusters/eu/edge/a/reconciler.yaml", "clusters/eu/edge/b/namespace.yaml", "clusters/eu/edge/b/reconciler.yaml",
		"clusters/eu/keep.md", "x",
	}, p.files(done.Branch))
}

func TestPublishPathMoved(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"edge/README.md": render.Readme, "edge/a/reconciler.yaml": "a", "edge/a/namespace.yaml": "n"})
	p.path = "clusters"
	_, err := p.try(twoTargets("a: 1\n")...)
	require.ErrorContains(t, err, `1 published target at the root of branch "dev", and nothing below the path "clusters"`)
}

func TestPublishForeignCommits(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		p.publish(twoTargets("a: 1\n")...)
		foreign := p.commit("deployment/dev", gitopstest.Files{"mine": "1"}, "A fix by hand\n\nMore.")
		_, err := p.try(twoTargets("a: 2\n")...)
		require.ErrorContains(t, err, foreign[:12]+` "A fix by hand" by Test`)
		assert.Equal(t, foreign, p.found("deployment/dev").ID)
		p.options.Force = true
		p.publish(twoTargets("a: 2\n")...)
		assert.Equal(t, "1", p.git("rev-list", "--count", "dev..deployment/dev"))
	})
}

// TestPublishOverAnotherEnvironment: with a wrong --branch, what production pulls would be ours to replace.
func TestPublishOverAnotherEnvironment(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"x": "1"})
	p.git("branch", "prod", "dev")
	message := "Promote 1234567 to prod\n\nKalypso-Version: v1\nKalypso-Environment: prod\n"
	prod := p.commit("prod", gitopstest.Files{"y": "1"}, message)
	publication := p.publication(gitopstest.Tree(twoTargets("a: 1\n")...))
	publication.Head = "prod"
	_, err := publication.Publish(t.Context())
	require.ErrorContains(t, err, `kalypso did not make for this environment: `+prod[:12]+` "Promote 1234567 to prod"`)
	assert.Equal(t, prod, p.found("prod").ID)
}

// TestDeploymentBranchIsOnlyThat: neither the GitOps branch, which would do without a pull request, nor one that
// something else is pushed to.
func TestDeploymentBranchIsOnlyThat(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"x": "1"})
	reader, err := remote.NewReader(remote.Options{})
	require.NoError(t, err)
	open := func(path, head string) *Destination {
		repo := &model.GitOpsRepo{}
		repo.Name.Value, repo.Repo.Value, repo.Branch.Value, repo.Path.Value = "to "+path, p.url, "dev", path
		return openDestination(t.Context(), reader, repo, head)
	}
	itself := open(".", "dev")
	require.Len(t, itself.Diags, 1)
	assert.Contains(t, itself.Diags[0].Message, `"dev" is the GitOps branch, so it cannot`)
	assert.Contains(t, itself.Diags[0].Hint, "--direct")

	for _, heads := range [][2]string{{"next", "next"}, {"", ""}} {
		first, same, other := open("a/b", heads[0]), open("./a/b/", heads[0]), open("a-b", heads[1])
		refuseShared([]*Destination{first, same, other})
		assert.Empty(t, first.Diags)
		assert.Empty(t, same.Diags, "the same thing twice is no harm")
		require.Len(t, other.Diags, 1)
		assert.Contains(t, other.Diags[0].Message, `is where GitOpsRepo "to a/b" is pushed to`)
	}
	first, other := open("a", ""), open("b", "")
	refuseShared([]*Destination{first, other})
	assert.Empty(t, other.Diags)
}

func TestCheckBranch(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"deployment/dev", "a.b", "ünï", "a/-b", "a@b", "a{b"} {
		require.NoError(t, model.CheckBranch(name), name)
		require.NoError(t, plumbing.NewBranchReferenceName(name).Validate(), name)
	}
	for _, name := range []string{"HEAD", "refs/heads/x"} {
		require.Error(t, model.CheckBranch(name), name)
	}
	for _, name := range []string{
		"", "@", "a/@", "-x", "a b", "a..b", "x.lock", "x.lock/a", ".a", "a/.b", "a.", "a//b", "/a", "a/", "a~", "a^", "a:b", "a?", "a*", "a[", `a\b`,
		"a@{b", "a\nb", "a\tb", "a\x7f",
	} {
		require.Error(t, model.CheckBranch(name), name)
		require.Error(t, plumbing.NewBranchReferenceName(name).Validate(), name)
	}
}

// TestPublishUpdateBranch: merging the GitOps branch into ours is nobody's own work.
func TestPublishUpdateBranch(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		p.publish(twoTargets("a: 1\n")...)
		p.commit("dev", gitopstest.Files{"docs/notes.md": "Somebody wrote this.\n", "docs/more.md": "more"}, "Docs")
		updated := p.merge("dev", "deployment/dev")
		kept := p.publish(twoTargets("a: 1\n")...)
		assert.False(t, kept.Pushed)
		assert.Equal(t, updated, kept.Commit)
		p.publish(twoTargets("a: 2\n")...)
		assert.Equal(t, "1", p.git("rev-list", "--count", "dev..deployment/dev"))
		assert.Contains(t, p.files("deployment/dev"), "docs/more.md")
	})
}

// TestPublishOntoMoved: a branch that still gives what is wanted is left alone, with its approvals.
func TestPublishOntoMoved(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		first := p.publish(twoTargets("a: 1\n")...)
		p.commit("dev", gitopstest.Files{"docs/notes.md": "Somebody wrote this.\n", "docs/more.md": "more"}, "Docs")
		kept := p.publish(twoTargets("a: 1\n")...)
		assert.False(t, kept.Pushed)
		assert.Equal(t, first.Commit, kept.Commit)
	})
}

// TestPublishLeftover: what remains of a branch that was merged, in any way, is replaced.
func TestPublishLeftover(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		p.publish(twoTargets("a: 1\n")...)
		p.merge("deployment/dev", "dev")
		p.publish(twoTargets("a: 2\n")...)
		// A squash: another commit with the same content.
		tree := p.found("deployment/dev").Tree
		p.git("update-ref", "refs/heads/dev", p.git("commit-tree", tree, "-p", "dev", "-m", "Squashed (#1)"))
		done := p.publish(twoTargets("a: 3\n")...)
		assert.True(t, done.Pushed)
		assert.Equal(t, p.found("dev").ID, p.found("deployment/dev^").ID)
	})
}

func TestPublishMoved(t *testing.T) {
	for name, meanwhile := range map[string]func(p *press){
		"the GitOps branch":     func(p *press) { p.commit("dev", gitopstest.Files{"x": "2"}, "x") },
		"the deployment branch": func(p *press) { p.commit("deployment/dev", gitopstest.Files{"y": "2"}, "y") },
		"the GitOps branch is gone": func(p *press) {
			p.git("update-ref", "-d", "refs/heads/dev")
		},
	} {
		t.Run(name, func(t *testing.T) {
			byAllWays(t, func(t *testing.T, p *press) {
				p.meanwhile = func() { meanwhile(p) }
				_, err := p.try(twoTargets("a: 1\n")...)
				require.ErrorIs(t, err, giterror.ErrConflict)
				assert.NotContains(t, p.git("log", "--all", "--format=%B"), "Kalypso-Version")
			})
		})
	}
}

func TestPublishManyDeletions(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"x": "1"})
	p.options.Direct = true
	p.publish(twoTargets("a: 1\n")...)
	_, err := p.try("edge/" + gitopstest.Readme)
	require.ErrorContains(t, err, "2 of the 2 assignments published in")
	require.ErrorContains(t, err, "would be removed: edge/a, edge/b")
	p.options.AllowDeletions = true
	assert.True(t, p.publish("edge/"+gitopstest.Readme).Pushed)
}

func TestPublishToPlainFolder(t *testing.T) {
	t.Parallel()
	reader, err := remote.NewReader(remote.Options{})
	require.NoError(t, err)
	repo := &model.GitOpsRepo{}
	repo.Repo.Value, repo.Branch.Value, repo.Path.Value = t.TempDir(), "dev", "."
	destination := openDestination(t.Context(), reader, repo, "")
	require.Len(t, destination.Diags, 1)
	assert.Contains(t, destination.Diags[0].Message, "is a plain directory")
	assert.Contains(t, destination.Diags[0].Hint, "--output-dir")
}

// TestPublishRefused: what the server says reaches people.
func TestPublishRefused(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		if strings.HasPrefix(p.url, "ssh:") {
			t.Skip("go-git closes the connection after the report")
		}
		hook := "#!/bin/sh\necho 'error: GH013: Repository rule violations found for refs/heads/deployment/dev.' >&2\n" +
			"echo '- Commits must have verified signatures.' >&2\nexit 1\n"
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, "hooks", "pre-receive"), []byte(hook), 0o755))
		_, err := p.try(twoTargets("a: 1\n")...)
		require.ErrorContains(t, err, "refuses the push of deployment/dev")
		require.ErrorContains(t, err, "(Require signed commits)")
		require.ErrorContains(t, err, "- Commits must have verified signatures.")
		var known *giterror.Error
		require.ErrorAs(t, err, &known)
		assert.Equal(t, giterror.RulePushRefused, known.Rule)
		assert.Contains(t, known.Hint, "--signing-key")
	})
}

// TestPublishLetsHooksRun: what a repository does after a push, such as telling others of it, is done to its end.
func TestPublishLetsHooksRun(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		if strings.HasPrefix(p.url, "ssh:") {
			t.Skip("go-git closes the connection after the report")
		}
		hook := "#!/bin/sh\nread old new ref\nfor i in 1 2 3 4 5 6 7 8 9; do echo $i; git cat-file -t $new; done >&2\ngit update-ref refs/seen/it $new\n"
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, "hooks", "post-receive"), []byte(hook), 0o755))
		published := p.publish(twoTargets("a: 1\n")...)
		assert.Equal(t, published.Commit, p.git("rev-parse", "refs/seen/it"))
	})
}

func TestPublishNotOverOthers(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		for want, files := range map[string]gitopstest.Files{
			"the directory edge/a exists and contains notes.md": {"edge/README.md": render.Readme, "edge/a/notes.md": "x"},
			"the directory edge exists and was not written":     {"edge/deploy.sh": "x"},
			"edge exists and is not a regular directory":        {"edge": "x"},
		} {
			p.commit("dev", files, "by hand")
			_, err := p.try(twoTargets("a: 1\n")...)
			require.ErrorContains(t, err, want)
		}
	})
}

// TestPublishDate: the commit bears the newest date of what it was made of, but none that nobody can have
// written it at.
func TestPublishDate(t *testing.T) {
	t.Parallel()
	for parent, want := range map[int64]string{
		1_700_000_000:       "1700000500", // what was read is newer
		1_700_001_000:       "1700001000",
		9_999_999_999:       "1700000500",
		999_999_999_999_999: "1700000500",
	} {
		p := newPress(t, gitopstest.Files{"x": "1"})
		_, err := gitopstest.Add(p.dir, gitopstest.Commit{Branch: "dev", Files: gitopstest.Files{"x": "2"}, Time: parent})
		require.NoError(t, err)
		published, err := p.try(twoTargets("a: 1\n")...)
		require.NoError(t, err)
		assert.Equal(t, want, p.git("log", "-1", "--format=%ct", published.Commit), parent)
	}
}

// newReader returns a Reader that never waits.
func newReader(t *testing.T, opts remote.Options) *remote.Reader {
	t.Helper()
	opts.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	r, err := remote.NewReader(opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	return r
}
