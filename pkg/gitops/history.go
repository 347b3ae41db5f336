package gitops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// RuleCutHistory is a history that is not all there, so that what is asked of it cannot be said.
const RuleCutHistory = "cut-history"

// Ancestry is another way to ask how commits of a repository stand to each other, for servers that cannot send
// commits without their files. Package github implements it.
type Ancestry interface {
	// IsAncestor reports whether descendant has ancestor in its history, or is it. Both are full ids. It is an error
	// if the repository does not have one of them.
	IsAncestor(ctx context.Context, ancestor, descendant string) (bool, error)
}

// Relation says how a commit stands to another one of the same branch.
type Relation string

// The relations of b seen from a.
const (
	// Same: they are one commit.
	Same Relation = "same"
	// Newer: b has a in its history.
	Newer Relation = "newer"
	// Older: a has b in its history.
	Older Relation = "older"
	// Apart: neither has the other, as with two lines that were merged later.
	Apart Relation = "apart"
	// Unknown: one of them is not on the branch as it was read last. It never was, or it is newer, or the branch
	// was forced to something else.
	Unknown Relation = "unknown"
)

// History is that of a branch, back to its beginning. It is safe for use by several goroutines, one of which it
// serves at a time.
type History struct {
	reader *Reader
	at     location
	branch string
	source archive
	other  Ancestry

	mu  sync.Mutex
	tip plumbing.Hash
	// lineage is nil as long as other is asked instead.
	lineage *lineage
}

// archive is where a history comes from.
type archive interface {
	// tipNow reads where a branch is by now.
	tipNow(ctx context.Context, branch string) (plumbing.Hash, error)
	// trace reads the history of a commit, as far as it is not here. Without force it is an errNotAlone if that means
	// to fetch more than commits.
	trace(ctx context.Context, of traced) ([]link, error)
	// cutHint says what a person can do about a history that is cut off.
	cutHint() string
}

// traced is a commit whose history is wanted.
type traced struct {
	tip plumbing.Hash
	// known is a commit that is here, as is its history; it may be zero.
	known plumbing.Hash
	here  func(plumbing.Hash) bool
	force bool
}

// errNotAlone is a server that does not send commits without their files.
var errNotAlone = errors.New("it cannot send commits alone")

// History reads the history of a branch; an empty ref.Branch is the default one, and ref.Commit is not looked at. Only
// commits are fetched, if the server can send them alone. If it cannot, other is asked, unless it is nil; the whole
// history with its files is fetched where that does not help. Errors are of the type *Error, here and in all methods.
func (r *Reader) History(ctx context.Context, ref model.Ref, other Ancestry) (*History, error) {
	r.prepare([]model.Ref{ref})
	at, err := r.locate(ref)
	if err != nil {
		return nil, r.clean(err)
	}
	h := &History{reader: r, at: at, other: other}
	if err := h.open(ctx, ref); err != nil {
		return nil, h.explain(err)
	}
	return h, h.explain(h.read(ctx, other == nil))
}

// open finds the branch. It is where the Reader has seen it.
func (h *History) open(ctx context.Context, ref model.Ref) error {
	if !h.at.address.local() {
		m, err := h.reader.remote(ctx, h.at, ref.Role)
		if err != nil {
			return err
		}
		h.source = m
		h.tip, h.branch, err = h.reader.remoteTip(ctx, h.at, ref)
		return err
	}
	opened, err := h.reader.openAt(ctx, h.at)
	if err != nil {
		return err
	}
	if opened.folder != nil {
		return noHistory(h.at)
	}
	found, err := opened.repo.branch(ref.Branch)
	if err != nil {
		return err
	}
	h.source, h.tip, h.branch = opened.repo, found.commit, found.name
	return nil
}

func noHistory(at location) *Error {
	return problem(RuleInvalidRepository, "%s is a plain folder, which has no history", at).hint("give a clone or a bare repository")
}

// read reads the history, if the server can send it alone or that is wanted at any price.
func (h *History) read(ctx context.Context, force bool) error {
	if h.lineage != nil {
		return nil
	}
	l := newLineage()
	links, err := h.source.trace(ctx, traced{tip: h.tip, here: l.has, force: force})
	if errors.Is(err, errNotAlone) {
		return nil
	}
	if err == nil {
		l.add(links)
		l.index(h.tip)
		h.lineage = l
	}
	return err
}

// Branch is the name of the branch.
func (h *History) Branch() string { return h.branch }

// Tip is the commit that the branch was at when it was read last.
func (h *History) Tip() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tip.String()
}

// Refresh reads where the branch is by now, and fetches what is new. If that does not succeed all stays as it was.
func (h *History) Refresh(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.explain(h.refresh(ctx))
}

func (h *History) refresh(ctx context.Context) error {
	tip, err := h.source.tipNow(ctx, h.branch)
	if err != nil || tip == h.tip {
		return err
	}
	if l := h.lineage; l != nil {
		var links []link
		if !l.has(tip) {
			if links, err = h.source.trace(ctx, traced{tip, h.tip, l.has, true}); err != nil {
				return err
			}
		}
		l.add(links)
		l.index(tip)
	}
	h.tip = tip
	return nil
}

// Has reports whether a commit, given by its full id, is on the branch.
func (h *History) Has(ctx context.Context, commit string) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, err := fullID(commit)
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
	_, onBranch := h.lineage.find(id)
	if tip, _ := h.lineage.find(h.tip); !onBranch && h.lineage.commits[tip].cut {
		return false, h.undecided("whether commit %s is on the branch %q", id, h.branch)
	}
	return onBranch, nil
}

