package local

import (
	"context"
	"io/fs"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// The minimum and maximum number of generations that are read to compare a branch with its remote-tracking branch.
const (
	firstGenerations = 64
	mostGenerations  = 4096
)

// IsClone reports whether the repository has a work tree and a remote.
func (r *Repository) IsClone() bool {
	config, err := r.storage.Config()
	return r.WorkTree != "" && err == nil && len(config.Remotes) > 0
}

// HasTracking reports whether the state of a remote is known, because something was fetched or pushed.
func (r *Repository) HasTracking() bool { return len(r.refs.tracking) > 0 }

// Newest returns a branch that FindBranch found, compared with its remote-tracking branch: at the commit of that if it is
// ahead of the own branch and the own branch is not checked out. A branch of a bare repository stays as it is.
func (r *Repository) Newest(ctx context.Context, branch gitobject.Branch) (gitobject.Branch, error) {
	remotes := r.refs.remotes(branch.Name)
	if r.WorkTree == "" || branch.Remote != "" || len(remotes) == 0 {
		return branch, nil
	}
	branch.Upstream = remotes[0] + "/" + branch.Name
	upstream := r.refs.tracking[branch.Upstream]
	graph, err := r.common(ctx, branch, gitobject.Branch{Commit: upstream})
	if err != nil {
		return branch, err
	}
	own := graph.Without(branch.Commit, upstream)
	branch.Ahead, branch.Behind = len(own), len(graph.Without(upstream, branch.Commit))
	branch.Base = branch.Commit
	for commit, is := own[branch.Base]; is && len(commit.Parents) > 0; commit, is = own[branch.Base] {
		branch.Base = commit.Parents[0]
	}
	if branch.Ahead == 0 && branch.Behind > 0 && branch.Name != r.refs.checkedOut {
		branch.Commit, branch.Remote = upstream, remotes[0]
	}
	return branch, nil
}

// common returns the part of the history of two branches that relates them.
func (r *Repository) common(ctx context.Context, a, b gitobject.Branch) (graph gitobject.Graph, err error) {
	for n := firstGenerations; n <= mostGenerations; n *= 8 {
		if graph, err = r.walk(ctx, a.Commit, n, nil); err != nil {
			return nil, err
		}
		more, err := r.walk(ctx, b.Commit, n, graph)
		if err != nil {
			return nil, err
		}
		maps.Copy(graph, more)
		if _, decided := graph.Relate(a.Commit, b.Commit); decided {
			break
		}
	}
	return graph, nil
}

// Behind returns the branches, sorted, of which a remote has commits that the repository does not have on its own
// branch or its remote-tracking branch. tips are the branches of the remote.
func (r *Repository) Behind(ctx context.Context, remote string, tips map[string]plumbing.Hash) (names []string) {
	for name, tip := range tips {
		tracked := r.refs.tracking[remote+"/"+name]
		if !r.contains(ctx, tracked, tip) && !r.contains(ctx, r.refs.heads[name], tip) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// contains reports whether a commit is another one or one of its ancestors.
func (r *Repository) contains(ctx context.Context, commit, ancestor plumbing.Hash) bool {
	if commit.IsZero() || commit == ancestor {
		return !commit.IsZero()
	}
	if _, err := r.CommitAt(ctx, ancestor, ""); err != nil {
		return false
	}
	graph, err := r.common(ctx, gitobject.Branch{Commit: commit}, gitobject.Branch{Commit: ancestor})
	return err == nil && len(graph.Without(ancestor, commit)) == 0
}

// Nearest returns the first of the candidates of whose history a branch has the most, or "" if it has nothing of any or
// this cannot be told from the latest generations.
func (r *Repository) Nearest(ctx context.Context, name string, candidates []string) (nearest string) {
	own, err := r.FindBranch(name)
	if err != nil {
		return ""
	}
	history, err := r.walk(ctx, own.Commit, 8*firstGenerations, nil)
	if err != nil {
		return ""
	}
	most := 0
	for _, candidate := range candidates {
		other, err := r.FindBranch(candidate)
		if err != nil {
			continue
		}
		theirs, err := r.walk(ctx, other.Commit, 8*firstGenerations, nil)
		if err != nil {
			continue
		}
		shared := 0
		for id := range history {
			if _, has := theirs[id]; has {
				shared++
			}
		}
		if shared > most {
			nearest, most = candidate, shared
		}
	}
	return nearest
}

// HasDirectory reports whether the default branch or the one that is checked out has a directory.
func (r *Repository) HasDirectory(ctx context.Context, directory string) bool {
	for _, name := range []string{r.refs.remoteHead, r.refs.checkedOut} {
		branch, err := r.FindBranch(name)
		if err != nil {
			continue
		}
		commit, err := r.CommitAt(ctx, branch.Commit, "")
		if err != nil {
			continue
		}
		if info, err := fs.Stat(gitobject.NewTreeFS(ctx, r, commit), directory); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}
