package diff

import (
	"context"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// commentFlags are the flags of kalypso comment.
type commentFlags struct {
	session.Flags
	request string
}

// NewComment returns kalypso comment.
func NewComment(e *cli.Host) *cobra.Command {
	opts := &commentFlags{}
	cmd := &cobra.Command{
		Use:   "comment FILE",
		Short: "Put a preview that was saved on its pull request",
		Long: `Put the text that "kalypso diff --save-comment FILE" has written on a pull request, as one
comment that is kept up to date.

For pull requests from forks: their workflows get no secrets, so one workflow computes the preview
without any, and another, which the fork cannot change, comments. It must take the number of the
pull request from GitHub and not from a file. Whoever opens a pull request can change what the
first workflow saves: the comment is what he says.`,
		Example: `  kalypso comment --pull-request https://github.com/acme/control-plane/pull/12 preview.md
  kalypso comment --pull-request 12 --control-plane https://github.com/acme/control-plane preview.md`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runComment(cmd.Context(), e, opts, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.ControlPlane, "control-plane", "", "URL or `path` of the control plane (default: the workflow's repository, else the one around the current folder)")
	addRequestFlag(flags, &opts.request)
	opts.AddTimeout(cmd)
	opts.Color, opts.Format, opts.Permissions = "auto", results.Text, commentPermissions
	return cmd
}

func runComment(ctx context.Context, e *cli.Host, opts *commentFlags, file string) error {
	text, err := readPreview(file)
	switch {
	case err != nil:
		return cli.Usage("%s: %w", file, cli.WithoutPath(err))
	case !utf8.Valid(text) || !gitops.IsPreview(string(text)):
		return cli.Usage("%s is no preview: write it with kalypso diff --save-comment", file)
	case utf8.RuneCount(text) > gitops.MaxComment:
		return cli.Usage("%s is too long for a comment, which has %d characters at most", file, gitops.MaxComment)
	}
	return session.Connect(ctx, &opts.Flags, e, func(ctx context.Context, s *session.Session) error {
		s.Begin("commenting on the pull request")
		if err := keepComment(ctx, s, "", opts.request, string(text)); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return s.Stopped(ctx)
		}
		return s.Finish(fmt.Sprintf("%s was not put on the pull request", file))
	})
}

// readPreview reads a file as far as a comment can be long.
func readPreview(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, utf8.UTFMax*gitops.MaxComment+1))
}
