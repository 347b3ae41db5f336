package githubtest

import (
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
		"actions": "write", "contents": "write", "issues": "write", "members": "read", "metadata": "read",
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
