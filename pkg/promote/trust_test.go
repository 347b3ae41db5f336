package promote

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// statusSource has the statuses of one commit.
type statusSource struct {
	all   []Status
	login string
	err   error
	// asked is how often it was asked who we are.
	asked int
}

func (s *statusSource) Statuses(context.Context, string) ([]Status, error) { return s.all, nil }

func (s *statusSource) SetStatus(context.Context, string, Status) error { return nil }

func (s *statusSource) Login(context.Context) (string, error) {
	s.asked++
	return s.login, s.err
}

func said(context string, creators ...string) []Status {
	var all []Status
	for _, creator := range creators {
		all = append(all, Status{Context: context, State: StatusSuccess, Creator: creator})
	}
	return all
}

// withLogins are the environments dev, whose statuses others may set, and stage.
func withLogins(logins ...string) []*model.Environment {
	dev, stage := &model.Environment{Promotion: &model.Promotion{}}, &model.Environment{}
	dev.Name.Value, stage.Name.Value = "dev", "stage"
	for _, login := range logins {
		dev.Promotion.Checks.StatusLogins = append(dev.Promotion.Checks.StatusLogins, model.Text{Value: login})
	}
	return []*model.Environment{dev, stage}
}

// TestS17WhoseStatusesCount: those of kalypso's own App or user, and of logins that this Environment names.
func TestS17WhoseStatusesCount(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		login   string
		logins  []string
		context string
		// trusted and not are creators.
		trusted, not []string
	}{
		"our App":      {"kalypso[bot]", nil, "dev environment", []string{"kalypso[bot]", "Kalypso[Bot]"}, []string{"kalypso", "kalypso-[bot]", "other[bot]", "", "[bot]"}},
		"a person":     {"ann", nil, "dev environment", []string{"ann", "Ann"}, []string{"ann[bot]", "anna", "an"}},
		"named":        {"kalypso[bot]", []string{"Ann", "ci[bot]"}, "dev environment", []string{"ann", "CI[bot]", "kalypso[bot]"}, []string{"ann[bot]", "ci"}},
		"another case": {"kalypso[bot]", []string{"ann"}, "DEV Environment", []string{"ann"}, []string{"bob"}},
		"elsewhere":    {"kalypso[bot]", []string{"ann"}, "stage environment", []string{"kalypso[bot]"}, []string{"ann"}},
		"unknown":      {"kalypso[bot]", []string{"ann"}, "qa environment", nil, []string{"ann", "kalypso[bot]"}},
		"long s":       {"kalypso[bot]", []string{"ann"}, "ſtage environment", nil, []string{"ann", "kalypso[bot]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := &statusSource{all: append(said(test.context, test.trusted...), said(test.context, test.not...)...), login: test.login}
			got, err := TrustStatuses(from, withLogins(test.logins...)).Statuses(t.Context(), promotedCommit)
			require.NoError(t, err)
			for i, s := range got {
				assert.Equal(t, i >= len(test.trusted), s.Untrusted, s.Creator)
			}
		})
	}
}

// TestS17OwnLoginUnknown: then nobody's status counts that is not named, and that is an error: what we have set ourselves may
// be among those. It is not asked where it makes no difference.
func TestS17OwnLoginUnknown(t *testing.T) {
	t.Parallel()
	unknown := errors.New("GitHub does not say")
	from := &statusSource{all: slices.Concat(said("dev environment", "ann"), said("ci", "bob"), said("x environment", "bob")), err: unknown}
	got, err := TrustStatuses(from, withLogins("ann")).Statuses(t.Context(), promotedCommit)
	require.NoError(t, err)
	assert.Len(t, got, 3)
	assert.Zero(t, from.asked)

	_, err = TrustStatuses(from, withLogins("bob")).Statuses(t.Context(), promotedCommit)
	require.ErrorIs(t, err, unknown)
	require.EqualError(t, err, `GitHub does not say; without it the status "dev environment" of ann cannot be trusted, `+
		`unless spec.promotion.checks.statusLogins of the Environment names that login`)
}

// TestS17OnlyTrustedStatusesAreFound: an untrusted one that is newer does not hide one that counts.
func TestS17OnlyTrustedStatusesAreFound(t *testing.T) {
	t.Parallel()
	ours := Status{Context: "dev environment", State: StatusFailure, Creator: "kalypso[bot]"}
	theirs := Status{Context: "Dev environment", State: StatusSuccess, Creator: "mallory", Untrusted: true}
	found, ok := find([]Status{theirs, ours}, "dev")
	assert.True(t, ok)
	assert.Equal(t, ours, found)
	newer, ok := findUntrusted([]Status{theirs, ours}, "dev")
	assert.True(t, ok)
	assert.Equal(t, theirs, newer)
	_, ok = findUntrusted([]Status{ours, theirs}, "dev")
	assert.False(t, ok)
	_, ok = find([]Status{theirs}, "dev")
	assert.False(t, ok)
}
