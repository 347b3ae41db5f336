package github

import (
	"context"
	"fmt"
	"net/url"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// botOnce keeps who an App is, once that is known.
type botOnce struct {
	mu    sync.Mutex
	login string
	id    int64
}

// Bot returns who the App is as an author of commits, so that they lead to its page: the user NAME[bot] with the
// address that GitHub has for it, on server, the URL of GitHub (github.com if empty). It asks once, for the
// user with the token of the repository, as an App's own signature does not open that page.
func (a *App) Bot(ctx context.Context, with *Repository, server string) (gitops.Identity, error) {
	a.bot.mu.Lock()
	defer a.bot.mu.Unlock()
	if a.bot.login == "" {
		const act = "find out who the GitHub App is"
		app, _, err := a.client.api.Apps.Get(ctx, "")
		if err != nil {
			return gitops.Identity{}, a.explain(with.String(), act, err)
		}
		if !validName(app.GetSlug()) {
			return gitops.Identity{}, &Error{Kind: Unavailable, Repository: with.String(), Act: act, Message: "GitHub's answer is incomplete"}
		}
		login := app.GetSlug() + "[bot]"
		user, _, err := with.client.api.Users.Get(ctx, url.PathEscape(login))
		if err != nil {
			return gitops.Identity{}, with.explain(operation{act: "find the user " + login}, err)
		}
		a.bot.login, a.bot.id = login, user.GetID()
	}
	return gitops.Identity{Name: a.bot.login, Email: fmt.Sprintf("%d+%s@users.noreply.%s", a.bot.id, a.bot.login, noReplyHost(server))}, nil
}

// ActionsBot is who the GITHUB_TOKEN of a workflow is as an author of commits.
func ActionsBot() gitops.Identity {
	return gitops.Identity{Name: "github-actions[bot]", Email: "41898282+github-actions[bot]@users.noreply.github.com"}
}

// noReplyHost is the host in the addresses that GitHub makes for those who show none.
func noReplyHost(server string) string {
	at, err := url.Parse(server)
	if err != nil || at.Hostname() == "" {
		return "github.com"
	}
	return at.Hostname()
}
