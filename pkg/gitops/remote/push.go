package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// RefUpdate is a compare-and-swap of one branch: the server rejects it if the branch is not at Old.
type RefUpdate struct {
	Branch string
	// Old is zero if the branch must not exist.
	Old, New plumbing.Hash
}

// PushOrder is one push: all of its updates, or none.
type PushOrder struct {
	Updates []RefUpdate
	// Expect are the commits that other branches must still have.
	Expect map[string]plumbing.Hash
	// Pack writes the new objects. It is called once per attempt.
	Pack func(ctx context.Context, w io.Writer) error
	// Options are push options, sent if the server supports them.
	Options []string
	Purpose PushPurpose
}

// PushPurpose is the purpose of a push, on which the hint of a refusal depends.
type PushPurpose uint8

const (
	// toPublish an output, with or without a pull request.
	toPublish PushPurpose = iota
	// ToPromote a commit by changing the branch of an environment.
	ToPromote
	// ToPropose such a promotion by a pull request.
	ToPropose
)

// settled compares the current branches of a server with a push: it is done, or the error wraps giterror.ErrConflict.
func (o PushOrder) settled(branches map[string]plumbing.Hash) (done bool, err error) {
	done = true
	for _, u := range o.Updates {
		switch branches[u.Branch] {
		case u.New:
		case u.Old:
			done = false
		default:
			return false, fmt.Errorf("branch %q: %w", u.Branch, giterror.ErrConflict)
		}
	}
	for branch, id := range o.Expect {
		if branches[branch] != id {
			return false, fmt.Errorf("branch %q: %w", branch, giterror.ErrConflict)
		}
	}
	return done, nil
}

// request returns the request for a server with refs; nil if there is nothing left to do.
func (o PushOrder) request(at wire.Attempt, refs *packp.AdvRefs) (*packp.ReferenceUpdateRequest, error) {
	done, err := o.settled(wire.Branches(refs))
	if err != nil || done {
		return nil, err
	}
	r := packp.NewReferenceUpdateRequest()
	wanted := []capability.Capability{capability.ReportStatus, capability.Sideband64k, capability.Atomic}
	if len(o.Options) > 0 {
		wanted = append(wanted, capability.PushOptions)
	}
	for _, c := range wanted {
		if refs.Capabilities.Supports(c) {
			_ = r.Capabilities.Set(c) // fails only for flags with a value
		}
	}
	for _, option := range o.Options {
		key, value, _ := strings.Cut(option, "=")
		r.Options = append(r.Options, &packp.Option{Key: key, Value: value})
	}
	for _, u := range o.Updates {
		r.Commands = append(r.Commands, &packp.Command{Name: plumbing.NewBranchReferenceName(u.Branch), Old: u.Old, New: u.New})
	}
	r.Packfile = o.stream(at)
	return r, nil
}

func (o PushOrder) stream(at wire.Attempt) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(o.Pack(at.Ctx, writer)) }()
	return &wire.LiveReader{ReadCloser: reader, At: at}
}

// maxPushText is the maximum length of the output of a server that is kept, in bytes.
const maxPushText = 8 << 10

// pushText keeps the output of a server, which contains the reasons of a refusal.
type pushText struct {
	text  []byte
	alive func()
}

func (t *pushText) Write(b []byte) (int, error) {
	t.alive()
	t.text = append(t.text, b[:min(len(b), maxPushText-len(t.text))]...)
	return len(b), nil
}

// pushRefused is the error of a server that refuses a push.
type pushRefused struct {
	// reason is the status of the branch, text the output of the server.
	reason, text string
}

func (e *pushRefused) Error() string {
	return "the server refuses the push: " + giterror.OneLine(e.reason)
}

// push executes an order, with retries.
func push(ctx context.Context, n *wire.Network, to Repository, order PushOrder) error {
	for try := 1; ; try++ {
		err := pushOnce(ctx, n, to, order)
		if err == nil || errors.Is(err, giterror.ErrConflict) {
			return err
		}
		if ctx.Err() != nil {
			return to.ExplainPush(giterror.Interrupted(ctx), order.names())
		}
		if branches, unread := to.Tips(ctx); unread == nil {
			if done, moved := order.settled(branches); done || moved != nil {
				return moved
			}
		}
		pause, worthwhile := wire.PauseAfter(err, try)
		if !worthwhile || try == wire.Tries {
			return explainPush(to, err, order)
		}
		if err := n.Wait(ctx, pause, err); err != nil {
			return to.ExplainPush(giterror.Interrupted(ctx), order.names())
		}
	}
}

// CheckPush reports whether the credentials may push to the repository of a ref. It pushes nothing and does not check the
// rules for branches. The error is an *Error.
func (r *Reader) CheckPush(ctx context.Context, ref model.Ref) error {
	at, err := r.Locate(ref)
	if err != nil {
		return r.Clean(err)
	}
	to, err := r.Repository(ctx, at, ref.Role)
	if err != nil || to == nil {
		return r.Clean(at.Explain(err))
	}
	err = r.net.Retry(ctx, nil, func(at wire.Attempt) error {
		s, err := to.Sender(at.Ctx)
		if err != nil {
			return err
		}
		_, err = s.ReceivePack(at, func(*packp.AdvRefs) (*packp.ReferenceUpdateRequest, error) { return nil, nil })
		return err
	})
	if err == nil {
		return nil
	}
	return r.Clean(to.ExplainPush(err, ref.Branch))
}

func pushOnce(ctx context.Context, n *wire.Network, to Repository, order PushOrder) error {
	s, err := to.Sender(ctx)
	if err != nil {
		return err
	}
	return n.Once(ctx, nil, func(at wire.Attempt) error {
		said := &pushText{alive: at.Alive}
		pack := io.NopCloser(nil)
		report, err := s.ReceivePack(at, func(refs *packp.AdvRefs) (*packp.ReferenceUpdateRequest, error) {
			request, err := order.request(at, refs)
			if request != nil {
				request.Progress, pack = said, request.Packfile
			}
			return request, err
		})
		_ = pack.Close() // it may not have been read to its end
		if report == nil {
			return err
		}
		return judge(report, order, string(said.text))
	})
}

func judge(report *packp.ReportStatus, order PushOrder, said string) error {
	if report.UnpackStatus != "ok" {
		return &pushRefused{"unpack: " + report.UnpackStatus, said}
	}
	for _, status := range report.CommandStatuses {
		if err := status.Error(); err != nil {
			return &pushRefused{status.Status, said}
		}
	}
	if len(report.CommandStatuses) < len(order.Updates) {
		return &pushRefused{"it does not report on all branches", said}
	}
	return nil
}

func (o PushOrder) names() string {
	names := make([]string, len(o.Updates))
	for i, u := range o.Updates {
		names[i] = u.Branch
	}
	return strings.Join(names, ", ")
}
