package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Branch is a snapshot of a branch, for one commit on top of it.
type Branch struct {
	// At is the actual location of the repository in normal form, after replacements.
	At string
	// Branch is its name; Head is the head branch of a pull request into it, empty if the commit is pushed to Branch.
	Branch, Head string
	// Tip is its commit, and FS the content of that.
	Tip string
	FS  fs.FS
	// Clone is true if the repository is a local clone with a work tree: others see a commit only after it is pushed to
	// the remote. Origin is the URL of the remote, for --control-plane, without credentials; empty if unknown.
	Clone  bool
	Origin string

	reader *remote.Reader
	repo   remote.Repository
	tips   map[string]plumbing.Hash
	tip    plumbing.Hash
	onto   gitobject.CommitObject
}

// OpenBranch opens the current state of a branch, even if the Reader has an older one. An empty ref.Branch is the default
// branch; ref.Commit and ref.Path are ignored. head is the head branch of a pull request: it need not exist, and is empty
// for none. The error is an *Error.
func OpenBranch(ctx context.Context, reader *remote.Reader, ref model.Ref, head string) (*Branch, error) {
	reader.Prepare([]model.Ref{ref})
	at, err := reader.Locate(ref)
	if err != nil {
		return nil, reader.Clean(err)
	}
	b := &Branch{At: at.Read, Branch: ref.Branch, Head: head, reader: reader}
	if err := b.open(ctx, at, ref.Role); err != nil {
		return nil, reader.Clean(at.Explain(err))
	}
	return b, nil
}

func (b *Branch) open(ctx context.Context, at giturl.Location, role model.Role) error {
	now, err := b.reader.CurrentBranch(ctx, at, role, b.Branch)
	if err != nil {
		return err
	}
	if now.Repository == nil {
		return giterror.New(giterror.RuleInvalidRepository, "%s is a plain directory: nothing can be committed to it", at).
			WithHint("use a repository, for example a bare one")
	}
	b.repo, b.tips, b.tip, b.Branch, b.Clone, b.Origin = now.Repository, now.Tips, now.Tip, now.Name, now.Clone, now.Origin
	if b.Head == b.Branch {
		return giterror.New(ruleDeploymentBranch, "%q is the target branch, so it cannot also be the pull request branch", b.Head).
			WithHint("use another branch for the pull request")
	}
	onto, err := b.repo.CommitAt(ctx, b.tip, "")
	if err != nil {
		return err
	}
	b.onto, b.Tip = onto, b.tip.String()
	b.FS = gitobject.NewTreeFS(ctx, b.repo.TreesAt(b.tip), onto)
	return nil
}

// Promotion returns the promotion in the newest commit of the branch; ok is false if that is not a promotion of kalypso.
func (b *Branch) Promotion() (promotion message.Promotion, ok bool) {
	return message.ParsePromotion(b.onto.Message)
}

// maxSearched is the maximum number of commits of a branch that are searched for the last promotion.
const maxSearched = 100

// RolledBack returns the commit that was reverted, if the last promotion of kalypso on the branch was a rollback of the
// environment; else "". The error is an *Error.
func (b *Branch) RolledBack(ctx context.Context, environment string) (from string, err error) {
	recent, err := b.repo.Recent(ctx, b.tip, maxSearched)
	if err != nil {
		return "", b.reader.Clean(err)
	}
	for id := b.tip; ; {
		commit, there := recent[id]
		if promotion, ours := message.ParsePromotion(commit.Message); ours && promotion.Environment == environment {
			if promotion.Rollback {
				return promotion.Before, nil
			}
			return "", nil
		}
		if !there || len(commit.Parents) == 0 {
			return "", nil
		}
		id = commit.Parents[0]
	}
}

// HeadTip returns the commit of Head; empty if there is no such branch.
func (b *Branch) HeadTip() string { return tipOf(b.tips, b.Head) }

// tipOf returns the commit of a branch; empty if there is no such branch.
func tipOf(tips map[string]plumbing.Hash, branch string) string {
	if tip := tips[branch]; !tip.IsZero() {
		return tip.String()
	}
	return ""
}

// Proposed returns the newest promotion to an environment that is on Head but not on the branch, if there is one. The
// error is an *Error.
func (b *Branch) Proposed(ctx context.Context, environment string) (promotion message.Promotion, ok bool, err error) {
	left, err := proposal{b.repo, b.Branch, b.tip, b.tips[b.Head]}.examine(ctx, environment)
	if err != nil || left.tip.IsZero() || left.merged {
		return message.Promotion{}, false, b.reader.Clean(err)
	}
	promotion, ok = message.ParsePromotion(left.ours.Message)
	return promotion, ok, nil
}

// Committed is the result of an Edit.
type Committed struct {
	// Pushed is true if the commit was pushed in this run; otherwise there was nothing to do.
	Pushed bool
	// Branch has the edit, at Commit, whose tree is Tree.
	Branch, Commit, Tree string
}

// Commit commits an edit on top of the opened branch, and pushes it to the branch or to Head. It pushes nothing if the
// branch has the edit already, or if merging Head has the same result. The error wraps giterror.ErrConflict if one of
// them has changed since OpenBranch: open the branch again. Otherwise it is an *Error, of RuleForeignCommits if others
// have committed to Head, or the error of edit.Author or edit.Declined.
func (b *Branch) Commit(ctx context.Context, edit Edit) (Committed, error) {
	made, err := edit.contents(b)
	if err != nil {
		return Committed{}, b.reader.Clean(err)
	}
	if made.Tree == b.onto.Tree {
		return Committed{Branch: b.Branch, Commit: b.Tip, Tree: made.Tree.String()}, nil
	}
	if b.Head != "" {
		already, err := b.proposed(ctx, edit, made.Tree)
		if err != nil {
			return Committed{}, err
		}
		if already != nil {
			return *already, nil
		}
		if edit.Declined != nil {
			declined, err := edit.Declined(ctx, made.Tree.String())
			if err != nil || declined {
				return Committed{Branch: b.Head, Tree: made.Tree.String()}, err
			}
		}
	}
	commit, err := edit.commit(ctx, b, made)
	if err != nil {
		return Committed{}, err
	}
	return b.push(ctx, commit)
}

