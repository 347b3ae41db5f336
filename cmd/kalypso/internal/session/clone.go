package session

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// useRemote returns where a run that publishes reads the control plane: the remote of repo if that is a clone, because a
// clone may be behind its remote. It reports the change on stderr. Otherwise it returns repo.
func (f *Flags) useRemote(ctx context.Context, e *cli.Host, reader *remote.Reader, repo string) (string, error) {
	branch := cmp.Or(f.BaseBranch, "main")
	name, url, err := reader.CloneRemote(ctx, repo, branch)
	switch {
	case err != nil:
		return "", cli.Usage("%w: set --control-plane URL", err)
	case url == "":
		return repo, nil
	case !giturl.IsLocal(repo):
		return "", replacedByClone(reader, repo)
	}
	if !giturl.IsLocal(url) {
		if _, again, err := reader.CloneRemote(ctx, url, branch); err != nil || again != "" {
			return "", replacedByClone(reader, url)
		}
	}
	at, err := reader.Where(model.Ref{Repo: url})
	if err != nil {
		return "", cli.Usage("the remote %s of %s: %w", name, repo, err)
	}
	fmt.Fprintf(e.Stderr, "reading the control plane from %s (remote %s of %s)\n", diag.Safe(at), diag.Safe(name), diag.Safe(f.shown(e, repo)))
	f.ControlPlane, f.clone = url, repo
	return url, nil
}

// replacedByClone is the error of a --replace that would publish the local state of a clone.
func replacedByClone(reader *remote.Reader, repo string) error {
	ref := model.Ref{Repo: repo}
	at, _ := reader.Where(ref) // it was opened there
	name, _ := giturl.NormalURL(repo)
	return cli.Usage("--replace reads the control plane from the clone %s, and the local state of a clone cannot be published: add --replace %s=%s",
		at, name, name)
}

// shown is a clone as --control-plane names it, or relative to the current directory.
func (f *Flags) shown(e *cli.Host, repo string) string {
	dir, err := e.WorkingDir()
	if f.ControlPlane != "" || err != nil {
		return repo
	}
	if relative, err := filepath.Rel(dir, repo); err == nil {
		return relative
	}
	return repo
}
