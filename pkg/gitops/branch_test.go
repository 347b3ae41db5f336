package gitops

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// baseRepo is the file that promotions change.
const baseRepo = "base-repo.yaml"

// promote changes the file on the branch dev, or proposes to.
func (p *press) promote(head, content string) (Committed, error) {
	p.t.Helper()
	b, err := p.open(p.t.Context(), head)
	if err != nil {
		return Committed{}, err
	}
	if p.meanwhile != nil {
		p.meanwhile()
	}
	return b.Commit(p.t.Context(), p.edit(content))
}

func (p *press) open(ctx context.Context, head string) (*Branch, error) {
	p.t.Helper()
	if p.reader.Sleep == nil {
		p.reader.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	reader, err := remote.NewReader(p.reader)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = reader.Close() })
	return OpenBranch(ctx, reader, model.Ref{Repo: p.url, Branch: "dev", Role: model.Platform}, head)
}

func (p *press) edit(content string) Edit {
	return Edit{
		Files:   map[string][]byte{baseRepo: []byte(content)},
		Message: message.PromotionCommit(message.Promotion{Version: "v1", Environment: "dev", Commit: strings.Repeat("ab", 20)}),
		Newest:  time.Unix(1_700_000_500, 0), Key: p.options.Key, Force: p.options.Force,
		Author: func(context.Context) (gitobject.Identity, error) { return p.options.Author, nil },
	}
}

// mustPromote promotes, and has the repository checked at the end.
func (p *press) mustPromote(head, content string) Committed {
	p.t.Helper()
	done, err := p.promote(head, content)
	require.NoError(p.t, err)
	p.published = true
	assert.Equal(p.t, done.Commit, p.found(done.Branch).ID)
	assert.Equal(p.t, done.Tree, p.found(done.Commit).Tree)
	return done
}

func TestBranchCommit(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		before := p.found("dev").ID
		done := p.mustPromote("", "commit: 1\n")
		assert.True(t, done.Pushed)
		assert.Equal(t, "dev", done.Branch)
		assert.Equal(t, before, p.found("dev^").ID)
		assert.Equal(t, "commit: 1", p.git("show", "dev:"+baseRepo))
		assert.Equal(t, []string{baseRepo, "docs/notes.md"}, p.files("dev"))
		assert.Equal(t, "Kalypso <kalypso@example.com> 1700000500", p.git("log", "-1", "--format=%an <%ae> %ct", "dev"))

		again := p.mustPromote("", "commit: 1\n")
		assert.Equal(t, Committed{Branch: "dev", Commit: done.Commit, Tree: done.Tree}, again, "nothing is to be done")
		p.mustPromote("", "commit: 2\n")
		assert.Equal(t, "2", p.git("rev-list", "--count", before+"..dev"))
	})
}

// TestBranchSameCommit: whoever makes it and whenever, it is the same commit.
func TestBranchSameCommit(t *testing.T) {
	t.Parallel()
	a, b := newPress(t, gitopstest.Files{"x": "1"}), newPress(t, gitopstest.Files{"x": "1"})
	assert.Equal(t, a.mustPromote("", "commit: 1\n"), b.mustPromote("", "commit: 1\n"))
}

// TestBranchIsReadAnew: a Reader that has read the branch long ago opens it as it is now, and sees its own commit.
func TestBranchIsReadAnew(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		ref := model.Ref{Repo: p.url, Branch: "dev", Role: model.Platform}
		r := newReader(t, p.reader)
		sources, diags := r.Read(t.Context(), []model.Ref{ref})
		require.Empty(t, diags)
		old := sources[0]
		now := p.commit("dev", gitopstest.Files{baseRepo: "commit: 1\n"}, "by hand")
		b, err := OpenBranch(t.Context(), r, ref, "")
		require.NoError(t, err)
		assert.Equal(t, now, b.Tip)
		assert.Equal(t, "commit: 1\n", gitopstest.Content(t, b.FS, baseRepo))
		_, err = fs.Stat(old.FS, baseRepo)
		require.ErrorIs(t, err, fs.ErrNotExist)
		done, err := b.Commit(t.Context(), p.edit("commit: 2\n"))
		require.NoError(t, err)
		tip, err := r.Tip(t.Context(), ref)
		require.NoError(t, err)
		assert.Equal(t, done.Commit, tip)
		require.NoError(t, r.VerifyAll(t.Context()), "what was moved by this run has not moved")
	})
}

