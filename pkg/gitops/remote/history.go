package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/server"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// RuleCutHistory is a shallow history that does not contain the commits in question.
const RuleCutHistory = "cut-history"

// Ancestry compares commits of a repository on a server that cannot send commits without their files. Package github
// implements it.
type Ancestry interface {
	// IsAncestor reports whether ancestor is in the history of descendant, or the same. Both are full ids. It is an error
	// if the repository does not have one of them.
	IsAncestor(ctx context.Context, ancestor, descendant string) (bool, error)
}

// History is the complete history of a branch. It is safe for concurrent use.
type History struct {
	reader *Reader
	at     giturl.Location
	branch string
	source Repository
	other  Ancestry

	mu  sync.Mutex
	tip plumbing.Hash
	// graph has the parents of the commits; it is nil while other is used instead.
	graph gitobject.Graph
	// onBranch are the commits that are reachable from tip. whole is false if there may be more.
	onBranch map[plumbing.Hash]bool
	whole    bool
}

func noHistory(at giturl.Location) *giterror.Error {
	return giterror.New(giterror.RuleInvalidRepository, "%s is a plain directory, which has no history", at).WithHint("use a clone or a bare repository")
}

// History reads the history of a branch; an empty ref.Branch is the default branch, and ref.Commit is ignored. It fetches
// commits only, if the server supports that; otherwise it uses other, unless that is nil, and the whole history with its
// files if other fails. Errors are of the type *Error, here and in all methods.
func (r *Reader) History(ctx context.Context, ref model.Ref, other Ancestry) (*History, error) {
	r.Prepare([]model.Ref{ref})
	at, err := r.Locate(ref)
	if err != nil {
		return nil, r.Clean(err)
	}
	h := &History{reader: r, at: at, other: other}
	source, branch, err := r.resolve(ctx, at, ref)
	if err == nil && source == nil {
		err = noHistory(at)
	}
	h.source, h.tip, h.branch = source, branch.Commit, branch.Name
	if err == nil {
		err = h.read(ctx, other == nil)
	}
	if err != nil {
		return nil, h.explain(err)
	}
	return h, nil
}

// read reads the history; without force, only if the server can send commits without files.
func (h *History) read(ctx context.Context, force bool) error {
	if h.graph != nil {
		return nil
	}
	found, err := h.source.Trace(ctx, gitobject.Range{Tip: h.tip}, !force)
	if errors.Is(err, server.ErrNotAlone) {
		return nil
	}
	if err == nil {
		h.graph = gitobject.Graph{}
		h.advance(h.tip, found)
	}
	return err
}

// advance adds commits to the graph and sets the tip.
func (h *History) advance(tip plumbing.Hash, found gitobject.Graph) {
	for id, commit := range found {
		h.graph[id] = gitobject.CommitObject{Parents: commit.Parents}
	}
	h.tip = tip
	h.onBranch, h.whole = h.graph.Reach(tip)
}

// Branch returns the name of the branch.
func (h *History) Branch() string { return h.branch }

// Tip returns the commit of the branch when it was last read.
func (h *History) Tip() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tip.String()
}

// Refresh reads the current tip of the branch, and fetches new commits. If that fails, nothing changes.
func (h *History) Refresh(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.explain(h.refresh(ctx))
}

func (h *History) refresh(ctx context.Context) error {
	tip, err := h.source.TipNow(ctx, h.branch)
	if err != nil || tip == h.tip {
		return err
	}
	if h.graph == nil {
		h.tip = tip
		return nil
	}
	var found gitobject.Graph
	if _, known := h.graph[tip]; !known {
		if found, err = h.source.Trace(ctx, gitobject.Range{Tip: tip, Since: h.tip, Known: h.graph}, false); err != nil {
			return err
		}
	}
	h.advance(tip, found)
	return nil
}

// Has reports whether a commit, given by its full id, is on the branch.
func (h *History) Has(ctx context.Context, commit string) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, err := giturl.FullID(commit)
	if err != nil {
		return false, err
	}
	has, err := h.has(ctx, id)
	return has, h.explain(err)
}

func (h *History) has(ctx context.Context, id plumbing.Hash) (bool, error) {
	if asked, has := h.ask(ctx, id, h.tip); asked {
		return has, nil
	}
	if err := h.read(ctx, true); err != nil {
		return false, err
	}
	if !h.onBranch[id] && !h.whole {
		return false, h.undecided("whether commit %s is on the branch %q", id, h.branch)
	}
	return h.onBranch[id], nil
}

// ask uses other while the history is not read; asked is false if the history must be read instead.
func (h *History) ask(ctx context.Context, ancestor, descendant plumbing.Hash) (asked, is bool) {
	if h.graph != nil || h.other == nil {
		return false, false
	}
	is, err := h.other.IsAncestor(ctx, ancestor.String(), descendant.String())
	return err == nil, is
}

