package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	gitconfig "github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
)

// references is a snapshot of the branches of a repository.
type references struct {
	// checkedOut is the branch that HEAD points to, and remoteHead the default branch of the remote, preferably origin;
	// empty if there is none.
	checkedOut, remoteHead string
	// heads are refs/heads by branch, and tracking are refs/remotes by remote and branch, such as origin/main.
	heads, tracking map[string]plumbing.Hash
}

func (r *Repository) readReferences() (references, error) {
	found := references{heads: map[string]plumbing.Hash{}, tracking: map[string]plumbing.Hash{}}
	if head, err := r.storage.Reference(plumbing.HEAD); err == nil && head.Type() == plumbing.SymbolicReference && head.Target().IsBranch() {
		found.checkedOut = head.Target().Short()
	}
	refs, err := r.storage.IterReferences()
	if err != nil {
		return found, err
	}
	defer refs.Close()
	return found, refs.ForEach(func(ref *plumbing.Reference) error {
		short, isTracking := strings.CutPrefix(ref.Name().String(), "refs/remotes/")
		if !isTracking && !ref.Name().IsBranch() {
			return nil
		}
		if ref.Type() == plumbing.SymbolicReference {
			resolved, err := storer.ResolveReference(r.storage, ref.Target())
			if errors.Is(err, plumbing.ErrReferenceNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			if remote, is := strings.CutSuffix(short, "/HEAD"); is && (found.remoteHead == "" || remote == "origin") {
				found.remoteHead = strings.TrimPrefix(resolved.Name().String(), "refs/remotes/"+remote+"/")
			}
			ref = plumbing.NewHashReference(ref.Name(), resolved.Hash())
		}
		if isTracking {
			found.tracking[short] = ref.Hash()
		} else {
			found.heads[ref.Name().Short()] = ref.Hash()
		}
		return nil
	})
}

// branch finds refs/heads/<name>, else refs/remotes/<remote>/<name>, preferably of origin. An empty name is the default
// branch of the remote, else the checked-out branch.
func (f references) branch(repo, name string) (gitobject.Branch, error) {
	if name == "" {
		if name = cmp.Or(f.remoteHead, f.checkedOut); name == "" {
			return gitobject.Branch{}, giterror.New(giterror.RuleBranchNotFound, "%s has no branch checked out; name one", repo)
		}
	}
	if commit, found := f.heads[name]; found {
		return gitobject.Branch{Name: name, Commit: commit}, nil
	}
	remotes := f.remotes(name)
	if len(remotes) == 0 {
		return gitobject.Branch{}, giterror.NoBranch(repo, name, f.names())
	}
	return gitobject.Branch{Name: name, Commit: f.tracking[remotes[0]+"/"+name], Remote: remotes[0], OtherRemotes: remotes[1:]}, nil
}

// remotes returns the remotes with a remote-tracking branch of the name, origin first.
func (f references) remotes(name string) (remotes []string) {
	for short := range f.tracking {
		if remote, found := strings.CutSuffix(short, "/"+name); found && remote != "" {
			remotes = append(remotes, remote)
		}
	}
	slices.Sort(remotes)
	if i := slices.Index(remotes, "origin"); i > 0 {
		remotes[0], remotes[i] = remotes[i], remotes[0]
	}
	return remotes
}

// names returns the names of all local and remote branches, sorted.
func (f references) names() []string {
	names := slices.Collect(maps.Keys(f.heads))
	for short := range f.tracking {
		if _, branch, ok := strings.Cut(short, "/"); ok && branch != "HEAD" {
			names = append(names, branch)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CheckedOut returns the branch that HEAD points to; empty if there is none.
func (r *Repository) CheckedOut() string { return r.refs.checkedOut }

// Branches returns the tips of the branches.
func (r *Repository) Branches() map[string]plumbing.Hash { return r.refs.heads }

// FindBranch finds a local branch, else one of a remote; an empty name is the default branch.
func (r *Repository) FindBranch(name string) (gitobject.Branch, error) {
	found, err := r.refs.branch(r.name, name)
	config, _ := r.storage.Config() // supported has read it
	if missing, ok := errors.AsType[*giterror.Error](err); ok && config != nil && config.Remotes["origin"] != nil && plainArgument.MatchString(name) {
		covers := func(s gitconfig.RefSpec) bool { return s.Match(plumbing.NewBranchReferenceName(name)) }
		if fetched := config.Remotes["origin"].Fetch; len(fetched) > 0 && !slices.ContainsFunc(fetched, covers) { // --single-branch
			missing.Hint = fmt.Sprintf("the clone does not fetch this branch: `git remote set-branches --add origin %s && git fetch`", name)
		}
	}
	return found, err
}

// now reads the current branches, and makes new packs visible.
func (r *Repository) now() (references, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects.Reindex()
	found, err := r.readReferences()
	if err != nil {
		return found, invalid(r.name, err)
	}
	return found, nil
}

// Tips returns the current tips of all branches.
func (r *Repository) Tips(context.Context) (map[string]plumbing.Hash, error) {
	found, err := r.now()
	return found.heads, err
}

// FindBranchNow finds the current state of a branch as FindBranch does, and returns all tips.
func (r *Repository) FindBranchNow(name string) (gitobject.Branch, map[string]plumbing.Hash, error) {
	refs, err := r.now()
	if err != nil {
		return gitobject.Branch{}, nil, err
	}
	found, err := refs.branch(r.name, name)
	return found, refs.heads, err
}

// TipNow returns the current tip of a branch.
func (r *Repository) TipNow(_ context.Context, branch string) (plumbing.Hash, error) {
	found, _, err := r.FindBranchNow(branch)
	return found.Commit, err
}

// plainArgument matches words that need no quotes in a shell.
var plainArgument = regexp.MustCompile(`^[A-Za-z0-9@%+,./:=_~-]+$`)

// RemoteURL returns the URL of a remote as an argument for the command line, without credentials; empty if it is
// unknown or not a valid argument.
func (r *Repository) RemoteURL(remote string) string {
	at, parsed, err := r.remoteAddress(remote)
	if err != nil || parsed.Port != "" && parsed.User != "" {
		return ""
	}
	if parsed.User != "" && strings.Contains(at, "://") { // messages omit users of URLs
		at = parsed.User + "@" + parsed.Host + ":" + parsed.Path
	}
	if !plainArgument.MatchString(at) {
		return ""
	}
	return at
}

// remoteAddress returns the URL of a remote without credentials; a path is absolute.
func (r *Repository) remoteAddress(remote string) (at string, parsed giturl.Address, err error) {
	config, err := r.storage.Config()
	if err != nil {
		return "", parsed, invalid(r.name, err)
	}
	if config.Remotes[remote] == nil || len(config.Remotes[remote].URLs) == 0 {
		return "", parsed, fmt.Errorf("the remote %q has no URL", remote)
	}
	at = config.Remotes[remote].URLs[0]
	if strings.HasPrefix(at, "http") {
		at = credentials.UserInURL.ReplaceAllString(at, "$1")
	}
	if parsed, err = giturl.ParseAddress(at); err == nil {
		err = parsed.FromCommandLine()
	}
	if err == nil && parsed.Scheme == "" {
		at = within(r.WorkTree, at)
	}
	return at, parsed, err
}

// Upstream returns the remote of a clone and its URL, without credentials: origin, else the only remote, else the one
// that a branch tracks. Both are empty if the repository is bare or has no remote.
func (r *Repository) Upstream(branch string) (remote, url string, err error) {
	config, err := r.storage.Config()
	if err != nil {
		return "", "", invalid(r.name, err)
	}
	names := slices.Sorted(maps.Keys(config.Remotes))
	tracked := config.Branches[branch]
	switch {
	case r.WorkTree == "" || len(names) == 0:
		return "", "", nil
	case slices.Contains(names, "origin"):
		remote = "origin"
	case len(names) == 1:
		remote = names[0]
	case tracked != nil && slices.Contains(names, tracked.Remote):
		remote = tracked.Remote
	default:
		return "", "", fmt.Errorf("%s has several remotes (%s), none is \"origin\" and branch %q tracks none", r, strings.Join(names, ", "), branch)
	}
	if url, _, err = r.remoteAddress(remote); err != nil {
		return "", "", fmt.Errorf("%s: the URL of the remote %q cannot be used: %w", r, remote, err)
	}
	if push := config.Raw.Section("remote").Subsection(remote).Option("pushurl"); push != "" && push != config.Remotes[remote].URLs[0] {
		return "", "", fmt.Errorf("%s: the remote %q has another URL for pushing (remote.%s.pushurl), and kalypso reads and pushes at one", r, remote, remote)
	}
	return remote, url, nil
}
