package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// newProtected is a press whose runs propose, as the branch of the environment is protected. The newest commit is proposed.
func newProtected(t *testing.T) *press {
	t.Helper()
	p := newStages(t)
	p.repo.Protect("stage")
	p.flags = []string{"--pull-request"}
	p.must()
	require.Len(t, p.repo.OpenPulls(), 1)
	return p
}

// statusSaid is what the status of stage says of the newest commit.
func (p *press) statusSaid() string {
	said := p.saidOf(p.versions[len(p.versions)-1], stageStatus)
	return append([]string{""}, said...)[len(said)]
}

// TestC6ProtectedBranch: a push that the server refuses ends the run with what can be done; a pull request is.
func TestC6ProtectedBranch(t *testing.T) {
	t.Parallel()
	p := newStages(t)
	p.repo.Protect("stage")
	before := p.promotedEnd()
	got := p.run()
	assert.Equal(t, cli.ExitRemote, got.code, got.stderr)
	assert.Contains(t, got.stderr, "(Require a pull request before merging)")
	assert.Regexp(t, `hint: .*--pull-request`, got.stderr)
	assert.Contains(t, got.stderr, "[push-refused]")
	assert.Contains(t, got.stderr, "nothing was promoted")
	p.assertPromoted(before, "refused")

	got = p.must("--pull-request")
	assert.Contains(t, got.stdout, "pull request #1 created: ")
	assert.Equal(t, "pending Promotion proposed in #1", p.statusSaid())
	p.assertPromotes(proposedStage, before.Stage, p.versions[0], p.versions[2], "proposed")
}

// TestC6PullRequestIsUpdatedInPlace: a newer commit takes the place of the one that is proposed, in the same pull request; the
// older one has no way back into it but --rollback of what is not promoted yet.
func TestC6PullRequestIsUpdatedInPlace(t *testing.T) {
	t.Parallel()
	p := newStages(t)
	before := p.tip("stage")
	p.flags = []string{"--pull-request"}
	p.must("--commit", p.versions[1])
	assert.Equal(t, []string{"pending Promotion proposed in #1"}, p.saidOf(p.versions[1], stageStatus))
	got := p.must()
	assert.Contains(t, got.stdout, "pull request #1 updated: ")
	require.Len(t, p.repo.Pulls(), 1)
	pull := p.repo.Pull(1)
	assert.Equal(t, "Promote "+p.versions[2][:12]+" to stage", pull.Title)
	assert.Contains(t, pull.Body, "Promotes stage from commit "+p.versions[0]+" to "+p.versions[2]+".")
	assert.Equal(t, "pending Promotion proposed in #1", p.statusSaid())
	p.assertPromotes(proposedStage, before, p.versions[0], p.versions[2], "updated")
	want := p.promotedEnd()
	p.set(nil)
	p.must()
	assert.Empty(t, p.writes())
	p.assertPromoted(want, "again")
}

// TestC6MergedPromotion: after the merge, in whichever way, the next run finds that stage has the commit, and sets its status.
func TestC6MergedPromotion(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"merge", "squash", "rebase"} {
		p := newProtected(t)
		p.repo.MergePull(1, method)
		merged := p.tip("stage")
		got := p.must()
		assert.Contains(t, got.stdout, "stage: already at "+p.versions[2][:12]+"\n", method)
		assert.Equal(t, "pending Promoted", p.statusSaid(), method)
		p.set(nil)
		p.must()
		assert.Empty(t, p.writes(), method)
		assert.Equal(t, merged, p.tip("stage"), method)
		assert.Len(t, p.repo.Pulls(), 1, method)
	}
}

// TestC6ForeignCommitOnProposal: what a person has committed to the branch of the pull request is not overwritten without
// --force.
func TestC6ForeignCommitOnProposal(t *testing.T) {
	t.Parallel()
	p := newStages(t)
	p.flags = []string{"--pull-request"}
	p.must("--commit", p.versions[1])
	p.commit("control-plane", proposedStage, gitopstest.Files{"docs/fix.md": "By hand.\n"})
	theirs := p.tip(proposedStage)
	got := p.run()
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "[foreign-commits]")
	assert.Contains(t, got.stderr, "--force")
	assert.Equal(t, theirs, p.tip(proposedStage))
	assert.Empty(t, p.statusSaid())
	p.must("--force")
	p.assertPromotes(proposedStage, p.tip("stage"), p.versions[0], p.versions[2], "forced")
	assert.Len(t, p.repo.Pulls(), 1)
}

