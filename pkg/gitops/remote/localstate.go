package remote

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/local"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// describeLocal describes how a branch of a clone differs from the remote; empty if it does not.
func describeLocal(repo *local.Repository, branch gitobject.Branch, uncommitted bool) string {
	text := branch.Name
	if uncommitted {
		text += " with uncommitted changes"
	}
	commits := func(n int) string { return diag.Plural(n, "commit") }
	switch {
	case branch.Remote != "" && branch.Upstream != "":
		text += fmt.Sprintf(" from %s (%s ahead of %s)", branch.Upstream, commits(branch.Behind), branch.Name)
	case branch.Remote != "" && len(branch.OtherRemotes) > 0:
		text += fmt.Sprintf(" from %s/%s (also in %s)", branch.Remote, branch.Name, strings.Join(branch.OtherRemotes, ", "))
	case branch.Remote != "":
	case branch.Upstream == "" && repo.IsClone() && repo.HasTracking():
		text += " (not on a remote)"
	case branch.Ahead > 0 && branch.Behind > 0:
		text += fmt.Sprintf(" (%s ahead of %s, %d behind)", commits(branch.Ahead), branch.Upstream, branch.Behind)
	case branch.Ahead > 0:
		text += fmt.Sprintf(" (%s ahead of %s)", commits(branch.Ahead), branch.Upstream)
	case branch.Behind > 0:
		text += fmt.Sprintf(" (%s behind %s)", commits(branch.Behind), branch.Upstream)
	}
	if text == branch.Name {
		return ""
	}
	return text
}

// localStates are the branches of clones that were read and differ from the remote.
type localStates struct {
	mu sync.Mutex
	// states are texts, by clone and branch.
	states map[string]map[string]string
	// changed are the branches of clones that are read with uncommitted changes: false if only for their Environments.
	changed map[[2]string]bool
	// pulls are the clones in which `git pull` gets commits for the branch that is checked out.
	pulls map[string]bool
}

func (l *localStates) uses(clone, branch string, role model.Role) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed[[2]string{clone, branch}] = l.changed[[2]string{clone, branch}] || role != model.Main
}

// noteBranch records how a branch of a clone that is read differs from the remote.
func (l *localStates) noteBranch(repo *local.Repository, branch gitobject.Branch, uncommitted bool) {
	l.note(repo.String(), branch.Name, describeLocal(repo, branch, uncommitted))
	if branch.Behind > 0 && branch.Ahead == 0 && repo.CheckedOut() == branch.Name {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pulls[repo.String()] = true
	}
}

func (l *localStates) note(clone, branch, state string) {
	if state == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.states[clone] == nil {
		l.states[clone] = map[string]string{}
	}
	if len(state) > len(l.states[clone][branch]) { // other paths of the branch may have no uncommitted changes
		l.states[clone][branch] = state
	}
}

// list returns a notice for each clone of which something was read that its remote does not have, or has newer. behind are
// the branches of a clone that are behind its remote.
func (l *localStates) list(clone, remote string, behind []string, worktreeBase bool) (list diag.List) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(behind) > 0 && l.states[clone] == nil {
		l.states[clone] = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(l.states)) {
		var texts, hints []string
		for _, branch := range slices.Sorted(maps.Keys(l.states[name])) {
			texts = append(texts, l.states[name][branch])
			if compiled, changed := l.changed[[2]string{name, branch}]; changed && !compiled && !worktreeBase {
				hints = append(hints, fmt.Sprintf("environments compile with the promoted commit of %s; --base worktree includes the uncommitted changes", branch))
			}
		}
		if name == clone && len(behind) > 0 {
			for _, branch := range behind {
				texts = append(texts, fmt.Sprintf("%s is behind %s", branch, remote))
			}
		}
		switch {
		case l.pulls[name]: // it fetches, too
			hints = append(hints, "run git pull")
		case name == clone && len(behind) > 0:
			hints = append(hints, "run git fetch")
		}
		list.Notice(giterror.RuleLocalState, diag.Place{}, fmt.Sprintf("reading %s: %s", name, strings.Join(texts, ", ")), diag.Hint(strings.Join(hints, "; ")))
	}
	return list
}

// listing compares the branches of a clone with those that its remote has now.
type listing struct {
	clone  *local.Repository
	remote string
	stop   context.CancelFunc
	// done is closed when behind, the branches that are behind the remote, is set.
	done   chan struct{}
	behind []string
}

// maxListing is how long a run waits at most for the branches of the remote of a clone.
const maxListing = 3 * time.Second

// newListing starts to compare; tips lists the branches of the remote. If it fails, no branch is behind.
func newListing(ctx context.Context, clone *local.Repository, remote string, tips func(context.Context) (map[string]plumbing.Hash, error)) *listing {
	ctx, stop := context.WithTimeout(ctx, maxListing)
	l := &listing{clone: clone, remote: remote, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		defer stop()
		if found, err := tips(ctx); err == nil {
			l.behind = clone.Behind(ctx, remote, found)
		}
	}()
	return l
}
