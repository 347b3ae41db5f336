package github_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// promotion is a call that promotion makes, and what must be so after it, whatever went wrong meanwhile.
type promotion struct {
	call  func(context.Context, *github.Repository) error
	check func(*testing.T, *githubtest.Repo)
	// needs are the permissions of a token for it alone, and lacks is what is said to be missing without.
	needs map[string]string
	lacks string
}

func promotions() map[string]promotion {
	return map[string]promotion{
		"Statuses": {
			call: func(ctx context.Context, r *github.Repository) error {
				found, err := r.Statuses(ctx, commit("0"))
				if err == nil && len(found) != 3 {
					return fmt.Errorf("%d statuses of 3", len(found))
				}
				return err
			},
			needs: map[string]string{"statuses": "read"}, lacks: "statuses: read",
		},
		"SetStatus": {
			call: func(ctx context.Context, r *github.Repository) error {
				return r.SetStatus(ctx, commit("0"), deployed())
			},
			check: func(t *testing.T, remote *githubtest.Repo) {
				t.Helper()
				set := remote.Statuses(commit("0"))
				require.Len(t, set, 4, "it is set once")
				assert.Equal(t, "stage environment: pending Deploying, 3 of 5 clusters", set[3].String())
			},
			needs: write("statuses"), lacks: "statuses: write",
		},
		"Dispatch": {
			call: func(ctx context.Context, r *github.Repository) error {
				return r.Dispatch(ctx, "cd.yaml", "main", inputs())
			},
			check: func(t *testing.T, remote *githubtest.Repo) {
				t.Helper()
				started := remote.Dispatches()
				require.NotEmpty(t, started, "it is never lost")
				assert.LessOrEqual(t, len(started), 2)
			},
			needs: write("actions"), lacks: "actions: write",
		},
		"IsAncestor": {
			call: func(ctx context.Context, r *github.Repository) error {
				is, err := r.IsAncestor(ctx, commit("0"), commit("0"))
				if err == nil && !is {
					return fmt.Errorf("a commit is not its own ancestor")
				}
				return err
			},
			needs: map[string]string{"contents": "read"}, lacks: "contents: read",
		},
	}
}

// promoting is a fixture where each promotion works; there are three statuses, on a page each.
func promoting(t *testing.T, change func(*github.Options)) *fixture {
	t.Helper()
	f := setup(t, githubtest.Options{PageSize: 1}, change)
	f.remote.SetOptions(func(o *githubtest.RepoOptions) { o.Workflows = []string{"cd.yaml"} })
	for _, context := range []string{"ci", "dev environment", "stage environment"} {
		f.remote.SetStatus(githubtest.Status{Commit: commit("0"), Context: context, State: "pending", Description: "Promoted"})
	}
	return f
}

// TestR10FaultsOfPromotion: whatever goes wrong once, with any request, the call ends as if nothing had.
func TestR10FaultsOfPromotion(t *testing.T) {
	t.Parallel()
	faults := map[string]githubtest.Fault{
		"500":                     githubtest.HTTPError(http.StatusInternalServerError),
		"500 late":                githubtest.HTTPError(http.StatusInternalServerError).Late(),
		"502":                     githubtest.HTTPError(http.StatusBadGateway).Late(),
		"503 with Retry-After":    githubtest.HTTPError(http.StatusServiceUnavailable).With("Retry-After", "7"),
		"429":                     githubtest.HTTPError(http.StatusTooManyRequests),
		"429 with Retry-After":    githubtest.SecondaryRateLimit(http.StatusTooManyRequests, time.Minute),
		"403 without Retry-After": githubtest.SecondaryRateLimit(http.StatusForbidden, 0),
		"403 with Retry-After":    githubtest.SecondaryRateLimit(http.StatusForbidden, time.Minute),
		"none left":               githubtest.PrimaryRateLimit(http.StatusForbidden, githubtest.Midnight().Add(5*time.Minute)),
		"reset":                   githubtest.Reset(),
		"lost answer":             githubtest.LostAnswer(),
		"cut answer":              githubtest.CutAnswer(),
	}
	for name, p := range promotions() {
		undisturbed := promoting(t, nil)
		require.NoError(t, p.call(t.Context(), undisturbed.repo))
		for at := range undisturbed.hub.Requests() {
			for about, fault := range faults {
				if about == "cut answer" && name == "Dispatch" {
					continue // it has no body
				}
				t.Run(fmt.Sprintf("%s/%d %s", name, at+1, about), func(t *testing.T) {
					t.Parallel()
					f := promoting(t, nil)
					f.hub.Inject(fault, githubtest.First(1, githubtest.Nth(at+1)))
					require.NoError(t, p.call(t.Context(), f.repo))
					if p.check != nil {
						p.check(t, f.remote)
					}
					assert.NotContains(t, strings.Join(f.notices, "\n"), secret)
				})
			}
		}
	}
}

