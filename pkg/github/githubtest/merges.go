package githubtest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest/branchtest"
)

const (
	baseModified = "Base branch was modified. Review and try the merge again."
	headModified = "Head branch was modified. Review and try the merge again."
)

// checkMerge refuses a merge that may not be.
func (r *Repo) checkMerge(i *item, method, sha string) {
	const no = http.StatusMethodNotAllowed
	switch {
	case !i.Open:
		panic(refuse(no, "Pull Request is not mergeable"))
	case sha != "" && sha != i.HeadCommit:
		panic(refuse(http.StatusConflict, headModified))
	case !r.allows(method):
		panic(refuse(no, map[string]string{
			"merge": "Merge commits", "squash": "Squash merges", "rebase": "Rebase merges",
		}[method]+" are not allowed on this repository."))
	}
	switch r.mergeableState(i) {
	case "dirty", "draft":
		panic(refuse(no, "Pull Request is not mergeable"))
	case "blocked":
		panic(refuse(no, "Repository rule violations found\n\nRequired status checks have not succeeded.\n\n"))
	case "unknown":
		panic(refuse(no, baseModified))
	}
}

// mergeNow merges into the base, whatever the rules say.
func (r *Repo) mergeNow(i *item, login, method string) {
	r.mergeInto(i, login, branchtest.Merge{Method: method, Branch: i.Base, Base: i.BaseCommit})
}

// mergeInto merges into the branch that the merge names.
func (r *Repo) mergeInto(i *item, login string, how branchtest.Merge) {
	how.Head, how.Author, how.Unix = i.HeadCommit, login, r.site.now().Unix()
	how.Title = fmt.Sprintf("%s (#%d)", i.Title, i.Number)
	if how.Method == "merge" {
		how.Title = fmt.Sprintf("Merge pull request #%d from %s/%s\n\n%s", i.Number, r.owner(), i.Head, i.Title)
	}
	commit, err := r.branches.Merge(how)
	switch {
	case errors.Is(err, branchtest.ErrConflict):
		panic(refuse(http.StatusMethodNotAllowed, "Pull Request is not mergeable"))
	case errors.Is(err, branchtest.ErrBaseModified):
		panic(refuse(http.StatusMethodNotAllowed, baseModified))
	}
	i.Merged, i.MergedAt, i.MergeCommit = true, r.site.now(), commit
	r.close(i)
}

// mergeableState is what stands between an open pull request and its merge, in GitHub's words.
func (r *Repo) mergeableState(i *item) string {
	if i.mergeableState != "" {
		return i.mergeableState
	}
	succeeded, unstable := 0, false
	for _, at := range r.statuses.latest(i.HeadCommit) {
		status := r.statuses[at]
		if status.State != "success" {
			unstable = true
		} else if slices.Contains(r.options.RequiredChecks, status.Context) {
			succeeded++
		}
	}
	switch {
	case r.branches.Conflicts(i.BaseCommit, i.HeadCommit):
		return "dirty"
	case i.Draft:
		return "draft"
	case succeeded < len(r.options.RequiredChecks):
		return "blocked"
	case unstable:
		return "unstable"
	}
	return "clean"
}

// mergeWaiting merges those pull requests that were only waiting for what has come now.
func (r *Repo) mergeWaiting() {
	for _, i := range r.items {
		if !i.Open || i.AutoMerge == "" {
			continue
		}
		if s := r.mergeableState(i); s == "clean" || s == "unstable" {
			r.mergeNow(i, i.Author, i.AutoMerge)
		}
	}
}

func mergeMethods() []string { return []string{"merge", "squash", "rebase"} }

// noAutoMerge says why a pull request may not merge itself, or nothing.
func (r *Repo) noAutoMerge(i *item, method, expected string) string {
	mergeable := ""
	if i.Open {
		mergeable = r.mergeableState(i)
	}
	switch {
	case !r.options.AllowAutoMerge:
		return "Pull request Auto merge is not allowed for this repository"
	case !i.Open:
		return "Pull request is closed"
	case expected != i.HeadCommit:
		return headModified
	case !r.allows(method):
		return "Pull request Merge method " + method + " merging is not allowed on this repository"
	case mergeable != "blocked" && mergeable != "behind" && mergeable != "unknown":
		return "Pull request Pull request is in " + mergeable + " status"
	}
	return ""
}
