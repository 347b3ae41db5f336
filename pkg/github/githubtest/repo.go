package githubtest

import (
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

	server   *Server
	id       int
	options  RepoOptions
	branches branches
	// git serves git, if there is a folder.
	git      func() (http.Handler, error)
	items    []*item // number is place + 1
	labels   []Label
	comments int
	statuses []Status
	events   []Dispatch
}

// AddRepo makes a repository.
func (s *Server) AddRepo(name string, options RepoOptions) *Repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	if options.DefaultBranch == "" {
		options.DefaultBranch = "main"
	}
	r := &Repo{Name: name, server: s, id: len(s.repos) + 1, options: options, branches: memory{}}
	if options.Dir != "" {
		r.branches = branchtest.Open(options.Dir)
		r.git = sync.OnceValues(func() (http.Handler, error) { return gitopstest.Handler(filepath.Dir(options.Dir)) })
	}
	for _, label := range options.Labels {
		r.labels = append(r.labels, Label{Name: label, Color: "ededed"})
	}
	s.repos[strings.ToLower(name)] = r
	return r
}

// Repo returns the repository of that name, or nil.
func (s *Server) Repo(name string) *Repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repos[strings.ToLower(name)]
}

// Dir is the folder of the bare repository; empty if it has none.
func (r *Repo) Dir() string { return r.options.Dir }

func (r *Repo) owner() string {
	owner, _, _ := strings.Cut(r.Name, "/")
	return owner
}

func (r *Repo) url() string { return r.server.URL + "/repos/" + r.Name }
func (r *Repo) web() string { return r.server.WebURL + "/" + r.Name }

func (r *Repo) allows(method string) bool {
	return r.options.MergeMethods == nil || slices.Contains(r.options.MergeMethods, method)
}

func (c *call) showRepo() answer {
	r := c.repo
	o := r.json()
	if c.token.reaches(r) && c.token.has("contents=write") { // hidden from others
		o["allow_merge_commit"], o["allow_squash_merge"] = r.allows("merge"), r.allows("squash")
		o["allow_rebase_merge"], o["allow_auto_merge"] = r.allows("rebase"), r.options.AllowAutoMerge
	}
	return ok(o)
}

func (c *call) showRef() answer {
	branch, isBranch := strings.CutPrefix(c.values["ref"], "heads/")
	tip := c.repo.branches.Tips()[branch]
	if !isBranch || tip == "" {
		panic(notFound())
	}
	return ok(object{"ref": "refs/heads/" + branch, "object": object{"type": "commit", "sha": tip}})
}

// json is the repository as it is within other things.
func (r *Repo) json() object {
	_, name, _ := strings.Cut(r.Name, "/")
	return object{
		"id": r.id, "name": name, "full_name": r.Name, "owner": r.user(r.owner()), "private": r.options.Private,
		"archived": r.options.Archived, "default_branch": r.options.DefaultBranch, "html_url": r.web(),
	}
}

// user is somebody, or a bot.
func (r *Repo) user(login string) object { return r.server.user(login) }

func (s *Server) user(login string) object {
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	return object{"login": login, "id": 1, "type": kind, "html_url": s.WebURL + "/" + login}
}

func (r *Repo) users(logins []string) []object {
	users := make([]object, len(logins))
	for i, login := range logins {
		users[i] = r.user(login)
	}
	return users
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
		i.Merged, i.MergedAt, i.MergeCommit = true, r.server.now(), base
	}
	r.close(i)
}

// ahead reports whether a commit has commits that another has not.
func (r *Repo) ahead(commit, of string) bool { return len(r.branches.Between(of, commit)) > 0 }
