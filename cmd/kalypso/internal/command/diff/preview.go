package diff

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// previewFlags are the flags of a preview of a pull request.
type previewFlags struct {
	comment     bool
	saveComment string
	request     string
}

func (f *previewFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.comment, "comment", false, "post the result as a pull request comment, or update it")
	addRequestFlag(flags, &f.request)
	flags.StringVar(&f.saveComment, "save-comment", "", "write the comment to this `file`, for kalypso comment")
	cli.Group(flags, cli.Publishing, "comment", "save-comment")
}

// addRequestFlag adds the flag that names a pull request.
func addRequestFlag(flags *pflag.FlagSet, request *string) {
	flags.StringVar(request, "pull-request", "", "`number` or URL of the pull request (default: the pull request of the workflow)")
	cli.Group(flags, cli.Publishing, "pull-request", "")
}

// previews reports whether there is to be a preview.
func (f *previewFlags) previews() bool { return f.comment || f.saveComment != "" || f.request != "" }

// pullRequest is the pull request that a workflow runs for.
type pullRequest struct {
	number int
	// base is the branch that it goes to, and merge the commit that merging it would make.
	base, merge string
}

var mergeRef = regexp.MustCompile(`^refs/pull/([1-9][0-9]{0,9})/merge$`)

// runningFor returns the pull request that the workflow runs for; nil for none. On pull_request_target there is none: there the
// commit is that of the branch.
func runningFor(env func(string) string) *pullRequest {
	ref := mergeRef.FindStringSubmatch(env("GITHUB_REF"))
	if env("GITHUB_ACTIONS") != "true" || env("GITHUB_EVENT_NAME") != "pull_request" || ref == nil {
		return nil
	}
	return &pullRequest{number: numberOf(ref[1]), base: env("GITHUB_BASE_REF"), merge: env("GITHUB_SHA")}
}

// preview tells the pull request what was found, also if that is only what is wrong with it.
func (c *comparison) preview(ctx context.Context) error {
	if !c.flags.previews() {
		return nil
	}
	text := message.PreviewComment(c.newPreview(), message.MaxComment)
	if file := c.flags.saveComment; file != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			c.Diags.Error(session.RuleSaveBody, diag.Place{}, fmt.Sprintf("--save-comment: %v", err))
		}
	}
	if !c.flags.comment {
		return nil
	}
	c.Begin("commenting on the pull request")
	return keepComment(ctx, c.Session, c.flags.repo, c.flags.request, text)
}

func (c *comparison) newPreview() message.Preview {
	p := message.Preview{Problems: c.Diags, Command: c.command, Failed: c.failedOnes}
	for _, d := range c.found {
		p.Environments = append(p.Environments, newEnvironmentPreview(d))
	}
	return p
}

func newEnvironmentPreview(d Result) message.EnvironmentPreview {
	e := message.EnvironmentPreview{Report: message.Report{Environment: d.Name, Change: d.impact.Change, Notes: slices.Concat(d.Outputs, d.Notes)}}
	for _, t := range d.Targets {
		if t.Cause == nil {
			continue
		}
		var texts []string
		reasons := d.why(t)
		for _, r := range reasons {
			texts = append(texts, r.text)
		}
		e.Causes = append(e.Causes, message.TargetCause{TargetChange: t.TargetChange, Why: strings.Join(texts, "; "), At: reasons[0].at})
	}
	return e
}

// summaryRoom is what an environment may have of the summary of a step, in bytes.
const summaryRoom = 100_000

func (c *comparison) summarize(r *actions.Report) {
	for _, d := range c.found {
		r.Results = append(r.Results, actions.Result{
			Environment: d.Name, Changed: d.differs(), Plan: d.Plan, Details: newEnvironmentPreview(d).Details(summaryRoom),
		})
	}
}

// commentPermissions are those on the repositories of a role for a run that comments.
func commentPermissions(role model.Role) *github.Needs {
	if role != model.Main {
		return nil
	}
	return &github.Needs{Required: map[string]string{"contents": "read", "pull_requests": "write"}}
}

// requestForm is the URL of a pull request.
var requestForm = regexp.MustCompile(`^(https?://[^\s?#]+)/pull/([1-9][0-9]{0,9})/?$`)

