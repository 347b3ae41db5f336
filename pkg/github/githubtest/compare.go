package githubtest

import (
	"fmt"
	"net/http"
	"strings"
)

// compare tells how two commits stand to each other, of which git knows. It shows no files.
func (c *call) compare() (answer, error) {
	from, to, both := strings.Cut(c.values["basehead"], "...")
	base, err := c.repo.resolve(from)
	if err != nil {
		return answer{}, err
	}
	head, err := c.repo.resolve(to)
	if err != nil {
		return answer{}, err
	}
	if !both || base == "" || head == "" {
		return answer{}, notFound()
	}
	common, err := c.repo.branches.mergeBase(base, head)
	if err != nil {
		return answer{}, err
	}
	if common == "" {
		return answer{}, refuse(http.StatusNotFound, fmt.Sprintf("No common ancestor between %s and %s.", from, to))
	}
	ahead, err := c.repo.branches.between(base, head)
	if err != nil {
		return answer{}, err
	}
	behind, err := c.repo.branches.between(head, base)
	if err != nil {
		return answer{}, err
	}
	a, err := page(c, ahead, c.repo.commitJSON)
	url := c.repo.url() + "/compare/" + c.values["basehead"]
	web := c.repo.web() + "/compare/" + c.values["basehead"]
	a.body = object{
		"status": standing(len(ahead), len(behind)), "ahead_by": len(ahead), "behind_by": len(behind),
		"total_commits": len(ahead), "commits": a.body, "files": []object{},
		"base_commit": c.repo.commitJSON(base), "merge_base_commit": c.repo.commitJSON(common),
		"url": url, "html_url": web, "permalink_url": web, "diff_url": web + ".diff", "patch_url": web + ".patch",
	}
	return a, err
}

// standing is how a commit stands to another, in GitHub's words.
func standing(ahead, behind int) string {
	switch {
	case ahead > 0 && behind > 0:
		return "diverged"
	case ahead > 0:
		return "ahead"
	case behind > 0:
		return "behind"
	}
	return "identical"
}

func (r *Repo) commitJSON(commit string) object {
	return object{"sha": commit, "url": r.url() + "/commits/" + commit, "html_url": r.web() + "/commit/" + commit}
}
