package githubtest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest/branchtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// act does something as people and git do it, outside the API.
func (r *Repo) act(do func()) {
	r.site.mu.Lock()
	defer r.site.mu.Unlock()
	err := catch(func() {
		r.sync()
		do()
		r.sync()
	})
	if err != nil {
		r.site.options.Fail(fmt.Errorf("%s: %w", r.Name, err))
	}
}

// aPerson is who acts outside the API.
const aPerson = "a-person"

// must finds an item that a test says is there.
func (r *Repo) must(number int) *item {
	i := r.find(number)
	if i == nil {
		check(fmt.Errorf("there is no issue or pull request %d", number))
	}
	return i
}

// on changes an item.
func (r *Repo) on(number int, change func(*item)) {
	r.act(func() { change(r.must(number)) })
}

// read returns a part of the repository, as it is after what was pushed.
func read[T any](r *Repo, part func() T) (found T) {
	r.act(func() { found = part() })
	return found
}

// OpenPull opens a pull request as a person does; of p it takes Head, Base, Title, Body, Author, Labels and Draft.
func (r *Repo) OpenPull(p Pull) Pull {
	return read(r, func() Pull {
		i := r.open(Pull{
			Issue: Issue{Title: p.Title, Body: p.Body, Author: p.Author}, Head: p.Head, Base: p.Base, Draft: p.Draft,
		})
		r.labels.put(i, p.Labels...)
		return i.clone()
	})
}

// OpenIssue opens an issue; of i it takes Title, Body, Author and Labels.
func (r *Repo) OpenIssue(i Issue) Issue {
	return read(r, func() Issue {
		made := r.add(&item{Pull: Pull{Issue: Issue{Title: i.Title, Body: i.Body, Author: i.Author}}})
		r.labels.put(made, i.Labels...)
		return made.cloneIssue()
	})
}

// Close closes an issue or a pull request.
func (r *Repo) Close(number int) { r.on(number, r.close) }

// Reopen opens an issue or a pull request again.
func (r *Repo) Reopen(number int) {
	r.on(number, func(i *item) {
		if i.pull {
			r.setPullState(i, "open")
		} else {
			i.Open = true
		}
	})
}

// Edit changes the title and the body of an issue or a pull request.
func (r *Repo) Edit(number int, title, body string) {
	r.on(number, func(i *item) { i.Title, i.Body = title, body })
}

// Retarget gives a pull request another base.
func (r *Repo) Retarget(number int, base string) {
	r.on(number, func(i *item) {
		retargeted := i.Pull
		retargeted.Base = base
		retargeted = r.atTips(retargeted)
		r.checkBranches(retargeted)
		i.Pull = retargeted
	})
}

// SetDraft makes a pull request a draft, or says that it is ready for review.
func (r *Repo) SetDraft(number int, draft bool) {
	r.on(number, func(i *item) { i.Draft = draft })
}

// Comment adds a comment.
func (r *Repo) Comment(number int, author, body string) {
	r.on(number, func(i *item) { r.comment(i, author, body) })
}

// SetLabels sets the labels of an issue or a pull request.
func (r *Repo) SetLabels(number int, names ...string) {
	r.on(number, func(i *item) {
		i.Labels = nil
		r.labels.put(i, names...)
	})
}

// MergePull merges a pull request whatever the rules say, by "merge", "squash" or "rebase", and returns what
// the base came to be.
func (r *Repo) MergePull(number int, method string) (commit string) {
	r.on(number, func(i *item) {
		if !i.pull || !i.Open {
			check(fmt.Errorf("%d is not an open pull request", number))
		}
		if !slices.Contains(mergeMethods(), method) {
			check(fmt.Errorf("there is no merge method %q", method))
		}
		r.mergeNow(i, aPerson, method)
		commit = i.MergeCommit
	})
	return commit
}

const queueLogin = "github-merge-queue[bot]"

// MergeQueue merges pull requests as a merge queue does that takes them for one group: one onto the other, on a branch
// of their own, which becomes the base in a single push. It returns what the base came to be.
func (r *Repo) MergeQueue(method string, numbers ...int) (tip string) {
	r.act(func() {
		if !slices.Contains(mergeMethods(), method) || len(numbers) == 0 {
			check(fmt.Errorf("a merge queue merges pull requests with a method, not %v with %q", numbers, method))
		}
		first := r.must(numbers[0])
		base := first.Base
		tip = first.BaseCommit
		branch := fmt.Sprintf("gh-readonly-queue/%s/pr-%d-%s", base, numbers[len(numbers)-1], tip)
		r.branches.Set(branch, tip)
		for _, number := range numbers {
			i := r.must(number)
			if !i.pull || !i.Open || i.Base != base {
				check(fmt.Errorf("%d is not an open pull request into %s", number, base))
			}
			r.mergeInto(i, queueLogin, branchtest.Merge{Method: method, Branch: branch, Base: tip})
			tip = i.MergeCommit
		}
		r.branches.Set(base, tip)
		r.branches.Set(branch, "")
	})
	return tip
}

