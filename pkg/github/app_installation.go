package github

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	gh "github.com/google/go-github/v53/github"
)

// installation is an App as it is let in by an owner. go-github has a field for each permission that there was in
// 2023; a map by name has those of today.
type installation struct {
	ID          int64             `json:"id"`
	URL         string            `json:"html_url"`
	Suspended   *time.Time        `json:"suspended_at"`
	Permissions map[string]string `json:"permissions"`
}

// ownership is what an owner is known to let the App do, and the lock under which it is asked for. found is nil
// before that; what an owner without the App has is remembered too.
type ownership struct {
	mu      sync.Mutex
	found   *installation
	refusal error
}

// installed returns the App as an owner has it installed, asking once. Otherwise the Error is of the kind NotFound.
func (a *App) installed(ctx context.Context, owner string) (*installation, error) {
	o := a.ownership(owner)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.found != nil || o.refusal != nil {
		return o.found, o.refusal
	}
	// The path is documented for users; organizations are users here.
	request, err := a.client.api.NewRequest(http.MethodGet, "users/"+url.PathEscape(owner)+"/installation", nil)
	if err != nil {
		return nil, err
	}
	var found installation
	if _, err := a.client.api.Do(ctx, request, &found); err != nil {
		explained := a.explain(owner, "find the installation of the GitHub App", err)
		switch {
		case explained.Kind == NotFound && strings.Contains(explained.Message, "Integration not found"):
			explained.Kind, explained.Hint = Denied, a.hint() // it is the App that is not found
		case explained.Kind == NotFound:
			explained.Hint = fmt.Sprintf("install the GitHub App %s for %s", a.id, owner)
			o.refusal = explained
		}
		return nil, explained
	}
	o.found = &found
	return o.found, nil
}

func (a *App) ownership(owner string) *ownership {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := strings.ToLower(owner)
	if a.owners[key] == nil {
		a.owners[key] = &ownership{}
	}
	return a.owners[key]
}

// installedOn tells whether the App is installed for a repository.
func (a *App) installedOn(ctx context.Context, owner, name string) (bool, error) {
	_, _, err := a.client.api.Apps.FindRepositoryInstallation(ctx, owner, name)
	if status(err) == http.StatusNotFound {
		return false, nil
	}
	if err != nil {
		return false, a.explain(owner+"/"+name, "find the installation of the GitHub App", err)
	}
	return true, nil
}

// grants tells whether the owner has granted a permission, to "read" or to "write".
func (i *installation) grants(name, access string) bool {
	granted := i.Permissions[name]
	return granted == access || granted == "write" || granted == "admin"
}

// permit says why the installation cannot have a token with some permissions.
func (i *installation) permit(app, owner string, permissions map[string]string) error {
	denied := &Error{Kind: Denied, Repository: owner, Act: actMint}
	if i.Suspended != nil {
		denied.Message = "the GitHub App " + app + " is suspended"
		denied.Hint = fmt.Sprintf("an owner of %s ends that at %s", owner, i.page())
		return denied
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(permissions)) {
		if !i.grants(name, permissions[name]) {
			missing = append(missing, strings.ReplaceAll(name, "_", " ")+": "+permissions[name])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	denied.Permission = strings.Join(missing, " and ")
	denied.Message = fmt.Sprintf("the GitHub App %s does not have the permission %q there", app, denied.Permission)
	denied.Hint = fmt.Sprintf("add it under “Permissions & events” in the settings of the App; then an owner of %s accepts it at %s", owner, i.page())
	return denied
}

// page is where the installation is looked after.
func (i *installation) page() string {
	at, err := url.Parse(i.URL)
	if err != nil || at.User != nil || at.Scheme != "https" && at.Scheme != "http" {
		return "the page of its installation"
	}
	return at.String()
}

const actMint = "ask for a token of the GitHub App"

// mint makes a token.
func (a *App) mint(ctx context.Context, owner string, repositories []string, permissions map[string]string) (Token, error) {
	found, err := a.installed(ctx, owner)
	if err != nil {
		return Token{}, err
	}
	if err := found.permit(a.id, owner, permissions); err != nil {
		return Token{}, err
	}
	request, err := a.client.api.NewRequest(http.MethodPost, fmt.Sprintf("app/installations/%d/access_tokens", found.ID), map[string]any{
		"repositories": repositories, "permissions": permissions,
	})
	if err != nil {
		return Token{}, err
	}
	var minted gh.InstallationToken
	if _, err := a.client.api.Do(mayRepeat(ctx), request, &minted); err != nil {
		explained := a.explain(owner, actMint, err)
		if explained.Status == http.StatusUnprocessableEntity { // the permissions are granted: it is the repositories
			explained.Kind = NotFound
			explained.Hint = fmt.Sprintf("give the GitHub App access to %s at %s", someOf(owner, repositories), found.page())
		}
		return Token{}, explained
	}
	if !fitForHeader(minted.GetToken()) || minted.GetExpiresAt().IsZero() {
		return Token{}, &Error{Kind: Unavailable, Repository: owner, Act: actMint, Message: "GitHub's answer is incomplete"}
	}
	a.client.wire.Secrets.Add(minted.GetToken())
	a.client.wire.Minted(minted.GetToken())
	return Token{Value: minted.GetToken(), Minted: a.client.wire.Now(), Expires: minted.GetExpiresAt().Time}, nil
}

// someOf names repositories in a message.
func someOf(owner string, names []string) string {
	const most = 3
	var listed []string
	for _, name := range names[:min(most, len(names))] {
		listed = append(listed, owner+"/"+name)
	}
	if left := len(names) - len(listed); left > 0 {
		listed = append(listed, fmt.Sprintf("%d more", left))
	}
	return strings.Join(listed, ", ")
}

// fitForHeader tells whether a token can be sent in a header, and told to a workflow as a line.
func fitForHeader(token string) bool {
	return token != "" && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// explain adds what is particular about Apps. about is an owner or a repository.
func (a *App) explain(about, act string, err error) *Error {
	e := a.client.wire.classify(operation{act: act}, err)
	if e.Act == "" {
		e.Repository, e.Act = about, act
	}
	switch e.Status {
	case http.StatusUnauthorized:
		e.Hint = a.hint()
	case http.StatusForbidden, http.StatusUnprocessableEntity:
		e.Kind = Denied
		e.Hint = "the installation must have access to the repositories, and its owner must have granted the permissions that are asked for"
	}
	return e
}

// hint is for an App that GitHub does not recognise.
func (a *App) hint() string {
	return fmt.Sprintf("the id %s and the private key must be of the same GitHub App, and the clock of this machine right", a.id)
}