// TestR3FaultsOfPromotionThatStay: permanent failures are reported, and the next run ends as if nothing had happened.
func TestR3FaultsOfPromotionThatStay(t *testing.T) {
	t.Parallel()
	for name, p := range promotions() {
		for about, fault := range map[string]githubtest.Fault{
			"502":         githubtest.HTTPError(http.StatusBadGateway),
			"429":         githubtest.SecondaryRateLimit(http.StatusTooManyRequests, time.Hour),
			"reset":       githubtest.Reset(),
			"lost answer": githubtest.LostAnswer(),
		} {
			t.Run(name+"/"+about, func(t *testing.T) {
				t.Parallel()
				f := promoting(t, nil)
				f.hub.Inject(fault, githubtest.Always)
				err := p.call(t.Context(), f.repo)
				var failed *github.Error
				require.ErrorAs(t, err, &failed)
				assert.Contains(t, []github.Kind{github.Unavailable, github.RateLimited}, failed.Kind)
				assert.NotEmpty(t, failed.Act)
				assert.NotEmpty(t, failed.Hint)
				assert.Equal(t, "acme/gitops", failed.Repository)
				assert.NotContains(t, fmt.Sprintf("%v %+v", err, failed), secret)
				require.NotErrorIs(t, err, giterror.ErrConflict)
				f.hub.Heal()
				require.NoError(t, p.call(t.Context(), f.repo))
			})
		}
	}
}

// TestR11PermissionsOfPromotion: each call says what the token lacks, and is content with no more than that.
func TestR11PermissionsOfPromotion(t *testing.T) {
	t.Parallel()
	for name, p := range promotions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := promoting(t, nil)
			f.hub.AddToken(secret, githubtest.Token{Permissions: p.needs})
			require.NoError(t, p.call(t.Context(), f.repo))

			f.hub.AddToken(secret, githubtest.Token{Permissions: map[string]string{"metadata": "read"}})
			f.hub.Forget()
			var failed *github.Error
			require.ErrorAs(t, p.call(t.Context(), f.repo), &failed)
			assert.Equal(t, github.Denied, failed.Kind)
			assert.Equal(t, p.lacks, failed.Permission)
			assert.Equal(t, fmt.Sprintf("the token needs the permission %q", p.lacks), failed.Hint)
			assert.Len(t, f.hub.Requests(), 1)

			actions := f.client(t, func(o *github.Options) { o.ActionsToken = true }).Repository("acme", "gitops")
			require.ErrorAs(t, p.call(t.Context(), actions), &failed)
			assert.Contains(t, failed.Hint, fmt.Sprintf("add it to those of its job, as in \"permissions: {%s}\"", p.lacks))

			f.hub.AddToken(secret, githubtest.Token{Permissions: githubtest.AllPermissions(), Repos: []string{"acme/other"}})
			require.ErrorAs(t, p.call(t.Context(), f.repo), &failed)
			assert.Equal(t, github.NotFound, failed.Kind)
			assert.Equal(t, p.lacks, failed.Permission)
			assert.Contains(t, failed.Hint, "token")
		})
	}
}

// TestPromotionWithAnApp: a token with the permissions of all its calls, and only these, is enough.
func TestPromotionWithAnApp(t *testing.T) {
	t.Parallel()
	for name, p := range promotions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := promoting(t, nil)
			needs := map[string]string{"statuses": "write", "actions": "write", "contents": "read"}
			source := f.source(install(t, f, appKey(), needs), "gitops")
			client := f.client(t, func(o *github.Options) { o.Token = source })
			require.NoError(t, p.call(t.Context(), client.Repository("acme", "gitops")))
			if p.check != nil {
				p.check(t, f.remote)
			}
			require.NoError(t, f.clock.Sleep(t.Context(), 2*time.Hour))
			require.NoError(t, p.call(t.Context(), client.Repository("acme", "gitops")), "R27: the token is renewed")
		})
	}
}

func TestPromotionInAnArchivedRepository(t *testing.T) {
	t.Parallel()
	f := promoting(t, nil)
	f.remote.SetOptions(func(o *githubtest.RepoOptions) { o.Archived = true })
	for name, p := range promotions() {
		err := p.call(t.Context(), f.repo)
		if p.check == nil {
			require.NoError(t, err, name+" changes nothing")
			continue
		}
		var failed *github.Error
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, "the repository is archived, thus read-only", failed.Hint)
		assert.Equal(t, github.Invalid, failed.Kind)
	}
}

func TestR25PromotionCancelled(t *testing.T) {
	t.Parallel()
	for name, p := range promotions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := promoting(t, nil)
			f.hub.Inject(githubtest.HTTPError(http.StatusBadGateway), githubtest.Always)
			ctx, cancel := context.WithCancel(t.Context())
			f.clock.others = append(f.clock.others, func(time.Duration) { cancel() })
			require.ErrorIs(t, p.call(ctx, f.repo), context.Canceled)
			asked := len(f.hub.Requests())
			assert.LessOrEqual(t, asked, 2)
			require.ErrorIs(t, p.call(ctx, f.repo), context.Canceled)
			assert.Len(t, f.hub.Requests(), asked, "nothing is asked any more")
		})
	}
}
