package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// unpublished returns a notice if branches of a clone have changes that its remote, which a run reads instead, does not have.
func unpublished(ctx context.Context, reader *remote.Reader, clone string, branches []string) (list diag.List) {
	if clone == "" {
		return nil
	}
	if texts, hint := reader.Unpublished(ctx, clone, branches); len(texts) > 0 {
		list.Notice(giterror.RuleLocalState, diag.Place{}, "local changes are not published: "+strings.Join(texts, ", "), diag.Hint(hint))
	}
	return list
}

// otherHint says how to use a branch that is not read. nearest is the one of branches that it was made from; empty if that
// is unknown. The first of branches is the base branch.
func otherHint(branch, nearest string, branches []string) string {
	if nearest == branches[0] {
		return fmt.Sprintf("--base %s compiles it instead of the promoted commit", branch)
	}
	return diffHint(nearest, branches)
}

// diffHint says how to compare a branch that is not read and not published; nearest and branches are those of otherHint.
func diffHint(nearest string, branches []string) string {
	if nearest == "" {
		return "kalypso diff --branch NAME compares it with " + diag.Alternatives(branches)
	}
	return fmt.Sprintf("kalypso diff --branch %s compares it with %s", nearest, nearest)
}

// isCloneOf reports whether a repository on this machine is a clone of the control plane.
func isCloneOf(ctx context.Context, reader *remote.Reader, clone, branch, controlPlane string) bool {
	_, url, err := reader.CloneRemote(ctx, clone, branch)
	if err != nil || url == "" {
		return false
	}
	read, err := reader.Where(model.Ref{Repo: controlPlane})
	if err != nil {
		return false
	}
	of, err := reader.Where(model.Ref{Repo: url})
	return err == nil && of == read
}

// holdsOtherFleet reports whether a repository on this machine has Environments and is not the control plane itself.
func holdsOtherFleet(ctx context.Context, reader *remote.Reader, clone, controlPlane string) bool {
	repo := reader.Local(ctx, clone)
	if repo == nil || !repo.HasDirectory(ctx, model.EnvironmentsDirectory) {
		return false
	}
	read := reader.Local(ctx, controlPlane)
	return read == nil || read.ID() != repo.ID()
}
