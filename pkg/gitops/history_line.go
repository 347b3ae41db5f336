package gitops

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"
)

// Line returns the commits before one along first parents, the nearest first and at most as many as given: what the
// branch was, one push after the other. It ends early where the history that is here does, and is empty for a commit
// that is not on the branch. commit is a full id.
func (h *History) Line(ctx context.Context, commit string, most int) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.read(ctx, true); err != nil {
		return nil, h.explain(err)
	}
	id, err := fullID(commit)
	if err != nil {
		return nil, h.explain(err)
	}
	return h.lineage.line(id, most), nil
}

func (l *lineage) line(from plumbing.Hash, most int) (found []string) {
	n, onBranch := l.find(from)
	for onBranch && len(found) < most && l.commits[n].count > 0 {
		n = l.parentsOf(n)[0]
		found = append(found, l.commits[n].id.String())
	}
	return found
}
