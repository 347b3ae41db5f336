package githubtest

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	titleLimit = 256
	bodyLimit  = 65_536
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

// inState reports whether an item is in the state that is asked for, which is open if none is.
func (c *call) inState(i *item) bool {
	asked := cmp.Or(c.query.Get("state"), "open")
	return asked == "all" || asked == state(i.Open)
}

// sort sorts by creation, the newest first unless something else is asked for.
func (c *call) sort(items []*item) {
	if c.query.Get("direction") != "asc" {
		slices.Reverse(items)
	}
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

// open opens a pull request, if GitHub would.
func (r *Repo) open(p Pull) *item {
	checkText(p.Title, p.Body)
	p.Head = strings.TrimPrefix(p.Head, r.owner()+":")
	p = r.atTips(p)
	r.checkBranches(p)
	return r.add(&item{Pull: p, pull: true})
}

// atTips returns a pull request with the commits that its branches have now.
func (r *Repo) atTips(p Pull) Pull {
	tips := r.branches.Tips()
	p.HeadCommit, p.BaseCommit = tips[p.Head], tips[p.Base]
	return p
}

// checkText refuses titles and bodies that GitHub refuses. Its limits count characters.
func checkText(title, body string) {
	problem := fieldError{Resource: "Issue", Code: "custom", Field: "title"}
	switch {
	case strings.TrimSpace(title) == "":
		problem.Code = "missing_field"
	case utf8.RuneCountInString(title) > titleLimit:
		problem.Message = "title is too long (maximum is 256 characters)"
	case utf8.RuneCountInString(body) > bodyLimit:
		problem.Field, problem.Message = "body", "body is too long (maximum is 65536 characters)"
	default:
		return
	}
	panic(invalid(problem))
}

// checkBranches refuses a pull request between branches that are not there, that differ in nothing, or that
// have one already.
func (r *Repo) checkBranches(p Pull) {
	problem := fieldError{Resource: "PullRequest", Code: "custom"}
	switch {
	case p.BaseCommit == "":
		problem.Code, problem.Field = "invalid", "base"
	case p.HeadCommit == "":
		problem.Code, problem.Field = "invalid", "head"
	case slices.ContainsFunc(r.items, func(other *item) bool {
		return other.pull && other.Open && other.Head == p.Head && other.Base == p.Base
	}):
		problem.Message = "A pull request already exists for " + r.owner() + ":" + p.Head + "."
	case !r.ahead(p.HeadCommit, p.BaseCommit):
		problem.Message = "No commits between " + p.Base + " and " + p.Head
	default:
		return
	}
	panic(invalid(problem))
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

func assign(to, from *string) {
	if from != nil {
		*to = *from
	}
}

// setPullState closes a pull request or opens it again, which not all can be.
func (r *Repo) setPullState(i *item, wanted string) {
	problem := fieldError{Resource: "PullRequest", Code: "custom", Field: "state"}
	switch {
	case wanted == state(i.Open):
		return
	case wanted == "closed":
		r.close(i)
		return
	case i.Merged:
		problem.Message = "state cannot be changed. The pull request cannot be reopened."
		panic(invalid(problem))
	}
	reopened := r.atTips(i.Pull)
	if catch(func() { r.checkBranches(reopened) }) != nil {
		problem.Message = "state cannot be changed. The " + i.Head + " branch was force-pushed or recreated."
		panic(invalid(problem))
	}
	i.Pull = reopened
	i.Open = true
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

// pullJSON is a pull request as lists have it.
func (r *Repo) pullJSON(i *item) object {
	o := r.sharedJSON(i, "pull")
	o["node_id"], o["draft"], o["merged_at"] = i.nodeID(r), i.Draft, orNull(i.MergedAt)
	o["head"], o["base"] = r.end(i.Head, i.HeadCommit), r.end(i.Base, i.BaseCommit)
	o["auto_merge"] = nil
	if i.AutoMerge != "" {
		o["auto_merge"] = object{"enabled_by": r.user(i.Author), "merge_method": i.AutoMerge}
	}
	return o
}

// end is the head or the base of a pull request.
func (r *Repo) end(branch, commit string) object {
	return object{
		"label": r.owner() + ":" + branch, "ref": branch, "sha": commit, "repo": r.json(), "user": r.user(r.owner()),
	}
}

// fullPullJSON is a pull request on its own, with whether it can be merged.
func (r *Repo) fullPullJSON(i *item) object {
	o := r.pullJSON(i)
	o["merged"], o["mergeable_state"] = i.Merged, "unknown"
	if i.Open {
		o["mergeable_state"] = r.mergeableState(i)
	}
	return o
}
