package githubtest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

const (
	baseModified = "Base branch was modified. Review and try the merge again."
	headModified = "Head branch was modified. Review and try the merge again."
)

func (c *call) mergePull() (answer, error) {
	i, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	asked, err := decode[struct {
		SHA     string `json:"sha"`
		Method  string `json:"merge_method"`
		Title   string `json:"commit_title"`
		Message string `json:"commit_message"`
	}](c)
	if err != nil {
		return answer{}, err
	}
	method := cmp.Or(asked.Method, "merge")
	if err := c.repo.checkMerge(i, method, asked.SHA); err != nil {
		return answer{}, err
	}
	if err := c.repo.mergeNow(i, c.login(), merge{method: method, title: asked.Title, message: asked.Message}); err != nil {
		return answer{}, err
	}
	return ok(object{"sha": i.MergeCommit, "merged": true, "message": "Pull Request successfully merged"})
}

// checkMerge refuses a merge that may not be.
func (r *Repo) checkMerge(i *item, method, sha string) error {
	const no = http.StatusMethodNotAllowed
	switch {
	case !i.Open:
		return refuse(no, "Pull Request is not mergeable")
	case i.Draft:
		return refuse(no, "Pull Request is still a draft")
	case sha != "" && sha != i.HeadCommit:
		return refuse(http.StatusConflict, headModified)
	case !r.allows(method):
		return refuse(no, map[string]string{
			"merge": "Merge commits", "squash": "Squash merges", "rebase": "Rebase merges",
		}[method]+" are not allowed on this repository.")
	}
	switch r.mergeableState(i) {
	case "dirty":
		return refuse(no, "Pull Request is not mergeable")
	case "blocked":
		return refuse(no, "Repository rule violations found\n\nRequired status checks have not succeeded.\n\n")
	case "unknown":
		return refuse(no, baseModified)
	}
	return nil
}

// mergeNow merges into the base, whatever the rules say.
func (r *Repo) mergeNow(i *item, login string, how merge) error {
	how.branch, how.base = i.Base, i.BaseCommit
	return r.mergeInto(i, login, how)
}

// mergeInto merges into the branch that the merge names.
func (r *Repo) mergeInto(i *item, login string, how merge) error {
	how.head, how.author, how.unix = i.HeadCommit, login, r.server.now().Unix()
	if how.title == "" {
		how.title = fmt.Sprintf("%s (#%d)", i.Title, i.Number)
		if how.method == "merge" {
			how.title = fmt.Sprintf("Merge pull request #%d from %s/%s", i.Number, r.owner(), i.Head)
			how.message = cmp.Or(how.message, i.Title)
		}
	}
	commit, err := r.branches.merge(how)
	switch {
	case errors.Is(err, errConflict):
		return refuse(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	case errors.Is(err, errMoved):
		return refuse(http.StatusMethodNotAllowed, baseModified)
	case err != nil:
		return fmt.Errorf("merge pull request %d: %w", i.Number, err)
	}
	i.Merged, i.MergedAt, i.MergedBy, i.MergeCommit = true, r.server.now(), login, commit
	r.close(i)
	return nil
}

// mergeableState is what stands between an open pull request and its merge, in GitHub's words.
func (r *Repo) mergeableState(i *item) string {
	if i.mergeableState != "" {
		return i.mergeableState
	}
	conflicts, err := r.branches.conflicts(i.BaseCommit, i.HeadCommit)
	statuses := r.latest(i.HeadCommit)
	required := func(s Status) bool { return slices.Contains(r.options.RequiredChecks, s.Context) }
	succeeded := 0
	unstable := false
	for _, at := range statuses {
		status := r.statuses[at]
		unstable = unstable || status.State != "success"
		if required(status) && status.State == "success" {
			succeeded++
		}
	}
	switch {
	case err != nil:
		return "unknown"
	case conflicts:
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
func (r *Repo) mergeWaiting() error {
	for _, i := range r.items {
		if !i.Open || i.AutoMerge == "" {
			continue
		}
		if s := r.mergeableState(i); s == "clean" || s == "unstable" {
			if err := r.mergeNow(i, i.Author, merge{method: i.AutoMerge}); err != nil {
				return err
			}
		}
	}
	return nil
}
