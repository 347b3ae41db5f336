package githubtest

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

func (c *call) listPulls() answer {
	found := []*item{}
	head := c.query.Get("head")
	for _, i := range c.repo.items {
		if i.pull && c.inState(i) &&
			(!strings.Contains(head, ":") || head == c.repo.owner()+":"+i.Head) && // without an owner it is ignored
			(c.query.Get("base") == "" || c.query.Get("base") == i.Base) {
			found = append(found, i)
		}
	}
	c.sort(found)
	return page(c, found, c.repo.pullJSON)
}

func (c *call) createPull() answer {
	asked := decode[struct {
		Title, Head, Base, Body string
		Draft                   bool
	}](c)
	if c.repo.options.ActionsMayNotOpenPulls && c.login() == actionsLogin {
		panic(refuse(http.StatusForbidden, "GitHub Actions is not permitted to create or approve pull requests."))
	}
	return created(c.repo.fullPullJSON(c.repo.open(Pull{
		Issue: Issue{Title: asked.Title, Body: asked.Body, Author: c.login()},
		Head:  asked.Head, Base: asked.Base, Draft: asked.Draft,
	})))
}

// pull is the pull request that the path names.
func (c *call) pull() *item {
	i := c.repo.find(c.number("pull_number"))
	if i == nil || !i.pull {
		panic(notFound())
	}
	return i
}

func (c *call) showPull() answer { return ok(c.repo.fullPullJSON(c.pull())) }

func (c *call) updatePull() answer {
	i := c.pull()
	asked := decode[struct{ Title, Body, State *string }](c)
	title, body := i.Title, i.Body
	assign(&title, asked.Title)
	assign(&body, asked.Body)
	checkText(title, body)
	if asked.State != nil {
		c.repo.setPullState(i, *asked.State)
	}
	i.Title, i.Body = title, body
	return ok(c.repo.fullPullJSON(i))
}

func (c *call) requestReviewers() answer {
	i := c.pull()
	asked := decode[struct {
		Reviewers []string
		Teams     []string `json:"team_reviewers"`
	}](c)
	c.checkReviewers(i, asked.Reviewers, asked.Teams)
	i.Reviewers, i.Teams = union(i.Reviewers, asked.Reviewers), union(i.Teams, asked.Teams)
	return created(c.repo.pullJSON(i))
}

// checkReviewers refuses reviewers that may not be, and all of them if it is one.
func (c *call) checkReviewers(i *item, people, teams []string) {
	outside := func(login string) bool { return !c.repo.assignable(login) }
	unknown := func(team string) bool { return !slices.Contains(c.repo.options.Teams, team) }
	const no = http.StatusUnprocessableEntity
	switch {
	case slices.Contains(people, i.Author):
		panic(refuse(no, "Review cannot be requested from pull request author."))
	case slices.ContainsFunc(people, outside), slices.ContainsFunc(teams, unknown):
		panic(refuse(no, "Reviews may only be requested from collaborators. One or more of the users or teams you "+
			"specified is not a collaborator of the "+c.repo.Name+" repository."))
	case len(teams) > 0 && !c.token.has("members=read"): // GitHub's way to say so
		hidden := invalid()
		hidden.errors = append(hidden.errors, "Could not resolve to a node with the global id of 'T_"+teams[0]+"'.")
		panic(hidden)
	}
}

// union adds to a list what it does not have.
func union(list, more []string) []string {
	for _, one := range more {
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

func (c *call) mergePull() answer {
	i := c.pull()
	asked := decode[struct {
		SHA    string `json:"sha"`
		Method string `json:"merge_method"`
	}](c)
	method := cmp.Or(asked.Method, "merge")
	c.repo.checkMerge(i, method, asked.SHA)
	c.repo.mergeNow(i, c.login(), method)
	return ok(object{"sha": i.MergeCommit, "merged": true, "message": "Pull Request successfully merged"})
}
