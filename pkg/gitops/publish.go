package gitops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
)

// Publication is an output to publish on a GitOps branch.
type Publication struct {
	*Destination
	// Output is the published output when the destination was opened, Tree the new one, and Change the difference.
	Output Output
	Tree   *render.Tree
	Change *change.Change
	// Report is the input of the messages of the commit and the pull request.
	Report message.Report
	// Dates are the dates of all source commits. The newest one, or that of the parent if it is newer, becomes the date
	// of the commit, so that the same input gives the same commit.
	Dates source.Dates
	PublishOptions
	// Forge opens the pull request; nil if the repository is not on a supported forge.
	Forge pullrequest.Forge
	// NoForge is the hint for a repository without a Forge; empty for the default.
	NoForge string
	// Request are the options of the pull request, from flags and the GitOpsRepo.
	Request pullrequest.Options
}

// PublishOptions are the options of publishing.
type PublishOptions struct {
	// Direct commits to the GitOps branch without a pull request.
	Direct bool
	// Force overwrites commits of others on the deployment branch.
	Force bool
	// CreateBranch creates the GitOps branch if it is missing.
	CreateBranch bool
	// AllowDeletions publishes a change even if it removes most targets.
	AllowDeletions bool
	// Author is the author and committer. If it is the zero value, UsualAuthor is called.
	Author gitobject.Identity
	// UsualAuthor returns the default author. It is called only if there is something to push. It must always return the
	// same author, so that the same output has the same commit.
	UsualAuthor func(ctx context.Context) (gitobject.Identity, error)
	// Key signs the commit; nil for no signature.
	Key *gitobject.SigningKey
}

// Published is the result of a publication.
type Published struct {
	// Pushed is true if the commit was pushed in this run.
	Pushed bool
	// Branch and Commit have the output; empty if there was nothing to publish.
	Branch, Commit string
	// Request is the pull request; nil if there is none.
	Request *pullrequest.Result
	// Withdrawn are pull requests that were closed because their change is not needed any more.
	Withdrawn []pullrequest.Request
	// Notes are sentences for people.
	Notes []string
	// Unverified is the reason why kalypso cannot determine whether the sources have changed since they were read; empty
	// if they have not.
	Unverified string
}

// Publish pushes a change to the GitOps repository and submits its pull request. The error wraps giterror.ErrConflict if
// a source or branch has changed since it was read: then no wrong output was published, and the run must start again from
// reading. Otherwise it is an Error.
func (p *Publication) Publish(ctx context.Context) (Published, error) {
	done, err := p.publish(ctx)
	var known *giterror.Error
	if errors.As(err, &known) {
		return done, p.reader.Clean(err)
	}
	return done, err // an error of the forge, which contains no secrets
}

func (p *Publication) publish(ctx context.Context) (Published, error) {
	fresh := freshFiles(p.Tree, p.Change)
	if err := p.check(fresh); err != nil {
		return Published{}, err
	}
	if p.Change.Empty() {
		return p.withdraw(ctx, "Nothing is left to publish: the branch is up to date.")
	}
	if err := selfCheck(ctx, p.Tree, fresh); err != nil {
		return Published{}, err
	}
	left, err := p.proposal().examine(ctx, p.Report.Environment)
	if err != nil {
		return Published{}, fmt.Errorf("examine the branch %q: %w", p.Head, err)
	}
	if len(left.foreign) > 0 && !p.Force && !p.Direct {
		if err := p.proposal().refuseForeign(ctx, &left, p.Forge, p.At, p.Head); err != nil {
			return Published{}, err
		}
	}
	made, err := p.contents(ctx)
	if err != nil {
		return Published{}, err
	}
	if !p.Direct {
		already, err := left.givesAlready(ctx, p.repo, p.onto(), made.Tree, p.Key)
		if err != nil {
			return Published{}, err
		}
		if already {
			return p.keep(ctx, left, made.Tree)
		}
	}
	built, err := p.build(ctx, made)
	if err != nil {
		return Published{}, err
	}
	if p.Direct || p.Forge == nil {
		return p.push(ctx, built, pullrequest.Submission{})
	}
	request := p.submission(built.ID, built.Tree)
	declined, err := pullrequest.Prepare(ctx, p.Forge, request)
	if err != nil {
		return Published{}, fmt.Errorf("prepare the pull request: %w", err)
	}
	if declined != nil {
		note := fmt.Sprintf("pull request #%d proposed the same content and was closed: --reopen proposes it again", declined.Number)
		return Published{Request: &pullrequest.Result{Action: pullrequest.Declined, PullRequest: *declined, Notes: []string{note}}}, nil
	}
	return p.push(ctx, built, request)
}

