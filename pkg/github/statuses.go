package github

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// Statuses returns the newest status of each context and creator of a commit, the newest first. Contexts that differ
// only in case are equal, as on GitHub. A commit that the repository does not have is an Error of the kind NotFound.
func (r *Repository) Statuses(ctx context.Context, commit string) ([]promote.Status, error) {
	op := operation{act: fmt.Sprintf("read the statuses of %.12s", commit), need: "statuses: read"}
	statuses, err := r.listStatuses(ctx, commit)
	if err != nil {
		return nil, r.explain(op, explainStatus(err))
	}
	var found []promote.Status
	seen := map[string]bool{}
	for _, s := range statuses {
		if key := strings.ToLower(s.GetCreator().GetLogin() + " " + s.GetContext()); !seen[key] {
			seen[key] = true
			found = append(found, promote.Status{
				Context: s.GetContext(), State: promote.StatusState(s.GetState()), Description: s.GetDescription(),
				TargetURL: s.GetTargetURL(), Creator: s.GetCreator().GetLogin(),
			})
		}
	}
	return found, nil
}

// listStatuses lists all statuses of a commit, the newest first; statuses of the same second are ordered by id. The
// combined status has only the newest status of each context, without its creator, so anybody who may set statuses
// could hide those of kalypso.
func (r *Repository) listStatuses(ctx context.Context, commit string) ([]*gh.RepoStatus, error) {
	if err := checkCommit(commit); err != nil {
		return nil, err
	}
	statuses, err := all(ctx, func(ctx context.Context, page gh.ListOptions) ([]*gh.RepoStatus, *gh.Response, error) {
		listed, answer, err := r.client.api.Repositories.ListStatuses(ctx, r.owner, r.name, commit, &page)
		if err == nil && (listed == nil || slices.ContainsFunc(listed, func(s *gh.RepoStatus) bool { return !isWhole(s, commit) })) {
			return nil, answer, incomplete()
		}
		return listed, answer, err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(statuses, func(a, b *gh.RepoStatus) int {
		return cmp.Or(b.GetCreatedAt().Compare(a.GetCreatedAt().Time), cmp.Compare(b.GetID(), a.GetID()))
	})
	// If a status is added between two pages, one status is on both of them. None is missing, because the newest come
	// first.
	return slices.CompactFunc(statuses, func(a, b *gh.RepoStatus) bool { return a.GetID() == b.GetID() }), nil
}

// isWhole reports whether a status has all required fields and belongs to the commit. The creator may be null, because
// its account may be deleted.
func isWhole(s *gh.RepoStatus, commit string) bool {
	return s.GetID() != 0 && s.GetContext() != "" && s.GetState() != "" && strings.HasSuffix(s.GetURL(), "/"+commit)
}

// SetStatus adds a status to a commit. GitHub accepts a thousand per context, so after an unknown outcome it is added again
// only if the newest is different. Values that GitHub would refuse are changed: see description and webPage. A commit that
// the repository does not have is an Error of the kind NotFound.
func (r *Repository) SetStatus(ctx context.Context, commit string, status promote.Status) error {
	op := operation{act: fmt.Sprintf("set the status %q of %.12s", status.Context, commit), need: "statuses: write"}
	if err := checkCommit(commit); err != nil {
		return r.explain(op, err)
	}
	status.Description, status.TargetURL = r.description(status.Description), r.webPage(status.TargetURL)
	return r.create(ctx, op, func() error {
		_, _, err := r.client.api.Repositories.CreateStatus(ctx, r.owner, r.name, commit, &gh.RepoStatus{
			Context: ptr(status.Context), State: ptr(string(status.State)),
			Description: orNil(status.Description), TargetURL: orNil(status.TargetURL),
		})
		return explainStatus(err)
	}, func() (bool, error) { return r.isNewest(ctx, commit, status) })
}

// isNewest reports whether status is the newest one of its context that kalypso's login has set.
func (r *Repository) isNewest(ctx context.Context, commit string, status promote.Status) (bool, error) {
	login, err := r.Login(ctx)
	if err != nil {
		return false, err
	}
	statuses, err := r.Statuses(ctx, commit)
	at := slices.IndexFunc(statuses, func(s promote.Status) bool {
		return strings.EqualFold(s.Context, status.Context) && strings.EqualFold(s.Creator, login)
	})
	if at < 0 {
		return false, err
	}
	newest := statuses[at]
	return newest.State == status.State && newest.Description == status.Description && newest.TargetURL == status.TargetURL, err
}

func explainStatus(err error) error {
	switch {
	case says(err, unknownCommit):
		return noCommit(err)
	case says(err, "maximum number of statuses"):
		return &Error{
			Kind: Invalid, Status: status(err), Message: "GitHub takes no more than 1000 statuses of it",
			Hint: "promote a newer commit",
		}
	}
	return err
}

// description sanitizes a description: one line of at most promote.MaxDescription characters, without secrets. GitHub
// refuses characters beyond the Basic Multilingual Plane ("doesn't accept 4-byte Unicode"), such as emojis.
func (r *Repository) description(text string) string {
	const last = 0xFFFF
	fit := []rune(r.client.wire.secrets.Line(text))
	for i, c := range fit {
		if c > last {
			fit[i] = '\uFFFD'
		}
	}
	if len(fit) <= promote.MaxDescription {
		return string(fit)
	}
	return strings.TrimRight(string(fit[:promote.MaxDescription-1]), " ") + "…"
}

// webPage returns a URL; empty if GitHub would refuse it or it contains a secret.
func (r *Repository) webPage(text string) string {
	at, err := url.Parse(text)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || r.client.wire.secrets.Clean(text) != text {
		return ""
	}
	return text
}

func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Bot returns the App as an author of commits that GitHub links to its page: the user NAME[bot] with its address at GitHub.
// It is read once, with the token of the repository, because an App's own signature has no access to users.
func (a *App) Bot(ctx context.Context, with *Repository) (gitobject.Identity, error) {
	return a.bot.Do(ctx, struct{}{}, func() (gitobject.Identity, error) { return a.readBot(ctx, with) })
}

func (a *App) readBot(ctx context.Context, with *Repository) (gitobject.Identity, error) {
	const act = "read the account of the GitHub App"
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
	host := "github.com"
	if at, err := url.Parse(a.Server.URL); err == nil {
		host = cmp.Or(at.Hostname(), host)
	}
	return gitobject.Identity{Name: login, Email: fmt.Sprintf("%d+%s@users.noreply.%s", user.GetID(), login, host)}, nil
}

// ActionsBot returns the GITHUB_TOKEN of a workflow as an author of commits.
func ActionsBot() gitobject.Identity {
	return gitobject.Identity{Name: "github-actions[bot]", Email: "41898282+github-actions[bot]@users.noreply.github.com"}
}