// TestC6DeclinedPromotion: a pull request that a person has closed stays closed, the run reports it, and so does the status,
// until a newer commit comes or somebody asks for it. Its branch is not made again.
func TestC6DeclinedPromotion(t *testing.T) {
	t.Parallel()
	matrix(t)
	for _, deleted := range []bool{false, true} {
		p := newProtected(t)
		p.repo.Close(1)
		if deleted {
			p.repo.DeleteBranch(proposedStage)
		}
		left := p.tip(proposedStage)
		for round := range 3 {
			p.set(nil)
			got := p.must()
			assert.Contains(t, got.stdout, "stage: "+p.versions[0][:12]+" -> "+p.versions[2][:12]+", declined\n")
			assert.Contains(t, got.stdout, "pull request #1 was closed by a person, and nothing has changed since: it is not opened again without --reopen")
			assert.Equal(t, "error Promotion declined in #1", p.statusSaid())
			assert.Equal(t, left, p.tip(proposedStage))
			if round > 0 {
				assert.Empty(t, p.writes())
			}
		}
		assert.Contains(t, p.run("-o", "json").stdout, `"action": "declined"`)
		p.must("--reopen")
		require.Len(t, p.repo.OpenPulls(), 1)
		assert.Regexp(t, `^pending Promotion proposed in #\d$`, p.statusSaid())
		p.repo.MergePull(p.repo.OpenPulls()[0].Number, "squash")
		p.must()
		assert.Equal(t, "pending Promoted", p.statusSaid())
		p.assertNothingLost("reopened")
	}
}

// TestC6PointlessProposal: where something newer was promoted in another way, merging the pull request would take that back:
// the next run closes it. One that proposes something newer stays.
func TestC6PointlessProposal(t *testing.T) {
	t.Parallel()
	p := newStages(t)
	p.must("--commit", p.versions[1], "--pull-request")
	p.must()
	require.Len(t, p.repo.OpenPulls(), 1)
	got := p.must("--pull-request", "--dry-run")
	require.Len(t, p.repo.OpenPulls(), 1, got.stdout)

	got = p.must("--pull-request")
	assert.Contains(t, got.stdout, "notice: closed pull request #1, which proposes "+p.versions[1][:12])
	assert.Empty(t, p.repo.OpenPulls())
	assert.Equal(t, "pending Promoted", p.statusSaid())
	p.set(nil)
	p.must("--pull-request")
	assert.Empty(t, p.writes())
}

// TestC6NewerProposal: a run that finds its commit promoted leaves a pull request for a newer one alone.
func TestC6NewerProposal(t *testing.T) {
	t.Parallel()
	p := newStages(t)
	p.must("--commit", p.versions[1])
	p.must("--pull-request")
	require.Len(t, p.repo.OpenPulls(), 1)
	p.set(nil)
	p.must("--commit", p.versions[1], "--pull-request")
	assert.Len(t, p.repo.OpenPulls(), 1)
	assert.Empty(t, p.writes())
}

// TestC6DeclinedThenNewer: a newer commit is another matter than the one that was declined.
func TestC6DeclinedThenNewer(t *testing.T) {
	t.Parallel()
	p := newStages(t)
	p.flags = []string{"--pull-request"}
	p.must("--commit", p.versions[1])
	p.repo.Close(1)
	p.must("--commit", p.versions[1])
	assert.Equal(t, []string{"pending Promotion proposed in #1", "error Promotion declined in #1"}, p.saidOf(p.versions[1], stageStatus))
	p.must()
	require.Len(t, p.repo.OpenPulls(), 1)
	assert.True(t, strings.HasPrefix(p.statusSaid(), "pending Promotion proposed in #"))
}

// TestC6OlderProposal: what is proposed is not replaced by something older, unless that is meant.
func TestC6OlderProposal(t *testing.T) {
	t.Parallel()
	p := newStages(t)
	p.flags = []string{"--pull-request"}
	p.must()
	want := p.promotedEnd()
	got := p.mustRefuse(cli.ExitModel, "[older-commit]", "--commit", p.versions[1])
	assert.Contains(t, got.stderr, "pull request #1 proposes commit "+p.versions[2][:12]+" for stage, which is newer than "+p.versions[1][:12])
	p.assertPromoted(want, "refused")
	p.must("--commit", p.versions[1], "--rollback")
	p.assertPromotes(proposedStage, p.tip("stage"), p.versions[0], p.versions[1], "replaced")
	assert.Len(t, p.repo.Pulls(), 1)
	p.must()
	p.assertPromotes(proposedStage, p.tip("stage"), p.versions[0], p.versions[2], "and forth")

	p.repo.Close(1) // then nothing is proposed
	p.must("--commit", p.versions[1])
	require.Len(t, p.repo.OpenPulls(), 1)
	p.assertPromotes(proposedStage, p.tip("stage"), p.versions[0], p.versions[1], "after it was closed")
}
