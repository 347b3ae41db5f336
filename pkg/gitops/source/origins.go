package source

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Dates are the committer dates of the source commits of a fleet.
type Dates struct {
	// Platform is the newest date of the platform's repositories; zero if all of them are plain directories.
	Platform time.Time
	// Tenants are the dates of the application repositories.
	Tenants []time.Time
}

// tenantLead is the maximum time by which an application's commit may be newer than the platform's newest commit.
const tenantLead = 24 * time.Hour

// Newest returns the newest of the dates and of the parent's date, which counts as the platform's. A tenant can choose
// any date for a commit, so dates later than tenantLead after the platform's are ignored.
func (d Dates) Newest(parent time.Time) time.Time {
	platform := newer(d.Platform, parent)
	all := platform
	for _, date := range d.Tenants {
		if platform.IsZero() || !date.After(platform.Add(tenantLead)) {
			all = newer(all, date)
		}
	}
	return all
}

// Origins returns the origins of a fleet, including the base branch of the control plane, and their dates.
func (l *Loader) Origins(fleet *model.Fleet) (origins []Origin, dates Dates) {
	sources := fleet.Sources
	if l.main != nil {
		sources = append([]*model.Source{l.main}, sources...)
	}
	for _, s := range sources {
		origins = append(origins, originOf(s.Ref, s.Repo, s.Commit))
		if s.Ref.Role == model.Tenant {
			dates.Tenants = append(dates.Tenants, s.Committed)
		} else {
			dates.Platform = newer(dates.Platform, s.Committed)
		}
	}
	return slices.Compact(SortedOrigins(origins)), dates
}

// lastDate is the limit of plausible dates of a commit. Anybody can write any date into a commit, and some servers reject
// dates that are too far in the future.
var lastDate = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// newer returns the later one of two dates, and a if b is implausible.
func newer(a, b time.Time) time.Time {
	if b.After(a) && b.Before(lastDate) {
		return b
	}
	return a
}

func originOf(ref model.Ref, repo, commit string) Origin {
	return Origin{Role: ref.Role, Repo: repo, Branch: ref.Branch, Path: giturl.CleanPath(ref.Path), Commit: commit}
}

// Origin is a path of a repository that was read, with its commit.
type Origin struct {
	// Role is Main, Platform, Base or Tenant.
	Role model.Role
	// Repo is in normal form.
	Repo, Branch, Path string
	// Commit has 40 hexadecimal digits; it is empty for a plain directory.
	Commit string
}

// SortedOrigins sorts origins by role, repository, branch and path.
func SortedOrigins(origins []Origin) []Origin {
	return slices.SortedFunc(slices.Values(origins), func(a, b Origin) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Repo, b.Repo), cmp.Compare(a.Branch, b.Branch),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Commit, b.Commit))
	})
}

// WithoutCommit returns the origin without its commit.
func (o Origin) WithoutCommit() Origin {
	o.Commit = ""
	return o
}

// CurrentOrigins returns the origins from which an environment would be compiled now. It only reads the tip of the branch
// of application repositories. known is false if that fails.
//
// The repositories are those of the current control plane, never those in a published commit, which is untrusted.
func (l *Loader) CurrentOrigins(ctx context.Context, environment *model.Environment) (now []Origin, known bool) {
	run := &fleetLoad{Loader: l, environment: environment}
	if !run.readPlatform(ctx) {
		return nil, false
	}
	run.readBases(ctx)
	refs, _ := run.tenantRefs()
	if run.diags.HasErrors() || run.unread || run.baseUnread {
		return nil, false
	}
	for _, part := range run.parts {
		now = append(now, originOf(part.Source.Ref, part.Source.Repo, part.Source.Commit))
	}
	tenants, err := tenantOrigins(ctx, l.Reader, refs)
	return slices.Compact(SortedOrigins(append(now, tenants...))), err == nil
}

// tenantOrigins reads the tips of the branches of application repositories.
func tenantOrigins(ctx context.Context, r *remote.Reader, refs []model.Ref) ([]Origin, error) {
	r.Prepare(refs)
	origins := make([]Origin, len(refs))
	var group errgroup.Group
	for i, ref := range refs {
		group.Go(func() error {
			at, err := r.Locate(ref)
			if err != nil {
				return err
			}
			tip, err := r.Tip(ctx, ref)
			origins[i] = originOf(ref, at.Name, tip)
			return err
		})
	}
	return origins, group.Wait()
}
