package github

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	gh "github.com/google/go-github/v53/github"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// Statuses returns the newest status of each context of a commit, the newest first. Contexts that differ in case
// only are one, as they are to GitHub. A commit that the repository does not have is an Error of the kind NotFound.
func (r *Repository) Statuses(ctx context.Context, commit string) ([]promote.Status, error) {
	op := operation{act: "read the statuses of " + short(commit), need: "statuses: read"}
	statuses, err := r.latest(ctx, commit)
	if err != nil {
		return nil, r.explain(op, explainStatus(err))
	}
	var found []promote.Status
	seen := map[string]bool{}
	for _, s := range statuses {
		if folded := strings.ToLower(s.GetContext()); !seen[folded] {
			seen[folded] = true
			found = append(found, statusFromGitHub(s))
		}
	}
	return found, nil
}

// latest reads the combined status of a commit, which has the newest status of each context: a commit that is looked
// at often has thousands of older ones. The newest comes first; of those of one second it is the one with the highest
// number.
func (r *Repository) latest(ctx context.Context, commit string) ([]*gh.RepoStatus, error) {
	if err := checkCommit(commit); err != nil {
		return nil, err
	}
	total := 0
	statuses, err := all(ctx, func(ctx context.Context, page gh.ListOptions) ([]*gh.RepoStatus, *gh.Response, error) {
		combined, answer, err := r.client.api.Repositories.GetCombinedStatus(ctx, r.owner, r.name, commit, &page)
		switch {
		case err != nil:
			return nil, answer, err
		case combined.TotalCount == nil, combined.GetSHA() != commit:
			return nil, answer, incomplete()
		}
		total = combined.GetTotalCount()
		return combined.Statuses, answer, nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(statuses, func(a, b *gh.RepoStatus) int {
		return cmp.Or(b.GetCreatedAt().Compare(a.GetCreatedAt().Time), cmp.Compare(b.GetID(), a.GetID()))
	})
	// Pages move while others set statuses: what is on two of them counts once, and none may be on neither.
	statuses = slices.CompactFunc(statuses, func(a, b *gh.RepoStatus) bool { return a.GetID() == b.GetID() })
	if len(statuses) < total || slices.ContainsFunc(statuses, func(s *gh.RepoStatus) bool {
		return s.GetID() == 0 || s.GetContext() == "" || s.GetState() == ""
	}) {
		return nil, incomplete()
	}
	return statuses, nil
}

func statusFromGitHub(s *gh.RepoStatus) promote.Status {
	return promote.Status{
		Context: s.GetContext(), State: promote.StatusState(s.GetState()), Description: s.GetDescription(),
		TargetURL: s.GetTargetURL(), Created: s.GetCreatedAt().Time,
	}
}

// SetStatus adds a status to a commit. GitHub takes a thousand of a context: if it is unknown whether one was added,
// it is added again only if the newest is another. What GitHub would refuse is left out of it: see description and
// webPage. A commit that the repository does not have is an Error of the kind NotFound.
func (r *Repository) SetStatus(ctx context.Context, commit string, status promote.Status) error {
	op := operation{act: fmt.Sprintf("set the status %q of %s", status.Context, short(commit)), need: "statuses: write"}
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

// isNewest tells whether the newest status of a context is the one given.
func (r *Repository) isNewest(ctx context.Context, commit string, status promote.Status) (bool, error) {
	statuses, err := r.Statuses(ctx, commit)
	at := slices.IndexFunc(statuses, func(s promote.Status) bool { return strings.EqualFold(s.Context, status.Context) })
	if at < 0 {
		return false, err
	}
	newest := statuses[at]
	return newest.State == status.State && newest.Description == status.Description && newest.TargetURL == status.TargetURL, err
}

// explainStatus makes an Error of what GitHub says only about statuses.
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

// description makes a text fit for a description: a line of at most promote.MaxDescription characters, without
// secrets. GitHub refuses those beyond the Basic Multilingual Plane ("doesn't accept 4-byte Unicode"), such as emojis.
func (r *Repository) description(text string) string {
	const last = 0xFFFF
	fit := []rune(r.client.wire.Secrets.Line(text))
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

// webPage returns the URL of a page, or nothing if GitHub would refuse it or it has a secret in it.
func (r *Repository) webPage(text string) string {
	at, err := url.Parse(text)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || r.client.wire.Secrets.Clean(text) != text {
		return ""
	}
	return text
}

// orNil leaves out what is empty.
func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
