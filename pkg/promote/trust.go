package promote

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// StatusSource reads and writes the statuses of commits, including those of other creators.
type StatusSource interface {
	Statuses
	// Login returns the login that is the creator of kalypso's own statuses.
	Login(ctx context.Context) (string, error)
}

// StatusLoginsField is the field of an Environment with the logins whose statuses count besides kalypso's own.
const StatusLoginsField = "spec.promotion.checks.statusLogins"

// TrustStatuses returns the statuses of source, with Untrusted set if the creator is neither kalypso's own login nor
// one that the Environment names: everybody with write access to a repository can set a status there.
func TrustStatuses(source StatusSource, environments []*model.Environment) Statuses {
	logins := map[string][]model.Text{}
	for _, e := range environments {
		name := statusContext(e.Name.Value)
		logins[name] = nil
		if e.Promotion != nil {
			logins[name] = e.Promotion.Checks.StatusLogins
		}
	}
	return &trustedStatuses{source, logins}
}

// trustedStatuses marks statuses as untrusted. logins has the trusted logins of each environment by status context.
type trustedStatuses struct {
	StatusSource
	logins map[string][]model.Text
}

// Statuses returns the statuses of a commit and marks those that are not trusted. It requests kalypso's own login only
// for statuses of environments whose creator is not named.
func (t *trustedStatuses) Statuses(ctx context.Context, commit string) ([]Status, error) {
	statuses, err := t.StatusSource.Statuses(ctx, commit)
	if err != nil {
		return nil, err
	}
	for i, s := range statuses {
		logins, known := t.logins[strings.ToLower(s.Context)]
		if !known { // that of no environment
			statuses[i].Untrusted = true
			continue
		}
		if slices.ContainsFunc(logins, func(login model.Text) bool { return strings.EqualFold(login.Value, s.Creator) }) {
			continue
		}
		ours, err := t.Login(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w; without it the status %q of %s cannot be trusted, unless %s of the Environment names that login",
				err, s.Context, s.creator(), StatusLoginsField)
		}
		statuses[i].Untrusted = !strings.EqualFold(s.Creator, ours)
	}
	return statuses, nil
}

// creator returns the creator of a status for messages.
func (s Status) creator() string {
	if s.Creator == "" {
		return "a deleted account"
	}
	return s.Creator
}
