package github

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v53/github"
)

// installation is an App as an owner has installed it. go-github has a field for each permission that there was in
// 2023; a map by name has those of today.
type installation struct {
	ID          int64             `json:"id"`
	URL         string            `json:"html_url"`
	Suspended   *time.Time        `json:"suspended_at"`
	Permissions map[string]string `json:"permissions"`
}

// installed returns the App as an owner has it installed. Otherwise the Error is of the kind NotFound.
func (a *App) installed(ctx context.Context, owner string) (*installation, error) {
	// The path is documented for users; organizations are users here.
	request, err := a.client.api.NewRequest(http.MethodGet, "users/"+url.PathEscape(owner)+"/installation", nil)
	if err != nil {
		return nil, err
	}
	var found installation
	if _, err := a.client.api.Do(ctx, request, &found); err != nil {
		explained := a.explain(owner, "find the installation of the GitHub App", err)
		if explained.Kind == NotFound && strings.Contains(explained.Message, "Integration not found") {
			explained.Kind, explained.Hint = Denied, a.hint() // it is the App that is not found
		}
		return nil, explained
	}
	return &found, nil
}

// installedOn reports whether the App is installed for a repository.
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

// grants reports whether the owner has granted a permission, to "read" or to "write".
func (i *installation) grants(name, access string) bool {
	granted := i.Permissions[name]
	return granted == access || granted == "write" || granted == "admin"
}

// mintRequest is what a token is for.
type mintRequest struct {
	owner        string
	repositories []string
	permissions  map[string]string
}

// permit says why the installation cannot have a token with some permissions.
func (i *installation) permit(app string, r mintRequest) error {
	denied := &Error{Kind: Denied, Repository: r.owner, Act: actMint}
	if i.Suspended != nil {
		denied.Message = "the GitHub App " + app + " is suspended"
		denied.Hint = fmt.Sprintf("an owner of %s ends that at %s", r.owner, i.page())
		return denied
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(r.permissions)) {
		if !i.grants(name, r.permissions[name]) {
			missing = append(missing, strings.ReplaceAll(name, "_", " ")+": "+r.permissions[name])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	denied.Permission = strings.Join(missing, " and ")
	denied.Message = fmt.Sprintf("the GitHub App %s does not have the permission %q there", app, denied.Permission)
	denied.Hint = fmt.Sprintf("add it under “Permissions & events” in the settings of the App; then an owner of %s accepts it at %s", r.owner, i.page())
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

// mint makes a token. The Error is of the kind NotFound if the App is not installed for all of the repositories.
func (a *App) mint(ctx context.Context, i *installation, r mintRequest) (Token, error) {
	if err := i.permit(a.ID, r); err != nil {
		return Token{}, err
	}
	request, err := a.client.api.NewRequest(http.MethodPost, fmt.Sprintf("app/installations/%d/access_tokens", i.ID), map[string]any{
		"repositories": r.repositories, "permissions": r.permissions,
	})
	if err != nil {
		return Token{}, err
	}
	var minted gh.InstallationToken
	if _, err := a.client.api.Do(mayRepeat(ctx), request, &minted); err != nil {
		explained := a.explain(r.owner, actMint, err)
		if explained.Status == http.StatusUnprocessableEntity { // the permissions are granted: it is the repositories
			explained.Kind = NotFound
			explained.Hint = "give the GitHub App access to them at " + i.page()
		}
		return Token{}, explained
	}
	token := minted.GetToken()
	// It must fit into a header, and into the line that masks it in the log of a workflow.
	if token == "" || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c >= 0x7f }) || minted.GetExpiresAt().IsZero() {
		return Token{}, a.explain(r.owner, actMint, incomplete())
	}
	a.client.wire.secrets.Add(token)
	a.Minted(token)
	return Token{Value: token, Minted: a.client.wire.Now(), Expires: minted.GetExpiresAt().Time}, nil
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
	return fmt.Sprintf("the id %s and the private key must be of the same GitHub App, and the clock of this machine right", a.ID)
}