func TestBranchPropose(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		onto := p.found("dev").ID
		done := p.mustPromote("promote/dev", "commit: 1\n")
		assert.True(t, done.Pushed)
		assert.Equal(t, "promote/dev", done.Branch)
		assert.Equal(t, onto, p.found("dev").ID)
		assert.Equal(t, onto, p.found("promote/dev^").ID)

		again := p.mustPromote("promote/dev", "commit: 1\n")
		assert.Equal(t, Committed{Branch: "promote/dev", Commit: done.Commit, Tree: done.Tree}, again)

		p.commit("dev", gitopstest.Files{"docs/notes.md": "Somebody wrote this.\n", "docs/more.md": "more"}, "Docs")
		b, err := p.open(t.Context(), "promote/dev")
		require.NoError(t, err)
		kept, err := b.Commit(t.Context(), p.edit("commit: 1\n"))
		require.NoError(t, err)
		assert.False(t, kept.Pushed, "merging it still gives what is wanted")
		assert.Equal(t, done.Commit, kept.Commit)

		next := p.mustPromote("promote/dev", "commit: 2\n")
		assert.True(t, next.Pushed)
		assert.Equal(t, "1", p.git("rev-list", "--count", "dev..promote/dev"), "one commit on top of the branch")
		assert.Contains(t, p.files("promote/dev"), "docs/more.md")

		p.merge("promote/dev", "dev")
		merged := p.mustPromote("promote/dev", "commit: 2\n")
		assert.Equal(t, Committed{Branch: "dev", Commit: p.found("dev").ID, Tree: merged.Tree}, merged, "it is there")
		assert.True(t, p.mustPromote("promote/dev", "commit: 3\n").Pushed, "what is left of a merged branch is replaced")
		assert.Equal(t, "1", p.git("rev-list", "--count", "dev..promote/dev"))
	})
}

func TestBranchForeignCommits(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		p.mustPromote("promote/dev", "commit: 1\n")
		foreign := p.commit("promote/dev", gitopstest.Files{"mine": "1"}, "A fix by hand")
		_, err := p.promote("promote/dev", "commit: 2\n")
		var known *giterror.Error
		require.ErrorAs(t, err, &known)
		assert.Equal(t, RuleForeignCommits, known.Rule)
		assert.Contains(t, known.Message, foreign[:12]+` "A fix by hand" by Test`)
		assert.Contains(t, known.Hint, "--force")
		assert.Equal(t, foreign, p.found("promote/dev").ID)
		p.options.Force = true
		assert.True(t, p.mustPromote("promote/dev", "commit: 2\n").Pushed)

		other := p.commit("promote/dev", gitopstest.Files{"y": "1"}, message.PromotionCommit(message.Promotion{Version: "v1", Environment: "prod", Commit: "x"}))
		p.options.Force = false
		_, err = p.promote("promote/dev", "commit: 3\n")
		require.ErrorContains(t, err, other[:12], "that of another environment is not ours")
	})
}

// TestBranchKeepsModes: a file stays what it is; only its content changes.
func TestBranchKeepsModes(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"x": "1"})
	clone := filepath.Join(t.TempDir(), "clone")
	_, err := gitopstest.Git("", "clone", "--quiet", "--branch=dev", p.dir, clone)
	require.NoError(t, err)
	gitopstest.Write(t, clone, gitopstest.Files{baseRepo: "commit: 0\r\n", "folder/x": "1"})
	require.NoError(t, os.Chmod(filepath.Join(clone, baseRepo), 0o755))
	require.NoError(t, os.Symlink(baseRepo, filepath.Join(clone, "link")))
	gitopstest.RunGit(t, clone, "-c", "core.autocrlf=false", "add", ".")
	gitopstest.RunGit(t, clone, "commit", "--quiet", "-m", "files")
	gitopstest.RunGit(t, clone, "push", "--quiet", "origin", "dev")
	p.mustPromote("", "commit: 1\r\n")
	assert.True(t, strings.HasPrefix(p.git("ls-tree", "dev", baseRepo), "100755 blob "))
	out, err := gitopstest.Git(p.dir, "show", "dev:"+baseRepo)
	require.NoError(t, err)
	assert.Equal(t, "commit: 1\r\n", out)

	for name, want := range map[string]string{
		"link": "it is a symbolic link", "folder": "it is a directory", "x/y": "it is a file, not a directory", "link/y": "it is a symbolic link, not a directory",
		"../x": "is not one of a file", "": "is not one of a file", ".git/config": ".git", "a/.GIT/b": ".GIT",
	} {
		tip := p.found("dev").ID
		b, err := p.open(t.Context(), "")
		require.NoError(t, err)
		edit := p.edit("")
		edit.Files = map[string][]byte{name: []byte("new")}
		_, err = b.Commit(t.Context(), edit)
		var known *giterror.Error
		require.ErrorAs(t, err, &known, name)
		assert.Contains(t, known.Message, want)
		assert.NotEmpty(t, known.Hint)
		assert.Equal(t, tip, p.found("dev").ID)
	}
}

