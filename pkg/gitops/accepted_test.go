package gitops

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
)

// squash puts all that a branch has changed onto another one, in a commit without its history.
func (p *press) squash(branch, into string) {
	p.t.Helper()
	p.git("update-ref", "refs/heads/"+into, p.git("commit-tree", branch+"^{tree}", "-p", into, "-m", "Squashed"))
}

// change adds a commit to a branch that changes some of its files.
func (p *press) change(branch string, files gitopstest.Files) string {
	p.t.Helper()
	all := p.read(branch)
	maps.Copy(all, files)
	return p.commit(branch, all, "By hand")
}

// TestR9AcceptedCommits: a commit that somebody has added to ours is not in the way once the GitOps branch contains what it
// changes, under whatever id. No API is needed to tell.
func TestR9AcceptedCommits(t *testing.T) {
	byAllWays(t, func(t *testing.T, p *press) {
		fix := func(content string) { p.change("deployment/dev", gitopstest.Files{"fix.txt": content}) }
		refused := func() {
			t.Helper()
			tip := p.found("deployment/dev").ID
			_, err := p.try(twoTargets("a: 9\n")...)
			var known *giterror.Error
			require.ErrorAs(t, err, &known)
			assert.Equal(t, RuleForeignCommits, known.Rule)
			assert.Equal(t, tip, p.found("deployment/dev").ID)
		}
		published := func(a string) {
			t.Helper()
			assert.True(t, p.publish(twoTargets(a)...).Pushed)
			assert.Equal(t, "1", p.git("rev-list", "--count", "dev..deployment/dev"))
		}
		p.publish(twoTargets("a: 1\n")...)
		fix("1\n")
		fix("2\n")
		p.squash("deployment/dev", "dev")
		p.change("dev", gitopstest.Files{"docs/more.md": "More.\n"})
		published("a: 2\n")
		assert.Equal(t, "2", p.content("deployment/dev", "fix.txt"))

		// Only some of it, or something else, was accepted.
		fix("3\n")
		p.change("deployment/dev", gitopstest.Files{"more.txt": "More.\n"})
		p.change("dev", gitopstest.Files{"fix.txt": "3\n"})
		refused()
		p.change("dev", gitopstest.Files{"more.txt": "Less.\n"})
		refused()
		p.change("dev", gitopstest.Files{"more.txt": "More.\n"})
		published("a: 3\n")

		// A person has taken our change back: that the GitOps branch does not have it either is no consent.
		p.git("update-ref", "refs/heads/deployment/dev", p.git("commit-tree", "dev^{tree}", "-p", "deployment/dev", "-m", "Not that"))
		refused()
	})
}

// TestR9AcceptedCommitsOfAnotherEnvironment: with a wrong --branch, what clusters of another environment pull would be replaced.
func TestR9AcceptedCommitsOfAnotherEnvironment(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"x": "1"})
	p.git("branch", "prod", "dev")
	p.commit("prod", gitopstest.Files{"x": "2"}, "Publish prod\n\nKalypso-Version: v1\nKalypso-Environment: prod\n")
	p.squash("prod", "dev")
	publication := p.publication(gitopstest.Tree(twoTargets("a: 1\n")...))
	publication.Head = "prod"
	_, err := publication.Publish(t.Context())
	require.ErrorContains(t, err, "kalypso did not make for this environment")
}

// lastPull is a forge with a single pull request that is not open.
type lastPull struct {
	pullrequest.Forge
	pull pullrequest.Request
	err  error
}

func (f lastPull) Last(context.Context, string, string) (*pullrequest.Request, error) {
	return &f.pull, f.err
}

// TestR9MergedPullRequest: a merged pull request with just this head says that all of it was accepted, whatever has become of
// the files since.
func TestR9MergedPullRequest(t *testing.T) {
	t.Parallel()
	errForge := errors.New("the forge is not well")
	for name, test := range map[string]struct {
		forge lastPull
		want  bool
		err   error
	}{
		"merged":              {lastPull{pull: pullrequest.Request{State: pullrequest.Merged}}, true, nil},
		"merged before":       {lastPull{pull: pullrequest.Request{State: pullrequest.Merged, HeadCommit: "another"}}, false, nil},
		"closed":              {lastPull{pull: pullrequest.Request{State: pullrequest.Closed}}, false, nil},
		"it cannot be asked":  {lastPull{err: errForge}, false, errForge},
		"open, which is none": {lastPull{pull: pullrequest.Request{State: pullrequest.Open}}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPress(t, gitopstest.Files{"x": "1"})
			p.mustPromote("promote/dev", "commit: 1\n")
			tip := p.change("promote/dev", gitopstest.Files{"mine": "1"})
			p.squash("promote/dev", "dev")
			p.change("dev", gitopstest.Files{"mine": "2"})
			branch, err := p.open(t.Context(), "promote/dev")
			require.NoError(t, err)
			if test.forge.pull.HeadCommit == "" {
				test.forge.pull.HeadCommit = tip
			}
			edit := p.edit("commit: 2\n")
			edit.Forge = test.forge
			done, err := branch.Commit(t.Context(), edit)
			assert.Equal(t, test.want, done.Pushed)
			var known *giterror.Error
			switch {
			case test.err != nil:
				require.ErrorIs(t, err, test.err)
			case !test.want:
				require.ErrorAs(t, err, &known)
				assert.Equal(t, RuleForeignCommits, known.Rule)
			default:
				require.NoError(t, err)
				assert.Equal(t, "2", p.content("promote/dev", "mine"))
			}
		})
	}
}
