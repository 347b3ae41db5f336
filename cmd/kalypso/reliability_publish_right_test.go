package main

import (
	"crypto/sha1" // as git does
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// ending is what is published in the end.
type ending struct {
	// Commit is the tip of the deployment branch, Files are those of the GitOps branch once it is merged.
	Commit string
	Files  map[string]string
	// Title, Body and Labels are those of the one open pull request.
	Title, Body string
	Labels      []string
}

// ending returns what is published now.
func (p *press) ending() ending {
	p.t.Helper()
	var e ending
	e.Commit = refsOf(p.dir("gitops"))["refs/heads/deployment/dev"]
	for _, pull := range p.repo.OpenPulls() {
		if pull.Head == "deployment/dev" && pull.Base == "dev" {
			e.Title, e.Body, e.Labels = pull.Title, strings.ReplaceAll(pull.Body, p.url, "URL"), slices.Sorted(slices.Values(pull.Labels))
		}
	}
	return e
}

// merges are the files of what git has merged, by the two commits: the same in every repository.
var merges sync.Map // of [2]string → map[string]string

// merged are the ids of the files that the GitOps branch has once what is published is merged.
func (p *press) merged() map[string]string {
	p.t.Helper()
	refs := refsOf(p.dir("gitops"))
	commits := [2]string{refs["refs/heads/dev"], refs["refs/heads/deployment/dev"]}
	if known, ok := merges.Load(commits); ok {
		return known.(map[string]string) //nolint:forcetypeassert // nothing else is stored
	}
	files := map[string]string{}
	tree, _, _ := strings.Cut(p.git("gitops", "merge-tree", "--write-tree", commits[0], commits[1]), "\n")
	for line := range strings.Lines(p.git("gitops", "ls-tree", "-r", tree)) {
		about, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[name] = strings.Fields(about)[2]
	}
	merges.Store(commits, files)
	return files
}

// undisturbed returns what a run makes of the repositories as they are, if nothing happens.
func (p *press) undisturbed() ending {
	p.t.Helper()
	refs := p.refs()
	key := fmt.Sprint(p.flags)
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		key += "\n" + name + " " + refs[name]
	}
	p.books.mu.Lock()
	known, ok := p.books.ends[key]
	p.books.mu.Unlock()
	if ok {
		return known
	}
	other := newPress(p.t, p.root)
	other.books, other.flags = p.books, p.flags
	for name, id := range refsOf(other.dir("gitops")) {
		if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok && strings.HasPrefix(branch, "deployment/") {
			require.NoError(p.t, gitopstest.Move(other.dir("gitops"), branch, id, ""))
		}
	}
	other.must()
	end := other.ending()
	other.assertWhole()
	end.Files = other.merged()
	p.books.mu.Lock()
	defer p.books.mu.Unlock()
	p.books.ends[key] = end
	return end
}

// assertWhole checks for one commit, with the rendered files and all files of others, without a
// token in it.
func (p *press) assertWhole() {
	p.t.Helper()
	out := p.t.TempDir()
	got := p.run("--output-dir", out)
	require.Equal(p.t, cli.ExitDone, got.code, got.stderr)
	rendered, err := gitopstest.FromFS(os.DirFS(out))
	require.NoError(p.t, err)
	require.NotEmpty(p.t, rendered)
	want := map[string]string{}
	for name, content := range p.files("gitops", "dev") {
		if !strings.HasPrefix(name, "edge/") { // the only cluster type
			want[name] = blobID(content)
		}
	}
	for name, content := range rendered {
		want[name] = blobID(content)
	}
	require.Equal(p.t, want, p.merged())
	require.Equal(p.t, "1", p.git("gitops", "rev-list", "--count", "dev..deployment/dev"))
	p.assertUnsaid("the commits", p.git("gitops", "log", "--all", "--format=%an %ae %cn %ce %B"))
}

func blobID(content string) string {
	sum := sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(content), content))) // as git does
	return hex.EncodeToString(sum[:])
}

// assertRight is how each of these tests ends: there is exactly one pull request, the right one, as if
// nothing had happened; nothing is lost; no token was leaked.
func (p *press) assertRight(which string) {
	p.t.Helper()
	p.assertNothingLost(which)
	open := p.repo.OpenPulls()
	if assert.Len(p.t, open, 1, which) {
		assert.Equal(p.t, "deployment/dev -> dev", open[0].Head+" -> "+open[0].Base, which)
	}
	want, got := p.undisturbed(), p.ending()
	if want.Commit != got.Commit { // an earlier one, which is left as it is if merging it gives the same
		assert.Equal(p.t, want.Files, p.merged(), which)
		assert.Equal(p.t, "1", p.git("gitops", "rev-list", "--count", "dev..deployment/dev"), which)
		_, trailers, _ := strings.Cut(p.git("gitops", "log", "-1", "--format=%B", "deployment/dev"), "Kalypso-Version")
		assert.Contains(p.t, got.Body, trailers, which)
		want.Commit, want.Body = got.Commit, got.Body
	}
	got.Files = want.Files
	assert.Equal(p.t, want, got, which)
}

// sound are the kinds of runs of which git has found what they left to be sound. make test looks at one of each kind, make
// ci-full at all repositories.
var sound sync.Map

// kind is the command of runs, the names of their flags, and whether anything was pushed.
func (p *press) kind() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := slices.DeleteFunc(p.args(), func(argument string) bool { return strings.Contains(argument, "/") })
	return fmt.Sprint(p.home, p.pushed, names)
}

// assertNothingLost makes sure that all repositories are sound, that what others have is where they left it, and
// that no token was leaked.
func (p *press) assertNothingLost(which string) {
	p.t.Helper()
	now := fmt.Sprint(refsOf(p.dir(p.home)))
	if _, known := sound.LoadOrStore(p.kind(), true); now != p.sound && (!known || wantsWholeMatrix()) {
		p.git(p.home, "fsck", "--strict", "--no-dangling")
	}
	p.sound = now
	p.mu.Lock()
	foreign, texts := maps.Clone(p.foreign), slices.Clone(p.said)
	p.mu.Unlock()
	assert.Equal(p.t, foreign, p.refs(), which)
	for _, pull := range p.repo.Pulls() {
		texts = append(texts, pull.Title, pull.Body)
		for _, comment := range pull.Comments {
			texts = append(texts, comment.Body)
		}
	}
	p.assertUnsaid(which, texts...)
}

// assertUnsaid makes sure that no text has a token in it, in any form.
func (p *press) assertUnsaid(which string, texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		for _, token := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret),
			base64.StdEncoding.EncodeToString([]byte("x-access-token:" + tokenOf(usual))),
		} {
			assert.NotContains(p.t, text, token, which)
		}
	}
}