func (p *Publication) check(fresh *render.Tree) error {
	if p.Output.Commit != "" && p.Output.Commit != p.onto().String() {
		if p.onto().IsZero() {
			return giterror.New(giterror.RuleBranchNotFound, "%s has no local branch %q, only a remote-tracking one", p.At, p.Branch).
				WithHint("use the repository that it was cloned from")
		}
		return fmt.Errorf("branch %q: %w", p.Branch, giterror.ErrConflict)
	}
	if p.onto().IsZero() && !p.CreateBranch {
		return giterror.New(giterror.RuleBranchNotFound, "branch %q to publish to not found in %s", p.Branch, p.At).
			WithHint("--create-branch creates it with an empty first commit")
	}
	if err := p.checkPath(p.Output.Root); err != nil {
		return err
	}
	if p.Output.Tree != nil {
		if err := checkNotForeign(p.Output.Tree, fresh); err != nil {
			return giterror.New(RuleForeignPath, "%s cannot hold the output: %s", p.At, giterror.OneLine(err.Error())).WithHint(hintForeignPath)
		}
	}
	if text := p.Change.MassDeletion(p.At); text != "" && !p.AllowDeletions {
		return giterror.New(change.RuleDeletions, "%s", text).WithHint("if intended, use --allow-deletions")
	}
	return nil
}

// RuleForeignPath is a path of the output with content that kalypso does not manage.
const RuleForeignPath = "foreign-path"

const hintForeignPath = "move the existing file or directory, or set a separate path in the GitOpsRepo"

// push pushes a commit if its sources have not changed, and then submits the pull request.
func (p *Publication) push(ctx context.Context, commit gitobject.Candidate, request pullrequest.Submission) (Published, error) {
	if err := p.reader.VerifySnapshot(ctx); err != nil {
		return Published{}, err
	}
	order := p.order(commit)
	if err := p.reader.Push(ctx, p.repo, order); err != nil {
		return Published{}, err
	}
	done := Published{Pushed: true, Commit: commit.ID.String(), Branch: order.Updates[0].Branch}
	var err error
	if p.Direct {
		var withdrawn Published
		withdrawn, err = p.withdraw(ctx, "The output was committed to the branch itself.")
		done.Withdrawn = withdrawn.Withdrawn
	} else {
		done, err = p.submit(ctx, done, request)
	}
	if err != nil {
		return done, err
	}
	return p.verifyRefs(ctx, done)
}

// verifyRefs checks after a push that the sources and the base branch have not changed. Otherwise a concurrent run with
// newer sources may have found the previous output correct, and this run must publish again. A repository that cannot be
// listed is not an error: it could be read before.
func (p *Publication) verifyRefs(ctx context.Context, done Published) (Published, error) {
	if done.Request != nil && done.Request.PullRequest.State == pullrequest.Merged {
		return done, nil // this push has changed the GitOps branch
	}
	err := p.reader.VerifyAll(ctx)
	switch {
	case errors.Is(err, giterror.ErrConflict):
		return done, fmt.Errorf("%w: %w", giterror.ErrSuperseded, err)
	case err != nil && ctx.Err() != nil:
		return done, fmt.Errorf("read the branches after the push: %w", err)
	case err != nil:
		done.Unverified = err.Error()
	}
	return done, nil
}

