package pullrequest

import (
	"context"
	"fmt"
	"slices"
)

// promotedLabel is the label of pull requests that change the promoted commit.
const promotedLabel = "promoted"

// check returns an error for values that cannot be in a marker.
func (s Submission) check() error {
	switch {
	case !environmentName.MatchString(s.Environment):
		return fmt.Errorf("%q is not the name of an environment", s.Environment)
	case !treeID.MatchString(s.Tree):
		return fmt.Errorf("%q is not a tree SHA", s.Tree)
	case s.Head == s.Base:
		return fmt.Errorf("a pull request from %q into itself", s.Head)
	}
	return nil
}

func (s Submission) mergesItself() bool {
	return s.AutoMerge == AutoMergeAlways || s.AutoMerge == AutoMergeNoChange && s.Idle
}

// Prepare is called before the branch is pushed. It turns off an auto-merge of kalypso if a person must review the new
// commit. It returns the pull request that a person closed for the same tree, which need not be pushed; or nil.
func Prepare(ctx context.Context, prs Forge, s Submission) (declined *Request, err error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	open, err := prs.Open(ctx, s.Base)
	if err != nil {
		return nil, err
	}
	u := newUpsert(prs, s)
	if current, found := byHead(open, s.Head); found {
		u.take(current)
		return nil, u.stopAutoMerge(ctx)
	}
	return u.declined(ctx)
}

// Submit opens the pull request of an environment, or updates the open one with the same head and base where it differs.
// There can be only one: if a person opened it, its title and text are kept, and the text of kalypso is added below. Other
// pull requests of kalypso for the same environment and base are closed in its favour. Submit is idempotent.
//
// With an error the result is partial; giterror.ErrConflict means to start again from reading.
func Submit(ctx context.Context, prs Forge, s Submission) (Result, error) {
	if err := s.check(); err != nil {
		return Result{}, err
	}
	open, err := prs.Open(ctx, s.Base)
	if err != nil {
		return Result{}, err
	}
	u := newUpsert(prs, s)
	if current, found := byHead(open, s.Head); found {
		u.take(current)
	} else if done, err := u.open(ctx); done || err != nil {
		return u.result(), err
	}
	for _, step := range []func(context.Context) error{
		u.stopAutoMerge,
		u.describe,
		u.label,
		func(ctx context.Context) error { return u.supersede(ctx, open) },
		u.ask,
		u.autoMerge,
		u.describe, // the marker records the previous steps
		u.verify,
	} {
		if err := step(ctx); err != nil {
			return u.result(), err
		}
	}
	return u.result(), nil
}

func byHead(open []Request, head string) (Request, bool) {
	at := slices.IndexFunc(open, func(p Request) bool { return p.Head == head })
	if at < 0 {
		return Request{}, false
	}
	return open[at], true
}

// Settled reports whether Submit of a submission or, if it is not proposed any more, Withdraw would change none of the
// open pull requests. It ignores changes of kalypso's text by people. It returns the one from the same head.
func Settled(want Submission, proposed bool, open []Request) (current *Request, ok bool) {
	found, isOpen := byHead(open, want.Head)
	if isOpen {
		current = &found
	}
	others := slices.ContainsFunc(open, func(p Request) bool {
		found, ours := findSection(p.Body, want.Environment, want.Path)
		return p.Head != want.Head && ours && !found.marker.adopted
	})
	return current, !others && isOpen == proposed && (!isOpen || want.complete(found))
}

func (s Submission) complete(p Request) bool {
	section, ours := findSection(p.Body, s.Environment, s.Path)
	m := section.marker
	switch {
	case !ours, m.closed, m.tree != s.Tree, p.HeadCommit != s.HeadCommit:
		return false
	case len(without(s.Labels, p.Labels)) > 0, hasLabel(p.Labels, promotedLabel) != (m.promoted || hasLabel(s.Labels, promotedLabel)):
		return false
	case !m.asked && len(s.Reviewers)+len(s.Assignees) > 0:
		return false
	case s.AutoMerge == AutoMergeNever:
		return !m.auto
	}
	return p.AutoMerging && m.auto == m.on
}
