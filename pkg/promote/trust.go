package promote

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// StatusSource are the statuses of commits, whoever has set them.
type StatusSource interface {
	Statuses
	// Login returns the login that our own statuses have as their creator.
	Login(ctx context.Context) (string, error)
}

// StatusLoginsField names the logins whose statuses of an environment count besides our own.
const StatusLoginsField = "spec.promotion.checks.statusLogins"

// TrustStatuses marks the statuses of environments that anybody else has set as untrusted: those that have neither our own
// login as their creator nor one that the Environment names. Whoever may write to a repository may set a status there.
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

// trustedStatuses are statuses, and the logins that are trusted by context.
type trustedStatuses struct {
	StatusSource
	logins map[string][]model.Text
}

// Statuses marks those that are not trusted. Who we are is asked only if that makes a difference.
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

// creator names who has set a status.
func (s Status) creator() string {
	if s.Creator == "" {
		return "a deleted account"
	}
	return s.Creator
}
