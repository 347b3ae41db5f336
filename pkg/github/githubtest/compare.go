package githubtest

import (
	"fmt"
	"net/http"
	"strings"
)

// compare answers how two commits relate. It shows no files.
func (c *call) compare() answer {
	from, to, both := strings.Cut(c.values["basehead"], "...")
	base, head := c.repo.resolve(from), c.repo.resolve(to)
	if !both || base == "" || head == "" {
		panic(notFound())
	}
	common := c.repo.branches.MergeBase(base, head)
	if common == "" {
		panic(refuse(http.StatusNotFound, fmt.Sprintf("No common ancestor between %s and %s.", from, to)))
	}
	ahead, behind := c.repo.branches.Between(base, head), c.repo.branches.Between(head, base)
	a := page(c, ahead, c.repo.commitJSON)
	a.body = object{
		"status": relation(len(ahead), len(behind)), "ahead_by": len(ahead), "behind_by": len(behind),
		"total_commits": len(ahead), "commits": a.body, "files": []object{},
		"base_commit": c.repo.commitJSON(base), "merge_base_commit": c.repo.commitJSON(common),
	}
	return a
}

// relation is how a commit relates to another, in GitHub's words.
func relation(ahead, behind int) string {
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
