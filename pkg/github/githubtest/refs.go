package githubtest

import (
	"maps"
	"net/http"
	"strings"
)

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

func (c *call) showBranch() (answer, error) {
	tips, err := c.repo.branches.tips()
	if err != nil {
		return answer{}, err
	}
	branch := c.values["branch"]
	if tips[branch] == "" {
		return answer{}, refuse(http.StatusNotFound, "Branch not found")
	}
	url := c.repo.url() + "/branches/" + branch
	return ok(object{
		"name": branch, "commit": object{"sha": tips[branch], "url": c.repo.url() + "/commits/" + tips[branch]},
		"protected":      len(c.repo.options.Rules[branch]) > 0,
		"_links":         object{"self": url, "html": c.repo.web() + "/tree/" + branch},
		"protection_url": url + "/protection",
	})
}

func (c *call) listRules() (answer, error) {
	return page(c, c.repo.options.Rules[c.values["branch"]], func(r Rule) object {
		o := object{
			"type": r.Type, "ruleset_source_type": "Repository", "ruleset_source": c.repo.Name, "ruleset_id": r.Ruleset,
		}
		if r.Parameters != nil {
			o["parameters"] = maps.Clone(r.Parameters)
		}
		return o
	})
}

func (c *call) showPermission() (answer, error) {
	login := c.values["username"]
	access := c.repo.options.Collaborators[login]
	switch {
	case access != "":
	case c.repo.options.Private:
		access = "none"
	default:
		access = "read"
	}
	return ok(object{"permission": access, "role_name": access, "user": c.repo.user(login)})
}
