package githubtest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// act does something as people and git do it, outside the API.
func (r *Repo) act(do func() error) {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	err := r.sync()
	if err == nil {
		err = do()
	}
	if err == nil {
		err = r.sync()
	}
	if err != nil {
		r.server.options.Fail(fmt.Errorf("%s: %w", r.Name, err))
	}
}

// aPerson is who acts outside the API.
const aPerson = "a-person"

// must finds an item that a test says is there.
func (r *Repo) must(number int) (*item, error) {
	if i := r.find(number); i != nil {
		return i, nil
	}
	return nil, fmt.Errorf("there is no issue or pull request %d", number)
}

// on does something with an item.
func (r *Repo) on(number int, do func(*item) error) {
	r.act(func() error {
		i, err := r.must(number)
		if err != nil {
			return err
		}
		return do(i)
	})
}

// OpenPull opens a pull request as a person does; of p it takes Head, Base, Title, Body, Author, Labels and Draft.
func (r *Repo) OpenPull(p Pull) Pull {
	var opened Pull
	r.act(func() error {
		i, err := r.open(Pull{
			Issue: Issue{Title: p.Title, Body: p.Body, Author: p.Author}, Head: p.Head, Base: p.Base, Draft: p.Draft,
		})
		if err != nil {
			return err
		}
		r.labelAll(i, p.Labels)
		opened = i.clone()
		return nil
	})
	return opened
}

// OpenIssue opens an issue; of i it takes Title, Body, Author and Labels.
func (r *Repo) OpenIssue(i Issue) Issue {
	var opened Issue
	r.act(func() error {
		made := r.add(&item{Pull: Pull{Issue: Issue{Title: i.Title, Body: i.Body, Author: i.Author}}})
		r.labelAll(made, i.Labels)
		opened = made.cloneIssue()
		return nil
	})
	return opened
}

func (r *Repo) labelAll(i *item, names []string) {
	for _, name := range names {
		r.label(i, []labelName{labelName(name)})
	}
}

// Close closes an issue or a pull request.
func (r *Repo) Close(number int) {
	r.on(number, func(i *item) error {
		r.close(i)
		return nil
	})
}

// Reopen opens an issue or a pull request again.
func (r *Repo) Reopen(number int) {
	r.on(number, func(i *item) error {
		if i.pull {
			return r.setPullState(i, "open")
		}
		r.reopen(i)
		return nil
	})
}

// Edit changes the title and the body of an issue or a pull request.
func (r *Repo) Edit(number int, title, body string) {
	r.on(number, func(i *item) error {
		i.Title, i.Body = title, body
		r.touch(i)
		return nil
	})
}

// Retarget gives a pull request another base.
func (r *Repo) Retarget(number int, base string) {
	r.on(number, func(i *item) error {
		retargeted := i.Pull
		if err := r.retarget(&retargeted, base); err != nil {
			return err
		}
		i.Pull = retargeted
		r.touch(i)
		return nil
	})
}

// SetDraft makes a pull request a draft, or says that it is ready for review.
func (r *Repo) SetDraft(number int, draft bool) {
	r.on(number, func(i *item) error {
		i.Draft = draft
		r.touch(i)
		return nil
	})
}

// Comment adds a comment.
func (r *Repo) Comment(number int, author, body string) {
	r.on(number, func(i *item) error {
		r.comment(i, author, body)
		return nil
	})
}

// SetLabels sets the labels of an issue or a pull request.
func (r *Repo) SetLabels(number int, names ...string) {
	r.on(number, func(i *item) error {
		i.Labels = nil
		r.labelAll(i, names)
		r.touch(i)
		return nil
	})
}

// MergePull merges a pull request whatever the rules say, by "merge", "squash" or "rebase", and returns what
// the base came to be.
func (r *Repo) MergePull(number int, method string) string {
	var commit string
	r.on(number, func(i *item) error {
		if !i.pull || !i.Open {
			return fmt.Errorf("%d is not an open pull request", number)
		}
		if !slices.Contains(mergeMethods(), method) {
			return fmt.Errorf("there is no merge method %q", method)
		}
		err := r.mergeNow(i, aPerson, merge{method: method})
		commit = i.MergeCommit
		return err
	})
	return commit
}