// SetMergeableState overrides what stands between a pull request and its merge: "clean", "unstable", "blocked",
// "behind", "dirty", "unknown". Empty means that it is computed again.
func (r *Repo) SetMergeableState(number int, state string) {
	r.on(number, func(i *item) {
		i.mergeableState = state
		r.mergeWaiting()
	})
}

// SetBranch moves a branch to a commit, or makes it.
func (r *Repo) SetBranch(branch, commit string) {
	r.act(func() { r.branches.Set(branch, commit) })
}

// DeleteBranch deletes a branch.
func (r *Repo) DeleteBranch(branch string) { r.SetBranch(branch, "") }

// Protect makes a rule that a branch is changed by pull requests only: pushes to it are refused, by whomever.
func (r *Repo) Protect(branch string) {
	r.act(func() {
		if dir, ok := r.branches.(*branchtest.Dir); ok { // else nobody can push to it
			dir.Protect(branch)
		}
	})
}

// Push adds commits to the bare repository and returns their ids.
func (r *Repo) Push(commits ...gitopstest.Commit) []string {
	return read(r, func() []string { return must(gitopstest.Add(r.options.Dir, commits...)) })
}

// SetOptions changes how the repository is set up. Its folder and its labels stay.
func (r *Repo) SetOptions(change func(*RepoOptions)) {
	r.act(func() {
		dir := r.options.Dir
		change(&r.options)
		r.options.Dir = dir
	})
}

// Pulls are all pull requests, the oldest first.
func (r *Repo) Pulls() []Pull {
	return read(r, func() (pulls []Pull) {
		for _, i := range r.items {
			if i.pull {
				pulls = append(pulls, i.clone())
			}
		}
		return pulls
	})
}

// OpenPulls are the open pull requests, the oldest first.
func (r *Repo) OpenPulls() []Pull {
	return slices.DeleteFunc(r.Pulls(), func(p Pull) bool { return !p.Open })
}

// Pull is a pull request.
func (r *Repo) Pull(number int) Pull {
	return read(r, func() Pull { return r.must(number).clone() })
}

// Issues are all issues that are not pull requests, the oldest first.
func (r *Repo) Issues() []Issue {
	return read(r, func() (issues []Issue) {
		for _, i := range r.items {
			if !i.pull {
				issues = append(issues, i.cloneIssue())
			}
		}
		return issues
	})
}

// Comments are the comments on an issue or a pull request, the oldest first.
func (r *Repo) Comments(number int) []Comment { return r.Pull(number).Comments }

// Labels are the labels that the repository has.
func (r *Repo) Labels() []Label {
	return read(r, func() []Label { return slices.Clone(r.labels) })
}

// SetStatus adds a status to a commit. Without an author, the author is that of a workflow's GITHUB_TOKEN.
func (r *Repo) SetStatus(status Status) {
	r.act(func() {
		status.Created, status.Author = r.site.now(), cmp.Or(status.Author, actionsLogin)
		r.statuses = append(r.statuses, status)
		r.mergeWaiting()
	})
}

// AllStatuses are the statuses of all commits, the oldest first.
func (r *Repo) AllStatuses() []Status {
	return read(r, func() []Status { return slices.Clone(r.statuses) })
}

// Statuses are all statuses of a commit, the oldest first.
func (r *Repo) Statuses(commit string) []Status {
	return slices.DeleteFunc(r.AllStatuses(), func(s Status) bool { return s.Commit != commit })
}

// NewestStatuses are the newest statuses of a commit, one for each context, the newest first.
func (r *Repo) NewestStatuses(commit string) []Status {
	return read(r, func() (found []Status) {
		for _, at := range r.statuses.latest(commit) {
			found = append(found, r.statuses[at])
		}
		return found
	})
}

// Dispatches are the workflows that were started, the oldest first.
func (r *Repo) Dispatches() []Dispatch {
	return read(r, func() []Dispatch { return slices.Clone(r.events) })
}

// Branches are the tips of the branches.
func (r *Repo) Branches() map[string]string { return read(r, r.branches.Tips) }
