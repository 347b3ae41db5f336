// Package server reads and writes Git repositories on servers, over https and ssh, within limits. It fetches only what is
// needed.
package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// protocol is the connection to a git server over HTTP or SSH.
type protocol interface {
	Advertise(wire.Attempt) (*packp.AdvRefs, error)
	UploadPack(wire.Attempt, *packp.UploadPackRequest) (io.ReadCloser, error)
	wire.Sender
}

// Connection is a connection to a repository on a server, with one credential.
type Connection struct {
	At   giturl.Location
	Role model.Role
	Net  *wire.Network
	Keys *credentials.Keyring
	// Budget is nil for the platform's repositories.
	Budget *wire.Budget
	wire   protocol
}

// advertisement is the list of references and capabilities of a server.
type advertisement struct {
	capabilities *capability.List
	// branches are the tips by name; head is the name of the branch that HEAD points to.
	branches map[string]plumbing.Hash
	head     string
	// tags are the commits of the tags by name.
	tags map[string]plumbing.Hash
	// advertised are all listed ids.
	advertised map[plumbing.Hash]bool
	// anyID is true if the server accepts wants that it did not list.
	anyID bool
}

// overHTTP returns an HTTP connection to the server with a credential, or without one if c is nil.
func (s *Connection) overHTTP(c *credentials.Credential) *wire.HTTP {
	w := wire.NewHTTP(s.Net.Transport, s.At.Address, c)
	if s.Role == model.Tenant {
		w.Restrict()
	}
	return w
}

// Connect lists the references with the known credential, or without one and then, if the server requires one, with that
// of git's credential helpers.
func (s *Connection) Connect(ctx context.Context, known *credentials.Credential) (*Repository, error) {
	found, err := s.connect(ctx, known)
	if err != nil {
		return nil, s.explain(err)
	}
	return &Repository{Connection: s, advertisement: found}, nil
}

// Exhausted returns the error of a repository that has used up its budget, or nil.
func (s *Connection) Exhausted() error { return s.explain(s.Budget.Exhausted()) }

func (s *Connection) connect(ctx context.Context, known *credentials.Credential) (advertisement, error) {
	a := s.At.Address
	if a.Scheme == "ssh" {
		w, err := wire.NewSSH(a)
		if err != nil {
			return advertisement{}, err
		}
		s.wire = w
		return s.advertise(ctx)
	}
	s.wire = s.overHTTP(known)
	found, err := s.advertise(ctx)
	if status, ok := errors.AsType[*wire.StatusError](err); ok && known == nil && status.Code == http.StatusUnauthorized {
		if asked := s.Keys.Ask(ctx, a); asked != nil {
			s.wire = s.overHTTP(asked)
			return s.advertise(ctx)
		}
		if ctx.Err() != nil { // a helper may have been interrupted
			err = giterror.Interrupted(ctx)
		}
	}
	return found, err
}

func (s *Connection) list(ctx context.Context) (refs *packp.AdvRefs, err error) {
	err = s.Net.Retry(ctx, s.Budget, func(at wire.Attempt) (err error) {
		refs, err = s.wire.Advertise(at)
		return err
	})
	return refs, s.spend(err)
}

func (s *Connection) advertise(ctx context.Context) (advertisement, error) {
	refs, err := s.list(ctx)
	if err != nil {
		return advertisement{}, err
	}
	found := advertisement{capabilities: refs.Capabilities, branches: wire.Branches(refs), advertised: map[plumbing.Hash]bool{}, tags: map[string]plumbing.Hash{}}
	for name, id := range refs.References {
		found.advertised[id] = true
		if tag, is := strings.CutPrefix(name, "refs/tags/"); is {
			found.tags[tag] = id
			if commit, annotated := refs.Peeled[name]; annotated {
				found.tags[tag] = commit
			}
		}
	}
	for _, value := range refs.Capabilities.Get(capability.SymRef) {
		if branch, isHead := strings.CutPrefix(value, "HEAD:refs/heads/"); isHead {
			found.head = branch
		}
	}
	_, overHTTP := s.wire.(*wire.HTTP)
	found.anyID = overHTTP || refs.Capabilities.Supports(capability.AllowReachableSHA1InWant)
	return found, nil
}

