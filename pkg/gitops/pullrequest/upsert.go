package pullrequest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// upsert is the state of a submission.
type upsert struct {
	prs  Forge
	want Submission

	pr      Request
	section section
	action  Action
	closed  []Request
	notes   []string
}

func newUpsert(prs Forge, s Submission) *upsert {
	fresh := section{marker: marker{environment: s.Environment, path: normalPath(s.Path), tree: s.Tree, promoted: s.Promoted}}
	return &upsert{prs: prs, want: s, section: fresh, action: Unchanged}
}

func (u *upsert) result() Result {
	return Result{Action: u.action, PullRequest: u.pr, Closed: u.closed, Notes: u.notes}
}

func (u *upsert) note(format string, args ...any) {
	u.notes = append(u.notes, fmt.Sprintf(format, args...))
}

func (u *upsert) wrote() {
	if u.action == Unchanged {
		u.action = Updated
	}
}

// take selects an open pull request to update.
func (u *upsert) take(p Request) {
	u.pr = p
	found, ours := findSection(p.Body, u.want.Environment, u.want.Path)
	if !ours {
		found = section{marker: u.section.marker, before: strings.TrimRight(p.Body, "\r\n ")}
		found.marker.adopted = true
		if found.before != "" {
			found.before += "\n\n"
		}
	}
	found.marker.tree, found.marker.promoted = u.want.Tree, u.want.Promoted
	found.marker.closed = false // a person reopened it
	found.marker.auto = found.marker.auto || u.want.mergesItself() && !p.AutoMerging && !p.Draft
	u.section = found
}

// declined returns the last pull request if a person closed it for the same tree, or nil.
func (u *upsert) declined(ctx context.Context) (*Request, error) {
	last, err := u.prs.Last(ctx, u.want.Head, u.want.Base)
	if err != nil || last == nil || last.State != Closed || u.want.Reopen {
		return nil, err
	}
	found, ours := findSection(last.Body, u.want.Environment, u.want.Path)
	if !ours || found.marker.closed || found.marker.tree != u.want.Tree {
		return nil, nil
	}
	return last, nil
}

func (u *upsert) open(ctx context.Context) (done bool, err error) {
	declined, err := u.declined(ctx)
	if err != nil {
		return true, err
	}
	if declined != nil {
		u.pr, u.action = *declined, Declined
		u.note("pull request #%d was closed by a person, and nothing has changed since: it is not opened again without --reopen", declined.Number)
		return true, nil
	}
	u.section.marker.auto = u.want.mergesItself() && !u.want.Draft
	created, existed, err := u.prs.Create(ctx, NewRequest{
		Head: u.want.Head, Base: u.want.Base, Draft: u.want.Draft,
		Title: cutTitle(u.want.Title), Body: u.section.with(u.want.Body),
	})
	if err != nil {
		return true, err
	}
	u.take(created)
	if !existed {
		u.action = Created
	}
	return false, nil
}

// stopAutoMerge turns off an auto-merge that kalypso turned on and that is not desired any more.
func (u *upsert) stopAutoMerge(ctx context.Context) error {
	if u.want.mergesItself() || !u.section.marker.auto {
		return nil
	}
	if u.pr.AutoMerging {
		if err := u.prs.KeepOpen(ctx, u.pr.Number); err != nil {
			return err
		}
		u.pr.AutoMerging = false
		u.wrote()
	}
	u.section.marker.auto, u.section.marker.on = false, false
	return nil
}

func (u *upsert) describe(ctx context.Context) error {
	title, body := cutTitle(u.want.Title), u.section.with(u.want.Body)
	if u.section.marker.adopted {
		title = u.pr.Title
	}
	if u.pr.State == Merged || title == u.pr.Title && SameMarkdown(body, u.pr.Body) {
		return nil
	}
	if err := u.prs.Edit(ctx, u.pr.Number, title, body); err != nil {
		return err
	}
	u.pr.Title, u.pr.Body = title, body
	u.wrote()
	return nil
}