// proposed returns the tip of Head if merging it results in tree, else nil. It is an error if commits of others would be
// overwritten.
func (b *Branch) proposed(ctx context.Context, edit Edit, tree plumbing.Hash) (*Committed, error) {
	environment := ""
	if made, ours := message.ParseTrailers(edit.Message); ours {
		environment = made.Environment
	}
	from := proposal{b.repo, b.Branch, b.tip, b.tips[b.Head]}
	left, err := from.examine(ctx, environment)
	if err != nil {
		return nil, b.reader.Clean(err)
	}
	if len(left.foreign) > 0 && !edit.Force {
		if err := from.refuseForeign(ctx, &left, edit.Forge, b.At, b.Head); err != nil {
			var known *giterror.Error
			if errors.As(err, &known) {
				return nil, b.reader.Clean(err)
			}
			return nil, err // an error of the forge, which contains no secrets
		}
	}
	already, err := left.givesAlready(ctx, b.repo, b.tip, tree, edit.Key)
	if err != nil || !already {
		return nil, b.reader.Clean(err)
	}
	return &Committed{Branch: b.Head, Commit: left.tip.String(), Tree: tree.String()}, nil
}

func (b *Branch) push(ctx context.Context, commit gitobject.Candidate) (Committed, error) {
	order := remote.PushOrder{Pack: commit.Write, Purpose: remote.ToPromote, Updates: []remote.RefUpdate{{Branch: b.Branch, Old: b.tip, New: commit.ID}}}
	if b.Head != "" {
		order.Purpose, order.Updates = remote.ToPropose, []remote.RefUpdate{{Branch: b.Head, Old: b.tips[b.Head], New: commit.ID}}
		order.Expect = map[string]plumbing.Hash{b.Branch: b.tip}
	}
	if err := b.reader.Push(ctx, b.repo, order); err != nil {
		return Committed{}, b.reader.Clean(err)
	}
	return Committed{Pushed: true, Branch: order.Updates[0].Branch, Commit: commit.ID.String(), Tree: commit.Tree.String()}, nil
}

// Edit is the content and metadata of a commit. The same edit of the same commit by the same author results in the same
// commit.
type Edit struct {
	// Files are the full contents of the changed files, by path from the root. An existing file keeps its mode; a
	// directory or link is never replaced by a file.
	Files map[string][]byte
	// Message ends in the trailers that identify commits of kalypso; see message.PromotionCommit.
	Message string
	// Newest is the newest date of the sources. It is the date of the commit, unless that of its parent is newer.
	Newest time.Time
	// Author returns the author and committer. It is called only if there is something to push.
	Author func(context.Context) (gitobject.Identity, error)
	// Key signs the commit; nil for no signature.
	Key *gitobject.SigningKey
	// Declined reports whether a person has closed the pull request for a tree, so that it is not pushed. It is called
	// before a commit is pushed to the head branch of a pull request; nil counts as false.
	Declined func(ctx context.Context, tree string) (bool, error)
	// Force overwrites commits of others on the head branch of a pull request.
	Force bool
	// Forge reports whether a pull request with foreign commits was merged; nil without a forge.
	Forge pullrequest.Forge
}

func (e Edit) contents(b *Branch) (gitobject.Contents, error) {
	var blobs []gitobject.NewObject
	var edits []gitobject.TreeEdit
	for _, name := range slices.Sorted(maps.Keys(e.Files)) {
		blob := gitobject.NewRawObject(plumbing.BlobObject, e.Files[name])
		blobs = append(blobs, blob)
		edits = append(edits, gitobject.TreeEdit{Path: name, Blob: blob.ID, KeepMode: true})
	}
	tree, err := gitobject.BuildTree(b.repo.TreesAt(b.tip), b.onto.Tree, ".", edits)
	if err != nil {
		return gitobject.Contents{}, giterror.New(RuleForeignPath, "the branch %q of %s cannot be changed: %s", b.Branch, b.At, giterror.OneLine(err.Error())).
			WithHint("it must be a regular file in regular directories")
	}
	return gitobject.Contents{Tree: tree.ID, When: source.Dates{Platform: e.Newest}.Newest(b.onto.When), Objects: append(tree.Objects, blobs...)}, nil
}

func (e Edit) commit(ctx context.Context, b *Branch, of gitobject.Contents) (gitobject.Candidate, error) {
	if e.Author == nil {
		return gitobject.Candidate{}, errors.New("a commit needs an author")
	}
	author, err := e.Author(ctx)
	if err != nil {
		return gitobject.Candidate{}, fmt.Errorf("read the author: %w", err)
	}
	object, err := gitobject.NewCommit{
		Tree: of.Tree, Parents: []plumbing.Hash{b.tip}, Author: author, Committer: author,
		When: of.When, Message: e.Message, Key: e.Key,
	}.Object()
	if err != nil {
		return gitobject.Candidate{}, giterror.New(giterror.RuleInvalidRepository, "commit to %s: %s", b.At, giterror.OneLine(err.Error()))
	}
	return gitobject.Candidate{ID: object.ID, Tree: of.Tree, Objects: append([]gitobject.NewObject{object}, of.Objects...)}, nil
}