// SetMergeableState overrides what stands between a pull request and its merge: "clean", "unstable", "blocked",
// "behind", "dirty", "unknown". Empty means that it is computed again.
func (r *Repo) SetMergeableState(number int, state string) {
	r.on(number, func(i *item) error {
		i.mergeableState = state
		return r.mergeWaiting()
	})
}

// SetBranch moves a branch to a commit, or makes it.
func (r *Repo) SetBranch(branch, commit string) {
	r.act(func() error { return r.branches.set(branch, commit) })
}

// DeleteBranch deletes a branch.
func (r *Repo) DeleteBranch(branch string) { r.SetBranch(branch, "") }

// Push adds commits to the bare repository and returns their ids.
func (r *Repo) Push(commits ...gitopstest.Commit) []string {
	var ids []string
	r.act(func() (err error) {
		ids, err = gitopstest.Add(r.options.Dir, commits...)
		return err
	})
	return ids
}

// SetOptions changes how the repository is set up. Its folder and its labels stay.
func (r *Repo) SetOptions(change func(*RepoOptions)) {
	r.act(func() error {
		dir := r.options.Dir
		change(&r.options)
		r.options.Dir = dir
		return nil
	})
}

// Pulls are all pull requests, the oldest first.
func (r *Repo) Pulls() []Pull {
	var pulls []Pull
	r.act(func() error {
		for _, i := range r.items {
			if i.pull {
				pulls = append(pulls, i.clone())
			}
		}
		return nil
	})
	return pulls
}

// OpenPulls are the open pull requests, the oldest first.
func (r *Repo) OpenPulls() []Pull {
	return slices.DeleteFunc(r.Pulls(), func(p Pull) bool { return !p.Open })
}

// Pull is a pull request.
func (r *Repo) Pull(number int) Pull {
	var found Pull
	r.on(number, func(i *item) error {
		found = i.clone()
		return nil
	})
	return found
}

// Issues are all issues that are not pull requests, the oldest first.
func (r *Repo) Issues() []Issue {
	var issues []Issue
	r.act(func() error {
		for _, i := range r.items {
			if !i.pull {
				issues = append(issues, i.cloneIssue())
			}
		}
		return nil
	})
	return issues
}

// Comments are the comments on an issue or a pull request, the oldest first.
func (r *Repo) Comments(number int) []Comment { return r.Pull(number).Comments }

// Labels are the labels that the repository has.
func (r *Repo) Labels() []Label {
	var labels []Label
	r.act(func() error {
		labels = slices.Clone(r.labels)
		return nil
	})
	return labels
}

// SetStatus adds a status to a commit. Without an author, the author is that of a workflow's GITHUB_TOKEN.
func (r *Repo) SetStatus(status Status) {
	r.act(func() error {
		status.Created, status.Author = r.server.now(), cmp.Or(status.Author, actionsLogin)
		r.statuses = append(r.statuses, status)
		return r.mergeWaiting()
	})
}

// Statuses are all statuses of a commit, the oldest first.
func (r *Repo) Statuses(commit string) []Status {
	var found []Status
	r.act(func() error {
		for _, status := range r.statuses {
			if status.Commit == commit {
				found = append(found, status)
			}
		}
		return nil
	})
	return found
}

// AllStatuses are those of all commits, the oldest first.
func (r *Repo) AllStatuses() []Status {
	var all []Status
	r.act(func() error {
		all = slices.Clone(r.statuses)
		return nil
	})
	return all
}

// NewestStatuses are the newest statuses of a commit, one for each context, the newest first.
func (r *Repo) NewestStatuses(commit string) []Status {
	var found []Status
	r.act(func() error {
		for _, at := range r.latest(commit) {
			found = append(found, r.statuses[at])
		}
		return nil
	})
	return found
}

// Dispatches are the events that were sent, the oldest first.
func (r *Repo) Dispatches() []Dispatch {
	var events []Dispatch
	r.act(func() error {
		events = slices.Clone(r.events)
		return nil
	})
	return events
}

// Branches are the tips of the branches.
func (r *Repo) Branches() map[string]string {
	var tips map[string]string
	r.act(func() (err error) {
		tips, err = r.branches.tips()
		return err
	})
	return tips
}
