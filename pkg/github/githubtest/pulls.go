package githubtest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	titleLimit = 256
	bodyLimit  = 65_536
)

func (c *call) listPulls() (answer, error) {
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

// inState tells whether an item is in the state that is asked for, which is open if none is.
func (c *call) inState(i *item) bool {
	asked := cmp.Or(c.query.Get("state"), "open")
	return asked == "all" || asked == state(i.Open)
}

// sort sorts by creation, or by the last change, the newest first unless something else is asked for.
func (c *call) sort(items []*item) {
	slices.SortStableFunc(items, func(a, b *item) int {
		if c.query.Get("sort") == "updated" {
			return cmp.Or(a.Updated.Compare(b.Updated), a.Number-b.Number)
		}
		return a.Number - b.Number
	})
	descending := c.query.Get("sort") == "" || c.query.Get("sort") == "created" || strings.HasSuffix(c.route.path, "/issues")
	if direction := c.query.Get("direction"); direction != "" {
		descending = direction == "desc"
	}
	if descending {
		slices.Reverse(items)
	}
}

func (c *call) createPull() (answer, error) {
	asked, err := decode[struct {
		Title, Head, Base, Body string
		Draft                   bool
		Issue                   *int
	}](c)
	if err != nil {
		return answer{}, err
	}
	if c.repo.options.ActionsMayNotOpenPulls && c.login() == actionsLogin {
		return answer{}, refuse(http.StatusForbidden, "GitHub Actions is not permitted to create or approve pull requests.")
	}
	if asked.Issue != nil {
		return answer{}, fmt.Errorf("the stand-in cannot make a pull request of an issue")
	}
	i, err := c.repo.open(Pull{
		Issue: Issue{Title: asked.Title, Body: asked.Body, Author: c.login()},
		Head:  asked.Head, Base: asked.Base, Draft: asked.Draft,
	})
	if err != nil {
		return answer{}, err
	}
	return created(c.repo.fullPullJSON(i))
}

// open opens a pull request, if GitHub would.
func (r *Repo) open(p Pull) (*item, error) {
	if err := r.checkText(p.Title, p.Body); err != nil {
		return nil, err
	}
	p.Head = strings.TrimPrefix(p.Head, r.owner()+":")
	tips, err := r.branches.tips()
	if err != nil {
		return nil, err
	}
	p.HeadCommit, p.BaseCommit = tips[p.Head], tips[p.Base]
	if err := r.checkBranches(p); err != nil {
		return nil, err
	}
	return r.add(&item{Pull: p, pull: true}), nil
}

// checkText refuses titles and bodies that GitHub refuses. Its limits count characters.
func (r *Repo) checkText(title, body string) error {
	switch {
	case strings.TrimSpace(title) == "":
		return invalid(fieldError{Resource: "Issue", Code: "missing_field", Field: "title"})
	case utf8.RuneCountInString(title) > titleLimit:
		return invalid(fieldError{
			Resource: "Issue", Code: "custom", Field: "title", Message: "title is too long (maximum is 256 characters)",
		})
	case utf8.RuneCountInString(body) > bodyLimit:
		return invalid(fieldError{
			Resource: "Issue", Code: "custom", Field: "body", Message: "body is too long (maximum is 65536 characters)",
		})
	}
	return nil
}

// checkBranches refuses a pull request between branches that are not there, that differ in nothing, or that
// have one already.
func (r *Repo) checkBranches(p Pull) error {
	if p.BaseCommit == "" {
		return invalid(fieldError{Resource: "PullRequest", Code: "invalid", Field: "base"})
	}
	if p.HeadCommit == "" {
		return invalid(fieldError{Resource: "PullRequest", Code: "invalid", Field: "head"})
	}
	for _, other := range r.items {
		if other.pull && other.Open && other.Head == p.Head && other.Base == p.Base {
			return invalid(custom("A pull request already exists for " + r.owner() + ":" + p.Head + "."))
		}
	}
	ahead, err := r.branches.ahead(p.HeadCommit, p.BaseCommit)
	if err != nil {
		return err
	}
	if !ahead {
		return invalid(custom("No commits between " + p.Base + " and " + p.Head))
	}
	return nil
}

func custom(message string) fieldError {
	return fieldError{Resource: "PullRequest", Code: "custom", Message: message}
}

// pull is the pull request that the path names.
func (c *call) pull() (*item, error) {
	i := c.repo.find(c.number("pull_number"))
	if i == nil || !i.pull {
		return nil, notFound()
	}
	return i, nil
}

func (c *call) showPull() (answer, error) {
	i, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	return ok(c.repo.fullPullJSON(i))
}

func (c *call) updatePull() (answer, error) {
	i, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	asked, err := decode[struct{ Title, Body, State, Base *string }](c)
	if err != nil {
		return answer{}, err
	}
	changed := i.Pull
	assign(&changed.Title, asked.Title)
	assign(&changed.Body, asked.Body)
	if err := c.repo.checkText(changed.Title, changed.Body); err != nil {
		return answer{}, err
	}
	if asked.Base != nil && *asked.Base != i.Base {
		if err := c.repo.retarget(&changed, *asked.Base); err != nil {
			return answer{}, err
		}
	}
	if asked.State != nil {
		if err := c.repo.setPullState(i, *asked.State); err != nil {
			return answer{}, err
		}
	}
	i.Title, i.Body, i.Base, i.BaseCommit = changed.Title, changed.Body, changed.Base, changed.BaseCommit
	c.repo.touch(i)
	return ok(c.repo.fullPullJSON(i))
}

func assign(to, from *string) {
	if from != nil {
		*to = *from
	}
}

// retarget gives a pull request another base.
func (r *Repo) retarget(p *Pull, base string) error {
	tips, err := r.branches.tips()
	if err != nil {
		return err
	}
	p.Base, p.BaseCommit = base, tips[base]
	return r.checkBranches(*p)
}

// setPullState closes a pull request or opens it again, which not all can be.
func (r *Repo) setPullState(i *item, wanted string) error {
	switch {
	case wanted == state(i.Open):
		return nil
	case wanted == "closed":
		r.close(i)
		return nil
	case i.Merged:
		return invalid(fieldError{
			Resource: "PullRequest", Code: "custom", Field: "state", Message: "state cannot be changed. The pull request cannot be reopened.",
		})
	}
	tips, err := r.branches.tips()
	if err != nil {
		return err
	}
	reopened := i.Pull
	reopened.HeadCommit, reopened.BaseCommit = tips[i.Head], tips[i.Base]
	if err := r.checkBranches(reopened); err != nil {
		return invalid(fieldError{
			Resource: "PullRequest", Code: "custom", Field: "state",
			Message: "state cannot be changed. The " + i.Head + " branch was force-pushed or recreated.",
		})
	}
	i.Pull = reopened
	r.reopen(i)
	return nil
}
