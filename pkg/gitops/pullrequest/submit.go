package pullrequest

import (
	"context"
	"fmt"
	"slices"
)

// promotedLabel is on a pull request exactly if it changes the promoted commit.
const promotedLabel = "promoted"

// check refuses what cannot stand in a marker.
func (s Submission) check() error {
	switch {
	case !environmentName.MatchString(s.Environment):
		return fmt.Errorf("%q is not the name of an environment", s.Environment)
	case !treeID.MatchString(s.Tree):
		return fmt.Errorf("%q is not the id of a tree", s.Tree)
	case s.Head == s.Base:
		return fmt.Errorf("a pull request from %q into itself", s.Head)
	}
	return nil
}

// mergesItself reports whether the pull request is to merge itself.
func (s Submission) mergesItself() bool {
	return s.AutoMerge == AutoMergeAlways || s.AutoMerge == AutoMergeNoChange && s.Idle
}

// Prepare is for before the branch is pushed. It turns off an auto-merge that we turned on, if what is to be
// pushed must be looked at by a person. It returns the pull request that a person closed for the same tree, for
// which nothing needs to be pushed; or nil.
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

// Submit makes the pull request of an environment what it should be: opens it, or updates the one that is
// open from the same head into the same base, and only what differs of it. A person's pull request from that
// head is used, since there can be only one: its title and text stay, ours goes below. Others of ours for the same
// environment and base are closed in its favour. A second Submit of the same changes nothing.
//
// With an error the result is what was reached; giterror.ErrConflict means to start over from reading.
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
		u.describe, // the marker says what was done
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
// open pull requests, unless people have changed our text. It returns the one from the same head.
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

// complete reports whether a pull request has all that was to be done for a submission.
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