func TestOpenBranchErrors(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		_, err := p.open(t.Context(), "dev")
		require.ErrorContains(t, err, `"dev" is the target branch`)
		p.git("branch", "dex", "dev")
		p.git("update-ref", "-d", "refs/heads/dev")
		_, err = p.open(t.Context(), "")
		var known *giterror.Error
		require.ErrorAs(t, err, &known)
		assert.Equal(t, giterror.RuleBranchNotFound, known.Rule)
		assert.Equal(t, `did you mean "dex"?`, known.Hint)
	})
	t.Run("folder", func(t *testing.T) {
		p := newPress(t, gitopstest.Files{"x": "1"})
		p.url = t.TempDir()
		_, err := p.open(t.Context(), "")
		require.ErrorContains(t, err, "is a plain directory: nothing can be committed to it")
	})
	t.Run("clone", func(t *testing.T) {
		p := newPress(t, gitopstest.Files{"x": "1"})
		clone := filepath.Join(t.TempDir(), "clone")
		_, err := gitopstest.Git("", "clone", "--quiet", "--branch=dev", p.dir, clone)
		require.NoError(t, err)
		p.url = clone
		_, err = p.promote("", "commit: 1\n")
		var known *giterror.Error
		require.ErrorAs(t, err, &known)
		assert.Equal(t, giterror.RulePushRefused, known.Rule)
		assert.Contains(t, known.Hint, "push to a bare repository")
		gitopstest.RunGit(t, clone, "checkout", "--quiet", "-b", "other")
		done, err := p.promote("", "commit: 1\n")
		require.NoError(t, err)
		assert.Equal(t, done.Commit, gitopstest.RunGit(t, clone, "rev-parse", "dev"))
		gitopstest.RunGit(t, clone, "branch", "--quiet", "-D", "dev")
		_, err = p.promote("", "commit: 1\n")
		require.ErrorContains(t, err, `has no local branch "dev", only origin/dev`)
		for remote, want := range map[string]string{
			p.dir: p.dir, "../up/gitops.git": filepath.Join(filepath.Dir(clone), "up", "gitops.git"), "https://github.com/acme/cp": "https://github.com/acme/cp",
			"https://ann:s3cret@github.com/acme/cp.git": "https://github.com/acme/cp.git", "https://s3cret@h.example:8443/x": "https://h.example:8443/x",
			"git@github.com:acme/cp.git": "git@github.com:acme/cp.git", "ssh://git@github.com/acme/cp": "git@github.com:/acme/cp",
			"ssh://h.example:2222/x": "ssh://h.example:2222/x", "ssh://git@h.example:2222/x": "URL", "ssh://ann:s3cret@h.example/x": "URL",
			"https://ann:s3/cret@h.example/x": "URL", "http://h.example/x": "URL", "https://h.example/x?token=s3cret": "URL", "gh:acme/x": "URL",
			"ext::sh -c x": "URL", "https://h.example/x;rm": "URL", "/a b": "URL",
		} {
			gitopstest.RunGit(t, clone, "remote", "set-url", "origin", remote)
			_, err = p.promote("", "commit: 1\n")
			var known *giterror.Error
			require.ErrorAs(t, err, &known)
			assert.Equal(t, "--control-plane "+want+" uses the repository that it was cloned from", known.Hint, remote)
		}
	})
}