func (p *Publication) order(commit gitobject.Candidate) remote.PushOrder {
	order := remote.PushOrder{
		Pack:   commit.Write,
		Expect: map[string]plumbing.Hash{},
	}
	base := remote.RefUpdate{Branch: p.Branch, Old: p.onto(), New: commit.ID}
	if p.Direct {
		order.Updates = []remote.RefUpdate{base}
		return order
	}
	order.Updates = []remote.RefUpdate{{Branch: p.Head, Old: p.tips[p.Head], New: commit.ID}}
	if commit.First.IsZero() {
		order.Expect[p.Branch] = p.onto()
	} else {
		base.New = commit.First
		order.Updates = append(order.Updates, base)
	}
	order.Options = p.mergeRequest()
	return order
}

// keep does not push, because merging the branch has the right result already.
func (p *Publication) keep(ctx context.Context, left deployment, tree plumbing.Hash) (Published, error) {
	if made, ok := message.ParseTrailers(left.ours.Message); ok {
		p.Report.Now = made // the provenance of the branch
	}
	request := pullrequest.Submission{}
	if p.Forge != nil {
		request = p.submission(left.tip, tree)
	}
	return p.submit(ctx, Published{Commit: left.tip.String(), Branch: p.Head}, request)
}

func (p *Publication) submit(ctx context.Context, done Published, request pullrequest.Submission) (Published, error) {
	if p.Forge == nil {
		done.Notes = append(done.Notes, p.noForge(done.Pushed))
		return done, nil
	}
	result, err := pullrequest.Submit(ctx, p.Forge, request)
	done.Request = &result
	if err != nil {
		return done, fmt.Errorf("submit the pull request: %w", err)
	}
	return done, nil
}

// submission returns the pull request for a commit. It is slow for a large change.
func (p *Publication) submission(commit, tree plumbing.Hash) pullrequest.Submission {
	_, _, promoted := p.Change.Promotion()
	return pullrequest.Submission{
		Environment: p.Report.Environment, Path: giturl.CleanPath(p.Repo.Path.Value), Head: p.Head, Base: p.Branch,
		HeadCommit: commit.String(), Tree: tree.String(),
		Title: message.PullRequestTitle(p.Report), Body: message.PullRequestBody(p.Report, pullrequest.MaxBody),
		Promoted: promoted, Idle: p.Change.Idle(), Options: p.Request,
	}
}

func (p *Publication) withdraw(ctx context.Context, why string) (Published, error) {
	if p.Forge == nil {
		return Published{}, nil
	}
	closed, err := pullrequest.Withdraw(ctx, p.Forge, pullrequest.Withdrawal{
		Environment: p.Report.Environment, Path: giturl.CleanPath(p.Repo.Path.Value), Head: p.Head, Base: p.Branch,
		HeadCommit: tipOf(p.tips, p.Head), Why: why, Confirm: p.reader.VerifySnapshot,
	})
	if err != nil {
		return Published{Withdrawn: closed}, fmt.Errorf("close the pull request: %w", err)
	}
	return Published{Withdrawn: closed}, nil
}

// mergeRequest returns the push options with which GitLab opens a merge request.
func (p *Publication) mergeRequest() []string {
	if p.Forge != nil || !strings.Contains(p.At, "gitlab") {
		return nil
	}
	return []string{"merge_request.create", "merge_request.target=" + p.Branch, "merge_request.title=" + message.PullRequestTitle(p.Report)}
}

func (p *Publication) noForge(pushed bool) string {
	if !pushed {
		return fmt.Sprintf("%s of %s already has this output; merge it into %s", p.Head, p.At, p.Branch)
	}
	if p.NoForge != "" {
		return p.NoForge
	}
	if p.mergeRequest() != nil {
		return fmt.Sprintf("%s: requested a merge request from %s into %s", p.At, p.Head, p.Branch)
	}
	return fmt.Sprintf("%s is not on a supported forge: open a pull request from %s into %s", p.At, p.Head, p.Branch)
}

