package githubtest

import (
	"net/http"
	"slices"
)

func (c *call) requestReviewers() (answer, error) {
	i, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	asked, err := decode[struct {
		Reviewers []string
		Teams     []string `json:"team_reviewers"`
	}](c)
	if err != nil {
		return answer{}, err
	}
	if err := c.checkReviewers(i, asked.Reviewers, asked.Teams); err != nil {
		return answer{}, err
	}
	i.Reviewers = union(i.Reviewers, asked.Reviewers)
	i.Teams = union(i.Teams, asked.Teams)
	c.repo.touch(i)
	return created(c.repo.pullJSON(i))
}

// checkReviewers refuses reviewers that may not be, and all of them if it is one.
func (c *call) checkReviewers(i *item, people, teams []string) error {
	outside := func(login string) bool { return !c.repo.assignable(login) }
	strange := func(team string) bool { return !slices.Contains(c.repo.options.Teams, team) }
	const no = http.StatusUnprocessableEntity
	switch {
	case slices.Contains(people, i.Author):
		return refuse(no, "Review cannot be requested from pull request author.")
	case slices.ContainsFunc(people, outside), slices.ContainsFunc(teams, strange):
		return refuse(no, "Reviews may only be requested from collaborators. One or more of the users or teams you "+
			"specified is not a collaborator of the "+c.repo.Name+" repository.")
	case len(teams) > 0 && !c.token.has("members=read"): // GitHub's way to say so
		hidden := invalid()
		hidden.errors = append(hidden.errors, "Could not resolve to a node with the global id of 'T_"+teams[0]+"'.")
		return hidden
	}
	return nil
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
