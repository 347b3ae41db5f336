package local

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
)

// gitProgram pushes to a repository on this machine with the git program, so that hooks, locks and settings work as for any
// push.
type gitProgram struct{ dir string }

// ReceivePack implements wire.Sender.
func (g gitProgram) ReceivePack(at wire.Attempt, build func(*packp.AdvRefs) (*packp.ReferenceUpdateRequest, error)) (*packp.ReportStatus, error) {
	ctx, stop := context.WithCancel(at.Ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, "git", "receive-pack", g.dir)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "GIT_DIR=") || strings.HasPrefix(variable, "GIT_PROTOCOL=")
	})
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it removes its temporary files
	cmd.WaitDelay = time.Second
	var problems bytes.Buffer
	cmd.Stderr = &problems
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, giterror.New(giterror.RuleRemoteFailed, "a push to %s needs the git program: %v", g.dir, err).WithHint("install git")
	}
	report, err := talk(&wire.LiveReader{ReadCloser: out, At: at}, in, build)
	stop()
	if ended := cmd.Wait(); err != nil && ended != nil && problems.Len() > 0 && !errors.Is(err, giterror.ErrConflict) {
		err = &wire.ServerError{Text: giterror.OneLine(problems.String())}
	}
	return report, err
}

func talk(out io.Reader, in io.WriteCloser, build func(*packp.AdvRefs) (*packp.ReferenceUpdateRequest, error)) (*packp.ReportStatus, error) {
	refs := packp.NewAdvRefs()
	if err := refs.Decode(out); err != nil && !errors.Is(err, packp.ErrEmptyAdvRefs) {
		return nil, wire.AsServerError(err)
	}
	request, err := build(refs)
	if request == nil {
		_, _ = in.Write(pktline.FlushPkt) // so that it ends without an error
		_ = in.Close()
		return nil, err
	}
	err = request.Encode(in)
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	return wire.ReadReport(out, request)
}

// Sender returns a connection for a push.
func (r *Repository) Sender(context.Context) (wire.Sender, error) { return gitProgram{r.dir}, nil }

// ExplainPush turns the failure of a push of branches into an Error.
func (r *Repository) ExplainPush(err error, branches string) *giterror.Error {
	known, ok := errors.AsType[*giterror.Error](err)
	switch {
	case ok:
		return known
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return giterror.New(giterror.RuleRemoteFailed, "pushing to %s was interrupted", r).WithCause(err)
	default:
		return giterror.New(giterror.RuleRemoteFailed, "push %s to %s: %s", branches, r, giterror.OneLine(err.Error()))
	}
}