// wanted are the objects to fetch. A server without shallow or filter sends more.
type wanted struct {
	ids []plumbing.Hash
	// have is a commit whose whole history is known; zero for none.
	have plumbing.Hash
	// depth limits the history; nil does not.
	depth packp.Depth
	// filter leaves out files or trees; empty for no filter.
	filter packp.Filter
}

// request returns a request with the capabilities that client and server have in common.
func (a advertisement) request(w wanted) *packp.UploadPackRequest {
	request := packp.NewUploadPackRequestFromCapabilities(a.capabilities)
	request.Capabilities.Delete(capability.ThinPack)
	request.Capabilities.Delete(capability.Agent)
	flags := []capability.Capability{capability.NoProgress}
	request.Wants = w.ids
	if !w.have.IsZero() {
		request.Haves = []plumbing.Hash{w.have}
	}
	if w.depth != nil && a.capabilities.Supports(capability.Shallow) {
		request.Depth = w.depth
		flags = append(flags, capability.Shallow)
	}
	if w.filter != "" && a.capabilities.Supports(capability.Filter) {
		request.Filter = w.filter
		flags = append(flags, capability.Filter)
	}
	for _, flag := range flags {
		if a.capabilities.Supports(flag) {
			_ = request.Capabilities.Set(flag) // fails only for flags with a value
		}
	}
	return request
}

// pack sends a request and reads the pack of the answer. It keeps objects of one kind; plumbing.InvalidObject keeps all.
func (s *Connection) pack(ctx context.Context, request *packp.UploadPackRequest, only plumbing.ObjectType) (*gitobject.Pack, error) {
	limits := s.packLimits()
	limits.Only = only
	var p *gitobject.Pack
	err := s.Net.Retry(ctx, s.Budget, func(at wire.Attempt) error {
		answer, err := s.wire.UploadPack(at, request)
		if err != nil {
			return err
		}
		defer answer.Close()
		p, err = gitobject.ReadPack(demultiplex(answer, request), limits)
		return err
	})
	return p, s.spend(err)
}

// packLimits returns the limits for inflating a pack of the repository.
func (s *Connection) packLimits() gitobject.PackLimits {
	all := s.Net.Limits
	if s.Budget == nil {
		return gitobject.PackLimits{Object: all.Object, Tree: all.Object, Total: all.Total, Objects: all.Objects}
	}
	own := s.Budget.Limits
	return gitobject.PackLimits{Object: own.File, Tree: gitobject.MaxTreeBytes, Total: own.Total, Objects: all.Objects, Spent: &s.Budget.Packs}
}

// spend exhausts the budget of an application repository if err is a PackLimitError, so that it is not read again.
func (s *Connection) spend(err error) error {
	if _, tooMuch := errors.AsType[gitobject.PackLimitError](err); tooMuch && s.Budget != nil {
		return s.Budget.Exhaust(err)
	}
	return err
}

// demultiplex extracts the pack from the side bands, if the request enabled them.
func demultiplex(r io.Reader, request *packp.UploadPackRequest) io.Reader {
	switch {
	case request.Capabilities.Supports(capability.Sideband64k):
		return bandReader{sideband.NewDemuxer(sideband.Sideband64k, r)}
	case request.Capabilities.Supports(capability.Sideband):
		return bandReader{sideband.NewDemuxer(sideband.Sideband, r)}
	default:
		return r
	}
}

// bandReader distinguishes errors of the server, in the error band, from a broken connection.
type bandReader struct{ demuxer *sideband.Demuxer }

func (r bandReader) Read(b []byte) (int, error) {
	n, err := r.demuxer.Read(b)
	return n, wire.AsServerError(err)
}

// Sender returns a connection for a push. It is a new one, because a server may require a credential only for writing.
func (s *Connection) Sender(ctx context.Context) (wire.Sender, error) {
	w, overHTTP := s.wire.(*wire.HTTP)
	if !overHTTP {
		return s.wire, nil
	}
	again := s.overHTTP(w.Credential)
	again.Base = w.Base
	if w.Credential == nil {
		again.Credential = s.Keys.Ask(ctx, s.At.Address)
	}
	return again, nil
}

// Tips returns the current tips of all branches.
func (s *Connection) Tips(ctx context.Context) (map[string]plumbing.Hash, error) {
	refs, err := s.list(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	return wire.Branches(refs), nil
}
