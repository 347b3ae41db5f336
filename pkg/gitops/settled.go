package gitops

import "slices"

// Settled reports, from the open pull requests into a destination's branch, whether nothing is left to be done
// for its latest output: one is open for what is proposed, and has all that request asks for; none is open of ours
// where all is published. Then Submit and Withdraw would change nothing, unless people have changed our text. A run
// may have been stopped between any two of its requests, so all of them leave traces that are looked for here.
//
// It returns the open one. Of request only what the command line says counts.
func (d *Destination) Settled(latest Latest, request Submission, open []PullRequest) (current *PullRequest, settled bool) {
	request.Environment, request.Path, request.Head = latest.Environment, cleanPath(d.Repo.Path.Value), d.Head
	request.HeadCommit, request.Tree = latest.Commit, latest.Tree
	found, isOpen := byHead(open, d.Head)
	if isOpen {
		current = &found
	}
	others := slices.ContainsFunc(open, func(p PullRequest) bool {
		found, ours := findSection(p.Body, request.Environment, request.Path)
		return p.Head != d.Head && ours && !found.marker.adopted
	})
	return current, !others && isOpen == latest.Proposed && (!isOpen || request.complete(found))
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