// keepComment brings the comment on a pull request up to date: on the one that is given as a number or URL, else on that
// which the workflow runs for. It is one of the application repository in, if that is not empty.
func keepComment(ctx context.Context, s *session.Session, in, given, text string) error {
	repo, number, err := findRequest(s, in, given)
	if err != nil {
		return err
	}
	known, err := s.ConnectForge(ctx, model.Main, repo)
	if err != nil {
		return err
	}
	if known.Repo == nil {
		return cli.Usage("cannot comment on the pull request: %s", cmp.Or(known.Note, repo+" is not on GitHub"))
	}
	kept, err := known.Repo.KeepComment(ctx, number, message.IsPreview, text)
	if err != nil {
		return s.Fail(diag.Place{}, err)
	}
	line := fmt.Sprintf("comment on #%d %s", number, kept.Action)
	if kept.URL != "" {
		line += ": " + diag.Safe(kept.URL)
	}
	fmt.Fprintln(s.Stderr, line)
	return nil
}

// findRequest returns the repository of a pull request, in normal form, and its number.
func findRequest(s *session.Session, in, given string) (repo string, number int, err error) {
	if url := requestForm.FindStringSubmatch(given); url != nil {
		if repo, err = giturl.NormalURL(url[1]); err != nil {
			return "", 0, cli.Usage("--pull-request %s: %w", given, err)
		}
		if own, err := giturl.NormalURL(in); in != "" && (err != nil || own != repo) {
			return "", 0, cli.Usage("--pull-request %s is not in the repository %s", given, in)
		}
		return repo, numberOf(url[2]), nil
	}
	running := runningFor(s.Env)
	if in != "" {
		running = nil // it is of the control plane
	}
	if number = numberOf(given); given == "" && running != nil {
		number = running.number
	}
	if number == 0 && given == "" {
		return "", 0, cli.Usage("required flag: --pull-request")
	}
	if number == 0 {
		return "", 0, cli.InvalidValue("pull-request", given, "the number or URL of a pull request")
	}
	if running != nil {
		repo, err = giturl.NormalURL(s.Env("GITHUB_SERVER_URL") + "/" + s.Env("GITHUB_REPOSITORY"))
		return repo, number, err
	}
	if repo = in; repo == "" {
		repo, err = s.Flags.FindControlPlane(s.Host)
	}
	if err == nil {
		repo, err = s.Reader.Where(model.Ref{Repo: repo, Role: model.Main})
	}
	return repo, number, err
}

// numberOf reads the number of a pull request; 0 if it is none.
func numberOf(text string) int {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

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
		Short: "Post a saved preview as a pull request comment",
		Long: `Post a pull request comment with the text in FILE, which "kalypso diff --save-comment FILE" wrote, or
update the comment of an earlier run.

Use it for pull requests from forks, whose workflows get no secrets: one workflow saves the preview,
and another one, which the fork cannot change, posts it. Take the number of the pull request from
the workflow event, not from a file of the first workflow: the author of the pull request can change
that file, and the text, too.`,
		Example: `  kalypso comment --pull-request https://github.com/acme/control-plane/pull/12 preview.md
  kalypso comment --pull-request 12 --control-plane https://github.com/acme/control-plane preview.md`,
		Args: cli.Args(1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return runComment(cmd.Context(), e, opts, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.ControlPlane, "control-plane", "", "URL or `path` of the control plane (default: the workflow's repository, or the repository in the current directory)")
	addRequestFlag(flags, &opts.request)
	opts.AddTimeout(cmd)
	cli.Group(flags, cli.Source, "control-plane", "")
	opts.Color, opts.Format, opts.Permissions = "auto", results.Text, commentPermissions
	return cmd
}

func runComment(ctx context.Context, e *cli.Host, opts *commentFlags, file string) error {
	text, err := readPreview(file)
	switch {
	case err != nil:
		return cli.Usage("%s: %w", file, cli.WithoutPath(err))
	case !utf8.Valid(text) || !message.IsPreview(string(text)):
		return cli.Usage("%s is not a preview: write it with kalypso diff --save-comment", file)
	case utf8.RuneCount(text) > message.MaxComment:
		return cli.Usage("%s is too long for a comment, which has %d characters at most", file, message.MaxComment)
	}
	return session.Connect(ctx, &opts.Flags, e, func(ctx context.Context, s *session.Session) error {
		s.Begin("commenting on the pull request")
		if err := keepComment(ctx, s, "", opts.request, string(text)); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return s.Stopped(ctx)
		}
		return s.Finish(fmt.Sprintf("%s was not posted", file))
	})
}

// readPreview reads a file as far as a comment can be long.
func readPreview(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, utf8.UTFMax*message.MaxComment+1))
}