// TestBranchMoved: remote ref changed, on either branch.
func TestBranchMoved(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		for _, head := range []string{"", "promote/dev"} {
			tip := ""
			p.meanwhile = func() { tip = p.commit("dev", gitopstest.Files{"by": "hand " + head}, "by hand") }
			_, err := p.promote(head, "commit: 1\n")
			require.ErrorIs(t, err, giterror.ErrConflict)
			assert.Equal(t, tip, p.found("dev").ID)
		}
		p.meanwhile = func() { p.git("update-ref", "refs/heads/promote/dev", "dev") }
		_, err := p.promote("promote/dev", "commit: 1\n")
		require.ErrorIs(t, err, giterror.ErrConflict)
		p.meanwhile = nil
		assert.True(t, p.mustPromote("promote/dev", "commit: 1\n").Pushed)
	})
}

// TestBranchRace: of several who promote different commits at once each succeeds after starting over, and the others'
// commits stay. Those who promote the same make one commit.
func TestBranchRace(t *testing.T) {
	t.Parallel()
	for _, same := range []bool{true, false} {
		p := newPress(t, gitopstest.Files{"x": "1"})
		var wait sync.WaitGroup
		for n := range 4 {
			content := "commit: 1\n"
			if !same {
				content += strings.Repeat("x", n)
			}
			wait.Go(func() {
				for range 20 {
					_, err := p.promote("", content)
					if !errors.Is(err, giterror.ErrConflict) {
						assert.NoError(t, err)
						return
					}
				}
				t.Error("it was never its turn")
			})
		}
		wait.Wait()
		want := map[bool]string{true: "2", false: "5"}[same]
		assert.Equal(t, want, p.git("rev-list", "--count", "dev"))
		p.git("fsck", "--strict")
	}
}

func TestBranchSigned(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"x": "1"})
	file, _ := gitopstest.SigningKey(t)
	key, err := gitobject.ParseSigningKey(file)
	require.NoError(t, err)
	p.options.Key = key
	done := p.mustPromote("", "commit: 1\n")
	assert.Contains(t, p.git("cat-file", "commit", done.Commit), "gpgsig -----BEGIN SSH SIGNATURE-----")
}

func TestBranchWithoutAuthor(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"x": "1"})
	b, err := p.open(t.Context(), "")
	require.NoError(t, err)
	edit := p.edit("commit: 1\n")
	unknown := errors.New("who am I?")
	edit.Author = func(context.Context) (gitobject.Identity, error) { return gitobject.Identity{}, unknown }
	_, err = b.Commit(t.Context(), edit)
	require.ErrorIs(t, err, unknown)
	edit.Files = map[string][]byte{"x": []byte("1")}
	_, err = b.Commit(t.Context(), edit)
	require.NoError(t, err, "nobody is asked where nothing is to be done")
}

// TestBranchRefused: what a server says of a protected branch reaches people, with what helps.
func TestBranchRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ head, said, rule, hint string }{
		{"", "Changes must be made through a pull request.", "(Require a pull request before merging)", "--pull-request"},
		{"", "GH006: Protected branch update failed for refs/heads/dev.", "(a branch protection rule)", "--pull-request"},
		{"", "TF402455: Pushes to this branch are not permitted; you must use a pull request to update this branch.", "(a branch policy)", "--pull-request"},
		{"", "no", "no", "--pull-request"},
		{"", "Commits must have verified signatures.", "(Require signed commits)", "--signing-key"},
		{"promote/dev", "Cannot force-push to this branch", "(Block force pushes)", "a new promotion replaces"},
		{"promote/dev", "GH006: Protected branch update failed for refs/heads/dev.", "(a branch protection rule)", "exempt kalypso's App"},
		{"promote/dev", "no", "no", ""},
	} {
		p := newPress(t, gitopstest.Files{"x": "1"})
		hook := "#!/bin/sh\necho '" + tc.said + "' >&2\nexit 1\n"
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, "hooks", "pre-receive"), []byte(hook), 0o755))
		_, err := p.promote(tc.head, "commit: 1\n")
		var known *giterror.Error
		require.ErrorAs(t, err, &known)
		assert.Equal(t, giterror.RulePushRefused, known.Rule)
		assert.Contains(t, known.Message, tc.rule)
		assert.Contains(t, known.Message, tc.said)
		assert.NotContains(t, known.Hint, "--direct")
		assert.Contains(t, known.Hint, tc.hint)
		if tc.head != "" {
			assert.NotContains(t, known.Hint, "--pull-request")
		}
	}
}

