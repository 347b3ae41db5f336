package pullrequest

import (
	"context"
	"fmt"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// Withdrawal is a pull request that is not needed any more.
type Withdrawal struct {
	Environment string
	// Path is as in Submission.
	Path       string
	Head, Base string
	// HeadCommit is the tip of Head when this was found; empty if there was no such branch.
	HeadCommit string
	// Why is a sentence for people, in Markdown.
	Why string
	// Confirm is called before a pull request is closed, which an error prevents; may be nil.
	Confirm func(ctx context.Context) error
}

// Withdraw closes the open pull requests of kalypso for an environment, with the reason. Without one it only reads. It
// returns the closed ones, even with an error; giterror.ErrConflict means to start again from reading.
func Withdraw(ctx context.Context, prs Forge, w Withdrawal) (closed []Request, err error) {
	open, err := prs.Open(ctx, w.Base)
	if err != nil {
		return nil, err
	}
	for _, p := range open {
		found, ours := findSection(p.Body, w.Environment, w.Path)
		if !ours {
			continue
		}
		watched := p.Head == w.Head && w.HeadCommit != ""
		if watched {
			if err := stillAt(ctx, prs, p.Head, w.HeadCommit); err != nil {
				return closed, err
			}
		}
		if w.Confirm != nil {
			if err := w.Confirm(ctx); err != nil {
				return closed, err
			}
		}
		p, err := closeOurs(ctx, prs, p, found, w.Why)
		if p.State == Closed {
			closed = append(closed, p)
		}
		if err == nil && watched {
			err = stillAt(ctx, prs, p.Head, w.HeadCommit) // else another run is using it
		}
		if err != nil {
			return closed, err
		}
	}
	return closed, nil
}

func closeOurs(ctx context.Context, prs Forge, p Request, s section, why string) (Request, error) {
	text := s.text(p.Body)
	s.marker.closed = true
	p.Body = s.with(text)
	if err := prs.Close(ctx, p.Number, p.Body); err != nil {
		return p, err
	}
	p.State = Closed
	return p, prs.Comment(ctx, p.Number, why)
}

func stillAt(ctx context.Context, prs Forge, branch, commit string) error {
	tip, err := prs.Tip(ctx, branch)
	if err == nil && tip != commit {
		return fmt.Errorf("branch %q was pushed to by someone else: %w", branch, giterror.ErrConflict)
	}
	return err
}
