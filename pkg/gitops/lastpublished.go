package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// lookBack is the maximum number of generations of commits that are searched for the last published commit.
const lookBack = 50

// LastPublished returns the provenance of the newest commit on the GitOps branch that published an environment; nil if
// none is found: a squash or rebase merge may have dropped the trailers.
func (d *Destination) LastPublished(ctx context.Context, environment string) (*message.Provenance, error) {
	tip := d.onto()
	if tip.IsZero() {
		return nil, nil
	}
	recent, err := d.repo.Recent(ctx, tip, lookBack)
	if err != nil {
		return nil, d.reader.Clean(err)
	}
	made := newestOfOurs(recent, tip, environment)
	if made == nil {
		return nil, nil
	}
	if made.Current, err = d.holds(ctx, made.id, made.tree == recent[tip].Tree); err != nil {
		return nil, d.reader.Clean(err)
	}
	return &made.Provenance, nil
}

// holds reports whether the destination has the same cluster types as the commit id. same is true if the whole trees are
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

func (d *Destination) clusterTypes(ctx context.Context, id plumbing.Hash) (map[string]plumbing.Hash, error) {
	commit, err := d.repo.CommitAt(ctx, id, "")
	if err != nil {
		return nil, err
	}
	directory := giturl.CleanPath(d.Repo.Path.Value)
	tree := gitobject.NewTreeFS(ctx, d.repo.TreesAt(id), commit)
	ids := map[string]plumbing.Hash{}
	entries, err := fs.ReadDir(tree, directory)
	if errors.Is(err, fs.ErrNotExist) {
		return ids, nil
	}
	for _, entry := range entries {
		ours, err := (&change.Layout{FS: tree}).IsReadme(path.Join(directory, entry.Name(), render.ReadmeFile))
		if err != nil {
			return nil, err
		}
		if !ours {
			continue
		}
		found, err := tree.Find("stat", path.Join(directory, entry.Name()))
		if err != nil {
			return nil, err
		}
		ids[entry.Name()] = found.ID
	}
	return ids, err
}

// ourCommit is a commit that kalypso made.
type ourCommit struct {
	message.Provenance
	id, tree plumbing.Hash
}

// newestOfOurs searches the ancestors of a commit, generation by generation, for the first that published the
// environment. Several environments can share a branch, with different paths.
func newestOfOurs(g gitobject.Graph, from plumbing.Hash, environment string) *ourCommit {
	seen := map[plumbing.Hash]bool{}
	for generation := []plumbing.Hash{from}; len(generation) > 0; {
		var next []plumbing.Hash
		for _, id := range generation {
			commit, known := g[id]
			if !known || seen[id] {
				continue
			}
			seen[id] = true
			if made, ours := message.ParseTrailers(commit.Message); ours && made.Environment == environment {
				return &ourCommit{made, id, commit.Tree}
			}
			next = append(next, commit.Parents...)
		}
		generation = next
	}
	return nil
}

// Promoted is the promoted commit and the cluster types in a commit of a GitOps branch.
type Promoted struct {
	// Commit is the full id of the commit of the control plane's base branch; empty if nothing was ever promoted.
	Commit string
	// ClusterTypes are the directories of cluster types, in order.
	ClusterTypes []string
}

// RuleInvalidTracking is a file Promoted_Commit_Id without a valid commit.
const RuleInvalidTracking = "invalid-tracking"

// ReadPromoted reads the promoted commit in a commit of a GitOps branch. The error is an *Error.
func ReadPromoted(ctx context.Context, r *remote.Reader, repo *model.GitOpsRepo, commit string) (Promoted, error) {
	tree, err := readOutputAt(ctx, r, repo, commit)
	if err != nil {
		return Promoted{}, err
	}
	text, err := fs.ReadFile(tree, render.TrackingFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Promoted{}, nil
	case err != nil:
		return Promoted{}, r.Clean(fmt.Errorf("read %s: %w", render.TrackingFile, err))
	}
	out := Promoted{Commit: strings.ToLower(strings.TrimSpace(string(text)))}
	if !giturl.IsFullCommit(out.Commit) {
		return Promoted{}, giterror.New(RuleInvalidTracking, "%s at %.12s contains %q, which is not a commit SHA", render.TrackingFile, commit, giterror.OneLine(out.Commit))
	}
	published, err := change.ReadLayout(tree)
	if err != nil {
		return Promoted{}, r.Clean(err)
	}
	out.ClusterTypes = published.ClusterTypes
	return out, nil
}

// readOutputAt returns the output in a commit of a GitOps branch.
func readOutputAt(ctx context.Context, r *remote.Reader, repo *model.GitOpsRepo, commit string) (fs.FS, error) {
	ref := source.OutputRef(repo)
	ref.Commit = commit
	source, err := r.ReadOne(ctx, ref, &diag.List{})
	if err != nil {
		return nil, err
	}
	return below(source.FS, OutputDirectory(repo)), nil
}
