package githubtest

import (
	"cmp"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest/branchtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// RepoOptions are how a repository is set up. The zero value is a public one without branches, where every
// merge method is allowed.
type RepoOptions struct {
	// Dir is a bare git repository whose branches the repository has. If it is empty, Push sets them, and they
	// have no content.
	Dir string
	// DefaultBranch is "main" if it is empty.
	DefaultBranch     string
	Private, Archived bool
	// Collaborators are "read", "write" or "admin" by login.
	Collaborators map[string]string
	// Teams are the slugs of teams with access.
	Teams []string
	// Labels are there from the start.
	Labels []string
	// MergeMethods are "merge", "squash" and "rebase"; nil means all.
	MergeMethods []string
	// AllowAutoMerge allows auto-merge.
	AllowAutoMerge bool
	// SquashMessage is the default message of squash merges: "PR_BODY", "BLANK", or "COMMIT_MESSAGES", also if it is empty.
	SquashMessage string
	// Rules are the types of rules by branch, and Protected the branches with a branch protection rule. They are shown, and
	// stop nobody.
	Rules     map[string][]string
	Protected []string
	// MayBypass are logins that may bypass the rules.
	MayBypass []string
	// WorkflowsWrite gives the GITHUB_TOKEN of workflows write access by default.
	WorkflowsWrite bool
	// RequiredChecks are contexts of statuses that must be a success before anything is merged.
	RequiredChecks []string
	// ActionsMayNotOpenPulls keeps github-actions[bot] from opening pull requests: the default of new
	// organisations.
	ActionsMayNotOpenPulls bool
	// Workflows are the file names of workflows with a workflow_dispatch trigger that takes any inputs, besides those
	// that there are in Dir.
	Workflows []string
}

// Repo is a repository of a Server. Its methods may be called while the server serves. Those
// that do what people do call Options.Fail if that cannot be.
type Repo struct {
	// Name is owner/name.
	Name string

	site     *site
	id       int
	options  RepoOptions
	branches branches
	// git serves git, if there is a folder.
	git      func() (http.Handler, error)
	items    []*item // number is place + 1
	labels   labels
	comments int
	statuses statuses
	events   []Dispatch
}

// newRepo makes a repository.
func newRepo(site *site, id int, name string, options RepoOptions) *Repo {
	options.DefaultBranch = cmp.Or(options.DefaultBranch, "main")
	r := &Repo{Name: name, site: site, id: id, options: options, branches: memory{}}
	if options.Dir != "" {
		r.branches = branchtest.Open(options.Dir)
		r.git = sync.OnceValues(func() (http.Handler, error) { return gitopstest.Handler(filepath.Dir(options.Dir)) })
	}
	for _, label := range options.Labels {
		r.labels = append(r.labels, Label{Name: label, Color: usualColor})
	}
	return r
}

// Dir is the folder of the bare repository; empty if it has none.
func (r *Repo) Dir() string { return r.options.Dir }

func (r *Repo) owner() string {
	owner, _, _ := strings.Cut(r.Name, "/")
	return owner
}

func (r *Repo) url() string { return r.site.api + "/repos/" + r.Name }
func (r *Repo) web() string { return r.site.web + "/" + r.Name }

func (r *Repo) allows(method string) bool {
	return r.options.MergeMethods == nil || slices.Contains(r.options.MergeMethods, method)
}

// assignable reports whether somebody may be assigned: who has access.
func (r *Repo) assignable(login string) bool { return r.options.Collaborators[login] != "" }

// user is somebody, or a bot.
func (r *Repo) user(login string) object { return r.site.user(login) }

func (r *Repo) users(logins []string) []object {
	users := make([]object, len(logins))
	for i, login := range logins {
		users[i] = r.user(login)
	}
	return users
}

// add gives an item the next number.
func (r *Repo) add(i *item) *item {
	i.Number, i.Open, i.Created = len(r.items)+1, true, r.site.now()
	r.items = append(r.items, i)
	return i
}

// find returns an item by number, or nil.
func (r *Repo) find(number int) *item {
	if number < 1 || number > len(r.items) {
		return nil
	}
	return r.items[number-1]
}

func (r *Repo) close(i *item) { i.Open, i.AutoMerge = false, "" }

// resolve is the commit that a branch or an id names; it is empty if there is none.
func (r *Repo) resolve(ref string) string {
	if commit := r.branches.Tips()[strings.TrimPrefix(ref, "heads/")]; commit != "" {
		return commit
	}
	if !r.branches.Has(ref) {
		return ""
	}
	return ref
}

// atTips returns a pull request with the commits that its branches have now.
func (r *Repo) atTips(p Pull) Pull {
	tips := r.branches.Tips()
	p.HeadCommit, p.BaseCommit = tips[p.Head], tips[p.Base]
	return p
}

// sync looks where the branches are now and does what GitHub does when they are pushed: the head of a pull
// request follows its branch, and pull requests close whose branch is gone or that have nothing to merge any
// more.
func (r *Repo) sync() {
	tips := r.branches.Tips()
	for _, i := range r.items {
		if i.pull && i.Open {
			r.follow(i, tips[i.Head], tips[i.Base])
		}
	}
}

// follow moves a pull request to new tips of its branches.
func (r *Repo) follow(i *item, head, base string) {
	if head == i.HeadCommit && base == i.BaseCommit {
		return
	}
	pushed := head != i.HeadCommit
	if head == "" || base == "" {
		r.close(i)
		return
	}
	i.HeadCommit, i.BaseCommit = head, base
	if r.ahead(head, base) {
		return
	}
	if !pushed { // somebody pushed it into the base: that is a merge
		i.Merged, i.MergedAt, i.MergeCommit = true, r.site.now(), base
	}
	r.close(i)
}

// ahead reports whether a commit has commits that another has not.
func (r *Repo) ahead(commit, of string) bool { return len(r.branches.Between(of, commit)) > 0 }

func (i *item) nodeID(r *Repo) string { return fmt.Sprintf("PR_%d_%d", r.id, i.Number) }
