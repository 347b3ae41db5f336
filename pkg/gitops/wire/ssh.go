package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
)

// SSH implements git's protocol over SSH, with the keys of the SSH agent and the hosts of known_hosts. Each request has its
// own connection.
type SSH struct {
	client   transport.Transport
	endpoint *transport.Endpoint
	azure    bool
}

// dialTimeout is the timeout of connecting.
const dialTimeout = 30 * time.Second

// NewSSH returns a connection to a repository over SSH, with the keys of the agent.
func NewSSH(a giturl.Address) (*SSH, error) {
	endpoint := &transport.Endpoint{Protocol: "ssh", User: a.User, Host: a.Host, Path: a.Path}
	if endpoint.User == "" {
		endpoint.User = gitssh.DefaultUsername
	}
	if a.Port != "" {
		port, err := strconv.Atoi(a.Port)
		if err != nil {
			return nil, err
		}
		endpoint.Port = port
	}
	return &SSH{client: gitssh.NewClient(nil), endpoint: endpoint, azure: azureHost(a.Host)}, nil
}

// azureHost reports whether a host is Azure DevOps, which serves only clients that can multi_ack.
// go-git hides the capabilities of the server, so the host decides.
func azureHost(host string) bool {
	return strings.HasSuffix(host, ".dev.azure.com") || strings.HasSuffix(host, ".visualstudio.com")
}

// SSHError is the error of a refused connection.
type SSHError struct {
	err  error
	Hint string
}

func (e *SSHError) Error() string { return e.err.Error() }
func (e *SSHError) Unwrap() error { return e.err }

// agentKeys authenticates with the SSH agent, and accepts the hosts in known_hosts with the types of keys there.
type agentKeys struct {
	*gitssh.PublicKeysCallback
	host string
}

// ClientConfig implements gitssh.AuthMethod.
func (k agentKeys) ClientConfig() (*ssh.ClientConfig, error) {
	hosts, err := gitssh.NewKnownHostsDb()
	if err != nil {
		return nil, &SSHError{err, "ssh-keyscan prints what belongs into ~/.ssh/known_hosts; compare it first"}
	}
	return &ssh.ClientConfig{
		User:              k.User,
		Auth:              []ssh.AuthMethod{ssh.PublicKeysCallback(k.Callback)},
		HostKeyCallback:   hosts.HostKeyCallback(),
		HostKeyAlgorithms: hosts.HostKeyAlgorithms(k.host),
		Timeout:           dialTimeout,
	}, nil
}

func (w *SSH) connect(ctx context.Context) (transport.UploadPackSession, error) {
	return connectSSH(ctx, w, w.client.NewUploadPackSession)
}

// connectSSH opens a session. go-git cannot be interrupted, so a goroutine closes the session later.
func connectSSH[S io.Closer](ctx context.Context, w *SSH, open func(*transport.Endpoint, transport.AuthMethod) (S, error)) (none S, err error) {
	agent, err := gitssh.NewSSHAgentAuth(w.endpoint.User)
	if err != nil {
		return none, &SSHError{errors.New("SSH agent not found"), "start one (`ssh-agent`, `ssh-add`), or name the repository by its https URL"}
	}
	port := max(w.endpoint.Port, 0)
	if port == 0 {
		port = gitssh.DefaultPort
	}
	keys := agentKeys{agent, net.JoinHostPort(strings.Trim(w.endpoint.Host, "[]"), strconv.Itoa(port))}
	type outcome struct {
		session S
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		session, err := open(w.endpoint, keys)
		done <- outcome{session, err}
	}()
	select {
	case o := <-done:
		return o.session, asSSHError(o.err)
	case <-ctx.Done():
		go func() {
			if o := <-done; o.err == nil {
				_ = o.session.Close()
			}
		}()
		return none, ctx.Err()
	}
}

// asSSHError distinguishes a host that cannot be reached from one that refuses access.
func asSSHError(err error) error {
	var network net.Error
	switch {
	case err == nil:
		return nil
	case knownhosts.IsHostKeyChanged(err):
		return &SSHError{errors.New("the host's key is not the one in known_hosts"), "find out why before you change known_hosts"}
	case knownhosts.IsHostUnknown(err):
		return &SSHError{errors.New("the host is not in known_hosts"), "ssh-keyscan prints what belongs into ~/.ssh/known_hosts; compare it first"}
	case errors.As(err, &network), errors.Is(err, io.EOF):
		return BrokenError{err}
	default:
		return &SSHError{err: err}
	}
}

// Advertise returns the references and capabilities for reading.
func (w *SSH) Advertise(at Attempt) (*packp.AdvRefs, error) {
	session, err := w.connect(at.Ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return w.advertised(at, session)
}

func (w *SSH) advertised(at Attempt, session transport.UploadPackSession) (*packp.AdvRefs, error) {
	refs, err := session.AdvertisedReferencesContext(at.Ctx)
	at.Alive()
	switch {
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return packp.NewAdvRefs(), nil
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return nil, &SSHError{err: err}
	case err != nil:
		return nil, AsServerError(err)
	}
	if w.azure {
		return refs, refs.Capabilities.Set(capability.MultiACKDetailed)
	}
	return refs, nil
}

// UploadPack requests a pack. The result may be divided into side bands.
func (w *SSH) UploadPack(at Attempt, request *packp.UploadPackRequest) (io.ReadCloser, error) {
	session, err := w.connect(at.Ctx)
	if err != nil {
		return nil, err
	}
	if _, err := w.advertised(at, session); err != nil {
		_ = session.Close()
		return nil, err
	}
	response, err := session.UploadPack(at.Ctx, request)
	if err != nil {
		_ = session.Close()
		return nil, &ServerError{giterror.OneLine(fmt.Sprint(err))}
	}
	return &LiveReader{ReadCloser: response, At: at}, nil
}

// ReceivePack sends the request that build returns for the references of the server; nothing if it is nil.
func (w *SSH) ReceivePack(at Attempt, build func(*packp.AdvRefs) (*packp.ReferenceUpdateRequest, error)) (*packp.ReportStatus, error) {
	session, err := connectSSH(at.Ctx, w, w.client.NewReceivePackSession)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	refs, err := session.AdvertisedReferencesContext(at.Ctx)
	at.Alive()
	if err != nil {
		return nil, AsServerError(err)
	}
	request, err := build(refs)
	if request == nil {
		return nil, err
	}
	report, err := session.ReceivePack(at.Ctx, request)
	if report != nil { // it contains its error
		return report, nil
	}
	return nil, AsServerError(err)
}
