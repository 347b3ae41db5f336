package gitops

import "slices"

// settled reports whether Submit of a submission or, if it is not proposed any more, Withdraw would change none of the
// open pull requests, unless people have changed our text. It returns the one from the same head.
func settled(want Submission, proposed bool, open []PullRequest) (current *PullRequest, ok bool) {
	found, isOpen := byHead(open, want.Head)
	if isOpen {
		current = &found
	}
	others := slices.ContainsFunc(open, func(p PullRequest) bool {
		found, ours := findSection(p.Body, want.Environment, want.Path)
		return p.Head != want.Head && ours && !found.marker.adopted
	})
	return current, !others && isOpen == proposed && (!isOpen || want.complete(found))
}

// complete reports whether a pull request has all that was to be done for a submission.
func (s Submission) complete(p PullRequest) bool {
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
