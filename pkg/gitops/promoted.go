package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// Promoted is what a commit of a GitOps branch says of its origin.
type Promoted struct {
	// Commit is that of the control plane's base branch, as full id; empty if nothing was ever promoted.
	Commit string
	// ClusterTypes are the folders of cluster types, in order.
	ClusterTypes []string
}

// RuleInvalidTracking is a file Promoted_Commit_Id that holds something else than a commit.
const RuleInvalidTracking = "invalid-tracking"

// ReadPromoted reads at a commit of a GitOps branch what was promoted with it. The error is an *Error.
func ReadPromoted(ctx context.Context, r *remote.Reader, repo *model.GitOpsRepo, commit string) (Promoted, error) {
	ref := source.OutputRef(repo)
	ref.Commit = commit
	source, err := r.ReadOne(ctx, ref, &diag.List{})
	if err != nil {
		return Promoted{}, err
	}
	tree := below(source.FS, giturl.CleanPath(repo.Path.Value))
	text, err := fs.ReadFile(tree, render.TrackingFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Promoted{}, nil
	case err != nil:
		return Promoted{}, r.Clean(fmt.Errorf("read %s: %w", render.TrackingFile, err))
	}
	out := Promoted{Commit: strings.ToLower(strings.TrimSpace(string(text)))}
	if !giturl.IsFullCommit(out.Commit) {
		return Promoted{}, giterror.New(RuleInvalidTracking, "%s at %.12s holds %q, which is not the id of a commit", render.TrackingFile, commit, giterror.OneLine(out.Commit))
	}
	published, err := change.ReadLayout(tree)
	if err != nil {
		return Promoted{}, r.Clean(err)
	}
	out.ClusterTypes = published.ClusterTypes
	return out, nil
}