func (u *upsert) label(ctx context.Context) error {
	wanted := slices.Clone(u.want.Labels)
	if u.want.Promoted {
		wanted = append(wanted, promotedLabel)
	}
	missing := without(wanted, u.pr.Labels)
	if len(missing) > 0 {
		if err := u.prs.AddLabels(ctx, u.pr.Number, missing); err != nil {
			return err
		}
		u.pr.Labels = append(slices.Clone(u.pr.Labels), missing...)
		u.wrote()
	}
	if hasLabel(wanted, promotedLabel) || !hasLabel(u.pr.Labels, promotedLabel) {
		return nil
	}
	if err := u.prs.RemoveLabel(ctx, u.pr.Number, promotedLabel); err != nil {
		return err
	}
	u.pr.Labels = without(u.pr.Labels, []string{promotedLabel})
	u.wrote()
	return nil
}

// hasLabel compares labels as GitHub does.
func hasLabel(labels []string, label string) bool {
	return slices.ContainsFunc(labels, func(l string) bool { return strings.EqualFold(l, label) })
}

// without returns the labels that are not among others, without duplicates.
func without(labels, others []string) []string {
	var rest []string
	for _, label := range labels {
		if !hasLabel(others, label) && !hasLabel(rest, label) {
			rest = append(rest, label)
		}
	}
	return rest
}

// supersede closes open pull requests of kalypso for the same environment from other heads.
func (u *upsert) supersede(ctx context.Context, open []Request) error {
	for _, p := range open {
		found, ours := findSection(p.Body, u.want.Environment, u.want.Path)
		if p.Head == u.want.Head || !ours || found.marker.adopted {
			continue
		}
		why := fmt.Sprintf("Closed in favour of #%d, which publishes the same environment.", u.pr.Number)
		closed, err := closeOurs(ctx, u.prs, p, found, why)
		if err != nil {
			return err
		}
		u.closed = append(u.closed, closed)
	}
	return nil
}

// ask requests reviewers and assignees, once: a person who removes the request is not asked again.
func (u *upsert) ask(ctx context.Context) error {
	if u.section.marker.asked || len(u.want.Reviewers)+len(u.want.Assignees) == 0 {
		return nil
	}
	var reviews, assigned error
	if len(u.want.Reviewers) > 0 {
		reviews = u.prs.RequestReviews(ctx, u.pr.Number, u.want.Reviewers)
	}
	if len(u.want.Assignees) > 0 {
		assigned = u.prs.Assign(ctx, u.pr.Number, u.want.Assignees)
	}
	if err := errors.Join(reviews, assigned); err != nil {
		return err
	}
	u.section.marker.asked = true
	u.wrote()
	return nil
}

// autoMerge turns auto-merge on, once: it stays off if somebody then turns it off.
func (u *upsert) autoMerge(ctx context.Context) error {
	switch {
	case !u.want.mergesItself():
		return nil
	case u.pr.AutoMerging:
		u.section.marker.on = u.section.marker.auto
		return nil
	case u.pr.Draft:
		u.note("pull request #%d is a draft, so it does not merge itself", u.pr.Number)
		return nil
	case u.section.marker.on:
		u.note("auto-merge of pull request #%d was turned off, and stays off", u.pr.Number)
		return nil
	}
	merged, note, err := u.prs.AutoMerge(ctx, u.pr.Number, u.want.HeadCommit)
	if err != nil {
		return err
	}
	if note != "" {
		u.note("%s", note)
	}
	if merged {
		u.pr.State = Merged
	}
	u.pr.AutoMerging, u.section.marker.on = !merged, !merged
	u.wrote()
	return nil
}

// verify checks after a write that the branch still has the submitted commit. So the last writer of two concurrent runs
// detects that it is the older one, in any order of requests.
func (u *upsert) verify(ctx context.Context) error {
	if u.action == Unchanged || u.pr.State == Merged {
		return nil
	}
	return stillAt(ctx, u.prs, u.want.Head, u.want.HeadCommit)
}
