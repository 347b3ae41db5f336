package githubtest

import (
	"crypto/rsa"
	"slices"
	"strings"
)

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
