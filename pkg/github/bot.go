package github

import (
	"cmp"
	"context"
	"fmt"
	"net/url"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// Bot returns who the App is as an author of commits, so that they lead to its page: the user NAME[bot] with the
// address that GitHub has for it. It asks once, for the user with the token of the repository, as an App's own
// signature does not open that page.
func (a *App) Bot(ctx context.Context, with *Repository) (gitobject.Identity, error) {
	a.botMu.Lock()
	defer a.botMu.Unlock()
	if a.bot.Name != "" {
		return a.bot, nil
	}
	const act = "find out who the GitHub App is"
	app, _, err := a.client.api.Apps.Get(ctx, "")
	if err != nil {
		return gitobject.Identity{}, a.explain(with.String(), act, err)
	}
	if !validName(app.GetSlug()) {
		return gitobject.Identity{}, a.explain(with.String(), act, incomplete())
	}
	login := app.GetSlug() + "[bot]"
	user, _, err := with.client.api.Users.Get(ctx, url.PathEscape(login))
	if err != nil {
		return gitobject.Identity{}, with.explain(operation{act: "find the user " + login}, err)
	}
	host := "github.com" // that of the addresses that GitHub makes for those who show none
	if at, err := url.Parse(a.Server.URL); err == nil {
		host = cmp.Or(at.Hostname(), host)
	}
	a.bot = gitobject.Identity{Name: login, Email: fmt.Sprintf("%d+%s@users.noreply.%s", user.GetID(), login, host)}
	return a.bot, nil
}

// ActionsBot is who the GITHUB_TOKEN of a workflow is as an author of commits.
func ActionsBot() gitobject.Identity {
	return gitobject.Identity{Name: "github-actions[bot]", Email: "41898282+github-actions[bot]@users.noreply.github.com"}
}