// gitFault answers a request in some wrong way; next would answer it right.
type gitFault func(w http.ResponseWriter, r *http.Request, next http.Handler)

func answering(code int, header ...string) gitFault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		http.Error(w, "no", code)
	}
}

// hangUp resets the connection.
func hangUp(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	_ = http.NewResponseController(w).Flush()
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// done does what is asked for, and then what the fault does.
func done(fault gitFault) gitFault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		fault(w, r, next)
	}
}

// halfOf sends half of the right answer.
func halfOf(w http.ResponseWriter, r *http.Request, next http.Handler) {
	whole := httptest.NewRecorder()
	next.ServeHTTP(whole, r)
	w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
	_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	hangUp(w, r, next)
}

func gitFaultsOnce() map[string]gitFault {
	return map[string]gitFault{
		"500": answering(500), "502": answering(502), "503": answering(503, "Retry-After", "1"), "429": answering(429),
		"429 for long": answering(429, "Retry-After", "3600"), "401": answering(401), "403": answering(403), "404": answering(404),
		"reset": hangUp, "half": halfOf, "done, then reset": done(hangUp), "done, then 500": done(answering(500)),
		"done, then 403": done(answering(403)), "login page": answering(200, "Content-Type", "text/html"),
		"nothing": func(w http.ResponseWriter, r *http.Request, _ http.Handler) { _, _ = io.Copy(io.Discard, r.Body) },
	}
}

// faultyServer serves the repository. The nth request gets a fault, or from then on each if that is to last.
func (p *press) faultyServer(nth int, lasting bool, fault gitFault) (requests func() int) {
	p.t.Helper()
	handler, err := gitopstest.Handler(filepath.Dir(p.dir))
	require.NoError(p.t, err)
	var mu sync.Mutex
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		wrong := n == nth || lasting && n > nth
		mu.Unlock()
		if wrong {
			fault(w, r, handler)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	p.t.Cleanup(server.Close)
	p.url = server.URL + "/gitops.git"
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// TestBranchFaults lets each request of a promotion go wrong, in each way, once and for good. It ends in one commit or
// in an error, and after that the next run ends in one commit.
func TestBranchFaults(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{"direct": "", "proposed": "promote/dev"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			template := newPress(t, gitopstest.Files{"x": "1"})
			if head != "" {
				template.mustPromote(head, "commit: 0\n")
				template.commit("dev", gitopstest.Files{"x": "2"}, "more")
			}
			rehearsal := template.again(t)
			count := rehearsal.faultyServer(0, false, nil)
			rehearsal.mustPromote(head, "commit: 1\n")
			require.GreaterOrEqual(t, count(), 4)
			for nth := 1; nth <= count(); nth++ {
				for fault, wrong := range gitFaultsOnce() {
					if head == "" || strings.Contains(fault, "reset") || fault == "403" { // the others end in the same way
						template.again(t).suffer(head, nth, false, fault, wrong)
					}
				}
				template.again(t).suffer(head, nth, true, "down", answering(http.StatusServiceUnavailable))
			}
		})
	}
}

// again is a press with a copy of the repository.
func (p *press) again(t *testing.T) *press {
	t.Helper()
	other := *p
	other.t, other.dir = t, filepath.Join(t.TempDir(), "gitops.git")
	require.NoError(t, os.CopyFS(other.dir, os.DirFS(p.dir)))
	other.url = other.dir
	return &other
}

func (p *press) suffer(head string, nth int, lasting bool, name string, fault gitFault) {
	p.t.Helper()
	before := p.found("dev").ID
	p.faultyServer(nth, lasting, fault)
	made, err := p.promote(head, "commit: 1\n")
	branch := "dev"
	if head != "" {
		branch = head
	}
	if err != nil {
		var known *giterror.Error
		if !errors.Is(err, giterror.ErrConflict) {
			require.ErrorAs(p.t, err, &known, "%d %s", nth, name)
		}
		p.url = p.dir
		made, err = p.promote(head, "commit: 1\n")
		require.NoError(p.t, err)
	}
	assert.Equal(p.t, branch, made.Branch, "%d %s", nth, name)
	assert.Equal(p.t, made.Commit, p.found(branch).ID, "%d %s", nth, name)
	assert.Equal(p.t, before, p.found(branch+"^").ID, "%d %s", nth, name)
	if name == "down" {
		p.git("fsck", "--strict", "--no-dangling")
	}
}
