package session

import (
	"context"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
)

// unpublished returns a notice if branches of a clone have changes that its remote, which a run reads instead, does not have.
func unpublished(ctx context.Context, reader *remote.Reader, clone string, branches []string) (list diag.List) {
	if clone == "" {
		return nil
	}
	if texts := reader.Unpublished(ctx, clone, branches); len(texts) > 0 {
		list.Notice(giterror.RuleLocalState, diag.Place{}, "local changes are not published: "+strings.Join(texts, ", "),
			diag.Hint("commit and push them"))
	}
	return list
}
