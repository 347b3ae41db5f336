package promote

import (
	"context"
	"fmt"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/baserepo"
)

// loops stops where an environment and its base share a branch, and all that a commit does is to promote: promoting
// that would be a commit to be promoted, for ever.
func (s *step) loops(ctx context.Context) error {
	main := s.Loader.Main()
	if s.branch.Branch != main.Ref.Branch || !s.sharesRepo() || !s.facts.onBase {
		return nil
	}
	ref := main.Ref
	ref.Commit = s.out.Commit
	changes, err := s.Reader.CommitChanges(ctx, ref)
	if err != nil {
		return err
	}
	if s.onlyPromotes(changes) {
		s.out.Action = ActionNotPromotable
		s.out.Notes = append(s.out.Notes, fmt.Sprintf("commit %.12s only promotes another: promoting it would never end", s.out.Commit))
	}
	return nil
}

// onlyPromotes reports whether all that a commit does is to promote another one.
func (s *step) onlyPromotes(changes remote.CommitChanges) bool {
	if changes.More || len(changes.Files) == 0 || changes.Parent == "" {
		return false
	}
	for _, f := range changes.Files {
		old := f.Old
		if old == nil { // the first promotion makes the file
			spec := s.newSpec()
			spec.Commit = changes.Parent
			old = baserepo.New(spec)
		}
		if f.Opaque || !baserepo.OnlyCommitChanged(old, f.New) {
			return false
		}
	}
	return true
}