// ask asks the other way, as long as the history is not read. What it cannot say is found out from the history.
func (h *History) ask(ctx context.Context, ancestor, descendant plumbing.Hash) (asked, is bool) {
	if h.lineage != nil || h.other == nil {
		return false, false
	}
	is, err := h.other.IsAncestor(ctx, ancestor.String(), descendant.String())
	return err == nil, is
}

// Resolve returns the full id of a commit on the branch, of which at least the first seven digits are given. If it is not
// there the branch is read anew: the commit may have been pushed since.
func (h *History) Resolve(ctx context.Context, abbreviation string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := strings.ToLower(strings.TrimSpace(abbreviation))
	id, err := h.resolve(ctx, text)
	var known *Error
	if errors.As(err, &known) && known.Rule == RuleCommitNotFound && IsCommit(text) {
		if err = h.refresh(ctx); err == nil {
			id, err = h.resolve(ctx, text)
		}
	}
	return id, h.explain(err)
}

// minAbbreviation is how many digits of an id are the fewest that people use.
const minAbbreviation = 7

func (h *History) resolve(ctx context.Context, text string) (string, error) {
	if len(text) < minAbbreviation || len(text) > 2*idSize || !isHex(text) {
		return "", problem(RuleCommitNotFound, "%q is not the id of a commit", oneLine(text)).
			hint(fmt.Sprintf("an id has 40 hexadecimal digits, of which the first %d or more will do", minAbbreviation))
	}
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
	found := h.lineage.beginning(text)
	tip, _ := h.lineage.find(h.tip)
	switch {
	case len(found) == 1:
		return found[0].String(), nil
	case len(found) > 1:
		return "", problem(RuleCommitNotFound, "%s has several commits on the branch %q that begin with %s: %s and %s",
			h.at, h.branch, text, found[0], found[1]).hint("give more digits")
	case h.lineage.commits[tip].cut:
		return "", h.undecided("which commit of the branch %q begins with %s", h.branch, text)
	default:
		return "", h.notOnBranch(text)
	}
}

func (h *History) notOnBranch(commit string) *Error {
	return problem(RuleCommitNotFound, "%s has no commit %s on the branch %q", h.at, commit, h.branch).
		hint(fmt.Sprintf("it may be on another branch, or not pushed yet; `git log %s` lists those that are there", h.branch))
}

// undecided is the error for what cannot be said without the rest of the history.
func (h *History) undecided(format string, args ...any) *Error {
	return problem(RuleCutHistory, "%s does not have all of its history, so it cannot be said %s", h.at, fmt.Sprintf(format, args...)).
		hint(h.source.cutHint())
}

// Relation says how b stands to a, both given by their full ids. It is Unknown if one of them is not on the branch,
// unless they are the same.
func (h *History) Relation(ctx context.Context, a, b string) (Relation, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	from, err := fullID(a)
	if err != nil {
		return Unknown, err
	}
	to, err := fullID(b)
	if err != nil {
		return Unknown, err
	}
	relation, err := h.relation(ctx, from, to)
	return relation, h.explain(err)
}

func (h *History) relation(ctx context.Context, a, b plumbing.Hash) (Relation, error) {
	if a == b {
		return Same, nil
	}
	for _, id := range []plumbing.Hash{a, b} {
		if has, err := h.has(ctx, id); err != nil || !has {
			return Unknown, err
		}
	}
	if relation, asked := h.askRelation(ctx, a, b); asked {
		return relation, nil
	}
	if err := h.read(ctx, true); err != nil {
		return Unknown, err
	}
	from, knowsA := h.lineage.find(a)
	to, knowsB := h.lineage.find(b)
	if !knowsA || !knowsB {
		return Unknown, nil
	}
	relation, decided := h.lineage.relate(from, to)
	if !decided {
		return Unknown, h.undecided("which of the commits %s and %s is newer", a, b)
	}
	return relation, nil
}

// askRelation is ask for a relation.
func (h *History) askRelation(ctx context.Context, a, b plumbing.Hash) (relation Relation, asked bool) {
	newer, isNewer := h.ask(ctx, a, b)
	if isNewer {
		return Newer, true
	}
	older, isOlder := h.ask(ctx, b, a)
	switch {
	case isOlder:
		return Older, true
	default:
		return Apart, newer && older
	}
}

// Between returns the commits of to that from does not have, children before their parents and else the newest
// first, at most as many as given. Both are full ids of commits on the branch.
func (h *History) Between(ctx context.Context, from, to string, most int) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found, err := h.between(ctx, from, to, most)
	return found, h.explain(err)
}

func (h *History) between(ctx context.Context, from, to string, most int) ([]string, error) {
	if err := h.read(ctx, true); err != nil {
		return nil, err
	}
	var numbers [2]int32
	for i, commit := range []string{from, to} {
		id, err := fullID(commit)
		if err != nil {
			return nil, err
		}
		has, err := h.has(ctx, id)
		if err != nil {
			return nil, err
		}
		if !has {
			return nil, h.notOnBranch(commit)
		}
		numbers[i], _ = h.lineage.find(id)
	}
	found, decided := h.lineage.between(numbers[0], numbers[1], most)
	if !decided {
		return nil, h.undecided("which commits came after %s", from)
	}
	ids := make([]string, len(found))
	for i, id := range found {
		ids[i] = id.String()
	}
	return ids, nil
}

// explain makes an Error of an error.
func (h *History) explain(err error) error { return h.reader.clean(h.at.explain(err)) }

// fullID reads the full id of a commit.
func fullID(commit string) (plumbing.Hash, error) {
	if !plumbing.IsHash(commit) {
		return plumbing.ZeroHash, problem(RuleCommitNotFound, "%q is not a full commit id of 40 hexadecimal digits", oneLine(commit))
	}
	return plumbing.NewHash(commit), nil
}
