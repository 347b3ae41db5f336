package githubtest

import "strings"

func (c *call) showRef() (answer, error) {
	branch, isBranch := strings.CutPrefix(c.values["ref"], "heads/")
	tips, err := c.repo.branches.tips()
	if err != nil {
		return answer{}, err
	}
	if !isBranch || tips[branch] == "" {
		return answer{}, notFound()
	}
	return ok(object{
		"ref": "refs/heads/" + branch, "node_id": "REF_" + branch, "url": c.repo.url() + "/git/refs/heads/" + branch,
		"object": object{"type": "commit", "sha": tips[branch], "url": c.repo.url() + "/git/commits/" + tips[branch]},
	})
}
