package gitops

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// Dates are the committer dates of the source commits of a fleet.
type Dates struct {
	// Platform is the newest date of the platform's repositories; zero if all of them are plain folders.
	Platform time.Time
	// Tenants are the dates of the application repositories.
	Tenants []time.Time
}

// tenantLead is the maximum time by which an application's commit may be newer than the platform's newest commit.
const tenantLead = 24 * time.Hour

// newest returns the newest of the dates and of the parent's date, which counts as the platform's. A tenant can choose
// any date for a commit, so dates later than tenantLead after the platform's are ignored.
func (d Dates) newest(parent time.Time) time.Time {
	platform := newer(d.Platform, parent)
	all := platform
	for _, date := range d.Tenants {
		if platform.IsZero() || !date.After(platform.Add(tenantLead)) {
			all = newer(all, date)
		}
	}
	return all
}

// Origins returns what a fleet was read from, the base branch of the control plane included, and its dates.
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
	return slices.Compact(sortedOrigins(origins)), dates
}

// lastDate is beyond all dates that a commit has by right. Anybody can write any date into a commit, and
// some servers take none that is too far away.
var lastDate = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// newer returns the later one of two dates, and a if b cannot be right.
func newer(a, b time.Time) time.Time {
	if b.After(a) && b.Before(lastDate) {
		return b
	}
	return a
}

func originOf(ref model.Ref, repo, commit string) Origin {
	return Origin{Role: ref.Role, Repo: repo, Branch: ref.Branch, Path: cleanPath(ref.Path), Commit: commit}
}

// withoutCommit returns what was read, whatever its commit.
func (o Origin) withoutCommit() Origin {
	o.Commit = ""
	return o
}

// lookBack is how many generations of commits are looked at for the one that was published last.
const lookBack = 50

// LastPublished returns what the newest commit of ours on the GitOps branch that published an environment
// says that it was compiled from; nil if none is found: a squash or rebase merge may have dropped it.
func (d *Destination) LastPublished(ctx context.Context, environment string) (*Provenance, error) {
	tip := d.onto()
	if tip.IsZero() {
		return nil, nil
	}
	recent, err := d.repo.recent(ctx, tip, lookBack)
	if err != nil {
		return nil, d.reader.clean(err)
	}
	made := recent.newestOfOurs(tip, environment)
	if made == nil {
		return nil, nil
	}
	if made.Current, err = d.holds(ctx, made.id, made.tree == recent[tip].tree); err != nil {
		return nil, d.reader.clean(err)
	}
	return &made.Provenance, nil
}

// holds reports whether the destination has the same cluster types as the commit id. same says that the whole trees are
// equal.
func (d *Destination) holds(ctx context.Context, id plumbing.Hash, same bool) (bool, error) {
	if same {
		return true, nil
	}
	was, err := d.clusterTypes(ctx, id)
	if err != nil {
		return false, err
	}
	is, err := d.clusterTypes(ctx, d.onto())
	return maps.Equal(was, is), err
}

// clusterTypes returns the ids of the folders of cluster types that a commit has.
func (d *Destination) clusterTypes(ctx context.Context, id plumbing.Hash) (map[string]plumbing.Hash, error) {
	commit, err := d.repo.commitAt(ctx, id, "")
	if err != nil {
		return nil, err
	}
	folder := cleanPath(d.Repo.Path.Value)
	tree := newTreeFS(ctx, d.repo.treesAt(id), commit)
	ids := map[string]plumbing.Hash{}
	entries, err := fs.ReadDir(tree, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return ids, nil
	}
	for _, entry := range entries {
		ours, err := (&published{FS: tree}).isReadme(path.Join(folder, entry.Name(), render.ReadmeFile))
		if err != nil {
			return nil, err
		}
		if !ours {
			continue
		}
		found, err := tree.find("stat", path.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		ids[entry.Name()] = found.id
	}
	return ids, err
}

// ourCommit is a commit that kalypso made.
type ourCommit struct {
	Provenance
	id, tree plumbing.Hash
}

// newestOfOurs goes back from a commit, generation by generation, to the first of ours that published the
// environment. Several can share a branch, each with a path of its own.
func (g commitGraph) newestOfOurs(from plumbing.Hash, environment string) *ourCommit {
	seen := map[plumbing.Hash]bool{}
	for generation := []plumbing.Hash{from}; len(generation) > 0; {
		var next []plumbing.Hash
		for _, id := range generation {
			commit, known := g[id]
			if !known || seen[id] {
				continue
			}
			seen[id] = true
			if made, ours := ParseTrailers(commit.message); ours && made.Environment == environment {
				return &ourCommit{made, id, commit.tree}
			}
			next = append(next, commit.parents...)
		}
		generation = next
	}
	return nil
}