// Resolve returns the full id of a commit on the branch, given as a Git revision: at least the first seven digits of its
// id, a branch, a tag, or an ancestor such as "main~1". If an id is not found, the branch is read again: the commit may
// have been pushed since.
func (h *History) Resolve(ctx context.Context, revision string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := strings.TrimSpace(revision)
	if !giturl.IsCommit(text) {
		id, err := h.reader.commitOf(ctx, h.source, text, h.branch)
		if err != nil {
			return "", h.explain(err)
		}
		text = id.String()
	}
	text = strings.ToLower(text)
	id, err := h.resolve(ctx, text)
	if known, ok := errors.AsType[*giterror.Error](err); ok && known.Rule == giterror.RuleCommitNotFound {
		if err = h.refresh(ctx); err == nil {
			id, err = h.resolve(ctx, text)
		}
	}
	return id, h.explain(err)
}

func (h *History) resolve(ctx context.Context, text string) (string, error) {
	if plumbing.IsHash(text) {
		has, err := h.has(ctx, plumbing.NewHash(text))
		if err == nil && !has {
			err = h.notOnBranch(text)
		}
		return text, err
	}
	if err := h.read(ctx, true); err != nil {
		return "", err
	}
	found := gitobject.WithPrefix(h.onBranch, text)
	switch {
	case len(found) == 1:
		return found[0].String(), nil
	case len(found) > 1:
		return "", giterror.New(giterror.RuleCommitNotFound, "commit %s is ambiguous on branch %q of %s: %s and %s",
			text, h.branch, h.at, found[0], found[1]).WithHint("use more digits")
	case !h.whole:
		return "", h.undecided("which commit of the branch %q begins with %s", h.branch, text)
	default:
		return "", h.notOnBranch(text)
	}
}

func (h *History) notOnBranch(commit string) *giterror.Error {
	return giterror.New(giterror.RuleCommitNotFound, "commit %s not found on branch %q of %s", commit, h.branch, h.at).
		WithHint(fmt.Sprintf("it may be on another branch or not pushed; `git log %s` lists its commits", h.branch))
}

// undecided returns the error for a result that depends on missing commits.
func (h *History) undecided(format string, args ...any) *giterror.Error {
	return giterror.New(RuleCutHistory, "%s has a shallow history: cannot determine %s", h.at, fmt.Sprintf(format, args...)).
		WithHint(h.source.CutHint())
}

// Relation returns the relation of b to a, both given by their full ids. It is Unknown if one of them is not on the
// branch, unless they are the same.
func (h *History) Relation(ctx context.Context, a, b string) (gitobject.Relation, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	from, err := giturl.FullID(a)
	if err != nil {
		return gitobject.Unknown, err
	}
	to, err := giturl.FullID(b)
	if err != nil {
		return gitobject.Unknown, err
	}
	relation, err := h.relation(ctx, from, to)
	return relation, h.explain(err)
}

func (h *History) relation(ctx context.Context, a, b plumbing.Hash) (gitobject.Relation, error) {
	if a == b {
		return gitobject.Same, nil
	}
	for _, id := range []plumbing.Hash{a, b} {
		if has, err := h.has(ctx, id); err != nil || !has {
			return gitobject.Unknown, err
		}
	}
	if relation, asked := h.askRelation(ctx, a, b); asked {
		return relation, nil
	}
	if err := h.read(ctx, true); err != nil {
		return gitobject.Unknown, err
	}
	if !h.onBranch[a] || !h.onBranch[b] {
		return gitobject.Unknown, nil
	}
	relation, decided := h.graph.Relate(a, b)
	if !decided {
		return gitobject.Unknown, h.undecided("which of the commits %s and %s is newer", a, b)
	}
	return relation, nil
}

// askRelation is ask for a relation.
func (h *History) askRelation(ctx context.Context, a, b plumbing.Hash) (relation gitobject.Relation, asked bool) {
	newer, isNewer := h.ask(ctx, a, b)
	if isNewer {
		return gitobject.Newer, true
	}
	older, isOlder := h.ask(ctx, b, a)
	switch {
	case isOlder:
		return gitobject.Older, true
	default:
		return gitobject.Apart, newer && older
	}
}

// Line returns at most that many ancestors of a commit along first parents, the nearest first: the former tips of the
// branch. It ends where a shallow history does, and is empty for a commit that is not on the branch. commit is a full id.
func (h *History) Line(ctx context.Context, commit string, most int) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.read(ctx, true); err != nil {
		return nil, h.explain(err)
	}
	id, err := giturl.FullID(commit)
	if err != nil {
		return nil, h.explain(err)
	}
	if !h.onBranch[id] {
		return nil, nil
	}
	return h.graph.Line(id, most), nil
}

func (h *History) explain(err error) error { return h.reader.Clean(h.at.Explain(err)) }