// After returns the combined result of this and an earlier attempt of one run.
func (p Published) After(before Published) Published {
	p.Pushed = p.Pushed || before.Pushed
	p.Withdrawn = append(before.Withdrawn, p.Withdrawn...)
	switch {
	case before.Request == nil:
	case p.Request == nil:
		p.Request, p.Branch, p.Commit = before.Request, before.Branch, before.Commit
	case p.Request.Action == pullrequest.Unchanged || before.Request.Action == pullrequest.Created:
		p.Request.Action = before.Request.Action
	}
	return p
}

func (p *Publication) contents(ctx context.Context) (gitobject.Contents, error) {
	blobs, edits, err := blobsOf(ctx, p.Change)
	if err != nil {
		return gitobject.Contents{}, err
	}
	root, when := plumbing.ZeroHash, p.Dates.Newest(time.Time{})
	var trees gitobject.TreeSource
	if parent := p.onto(); !parent.IsZero() {
		onto, err := p.repo.CommitAt(ctx, parent, "")
		if err != nil {
			return gitobject.Contents{}, err
		}
		root, trees = onto.Tree, p.repo.TreesAt(parent)
		when = p.Dates.Newest(onto.When)
	}
	tree, err := gitobject.BuildTree(trees, root, giturl.CleanPath(p.Repo.Path.Value), edits)
	if err != nil {
		return gitobject.Contents{}, giterror.New(RuleForeignPath, "%s cannot hold the output: %v", p.At, err).
			WithHint(hintForeignPath)
	}
	return gitobject.Contents{Tree: tree.ID, When: when, Objects: append(tree.Objects, blobs...)}, nil
}

// blobsOf returns the new contents of a change, and the edits of the tree. The objects refer to the change, which must not
// be modified while they are used.
func blobsOf(ctx context.Context, c *change.Change) ([]gitobject.NewObject, []gitobject.TreeEdit, error) {
	edits := make([]gitobject.TreeEdit, len(c.Files))
	text := func(i int) content.Text { return c.Files[i].New }
	err := change.EachText(ctx, len(c.Files), text, func(i int, content []byte) error {
		edits[i].Path = c.Files[i].Path
		if c.Files[i].Action != change.Removed {
			edits[i].Blob = gitobject.HashOf(plumbing.BlobObject, content)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	objects := make([]gitobject.NewObject, 0, len(edits))
	for i, edit := range edits {
		if !edit.Removes() {
			objects = append(objects, gitobject.NewObject{Kind: plumbing.BlobObject, ID: edit.Blob, Content: &c.Files[i].New})
		}
	}
	return objects, edits, nil
}

// build creates the commit, and the empty first commit of a new GitOps branch.
func (p *Publication) build(ctx context.Context, of gitobject.Contents) (gitobject.Candidate, error) {
	if p.UsualAuthor != nil && p.Author == (gitobject.Identity{}) {
		author, err := p.UsualAuthor(ctx)
		if err != nil {
			return gitobject.Candidate{}, fmt.Errorf("read the author: %w", err)
		}
		p.Author = author
	}
	commit := gitobject.Candidate{Tree: of.Tree}
	parent := p.onto()
	if parent.IsZero() {
		tree := gitobject.NewRawObject(plumbing.TreeObject, nil)
		first, err := p.commit(gitobject.NewCommit{Tree: tree.ID, When: p.Dates.Newest(time.Time{}), Message: fmt.Sprintf("Start the branch %s\n", p.Branch)})
		if err != nil {
			return gitobject.Candidate{}, err
		}
		commit.Objects = []gitobject.NewObject{tree, first}
		commit.First, parent = first.ID, first.ID
	}
	object, err := p.commit(gitobject.NewCommit{
		Tree: of.Tree, Parents: []plumbing.Hash{parent}, When: of.When, Message: message.Commit(p.Report),
	})
	if err != nil {
		return gitobject.Candidate{}, err
	}
	commit.ID = object.ID
	commit.Objects = append(append(commit.Objects, object), of.Objects...)
	return commit, nil
}

func (p *Publication) commit(c gitobject.NewCommit) (gitobject.NewObject, error) {
	c.Author, c.Committer, c.Key = p.Author, p.Author, p.Key
	return c.Object()
}
