package githubtest

import (
	"crypto/rsa"
	"slices"
	"strings"
	"time"
)

// Token is what a secret stands for.
type Token struct {
	// Name is what Request.Token has.
	Name string
	// Login is who acts with it: "github-actions[bot]" if it is empty, another "…[bot]" for an App, a person
	// otherwise.
	Login string
	// Permissions are "read" or "write" by the name of a permission. Anything that is public may be read
	// without.
	Permissions map[string]string
	// Repos are the repositories, as owner/name, that it is for; nil means all.
	Repos []string
	// Expires is when it is refused from; zero means never.
	Expires time.Time
}

// AllPermissions are all that the stand-in knows, for writing.
func AllPermissions() map[string]string {
	return map[string]string{
		"actions": "write", "administration": "read", "contents": "write", "issues": "write", "members": "read", "metadata": "read",
		"pull_requests": "write", "statuses": "write",
	}
}

const actionsLogin = "github-actions[bot]"

// reaches reports whether the token is for a repository.
func (t *Token) reaches(repo *Repo) bool {
	return t != nil && (t.Repos == nil || slices.ContainsFunc(t.Repos, func(name string) bool {
		return strings.EqualFold(name, repo.Name)
	}))
}

// has reports whether the token has a permission, written "contents=write".
func (t *Token) has(permission string) bool {
	name, access, _ := strings.Cut(permission, "=")
	has := t.Permissions[name]
	return has == "write" || has == access || name == "metadata"
}

// App is a GitHub App as it is installed for one owner. An App that several owners have installed is added once for
// each, with the same ID, Slug and Key.
type App struct {
	// ID is what its requests are signed with.
	ID int
	// Slug is its name: it acts as slug[bot], a user whose id is Bot.
	Slug string
	Bot  int
	// Key checks its signatures.
	Key *rsa.PublicKey
	// Owner is whose installation it is, Installation the number of that.
	Owner        string
	Installation int
	// Repos are the repositories, as owner/name, that it is installed on; nil means all of the owner.
	Repos []string
	// Permissions are what it was granted.
	Permissions map[string]string
	Suspended   bool
}

// installedOn reports whether the App may see a repository.
func (a *App) installedOn(name string) bool {
	owner, _, _ := strings.Cut(name, "/")
	return strings.EqualFold(owner, a.Owner) && (a.Repos == nil || slices.ContainsFunc(a.Repos, func(one string) bool {
		return strings.EqualFold(one, name)
	}))
}
