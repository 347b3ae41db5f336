package gitopstest

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
)

// SSHServer is an ssh server on loopback that serves bare repositories below a folder, to one key.
type SSHServer struct {
	// URL is the server's, without a slash at the end: "ssh://git@127.0.0.1:port".
	URL string
	// KnownHosts is a file with the server's key.
	KnownHosts string
	// AgentSocket is an SSH agent that has the key.
	AgentSocket string

	root   string
	config *ssh.ServerConfig
}

// NewSSHServer starts a server and an agent that live as long as the test. It changes nothing in the
// environment: SSH_AUTH_SOCK and SSH_KNOWN_HOSTS are the test's to set.
func NewSSHServer(t testing.TB, root string) *SSHServer {
	t.Helper()
	hostKey, userKey := newKey(t), newKey(t)
	host, err := ssh.NewSignerFromKey(hostKey)
	check(t, err)
	user, err := ssh.NewSignerFromKey(userKey)
	check(t, err)
	s := &SSHServer{root: root, config: &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if string(key.Marshal()) != string(user.PublicKey().Marshal()) {
				return nil, errors.New("unknown key")
			}
			return &ssh.Permissions{}, nil
		},
	}}
	s.config.AddHostKey(host)

	dir := t.TempDir()
	s.KnownHosts, s.AgentSocket = filepath.Join(dir, "known_hosts"), filepath.Join(dir, "agent")
	address := listen(t, "tcp", "127.0.0.1:0", s.serve)
	s.URL = "ssh://git@" + address
	line := knownhosts.Line([]string{address}, host.PublicKey())
	check(t, os.WriteFile(s.KnownHosts, []byte(line+"\n"), 0o600))

	keys := agent.NewKeyring()
	check(t, keys.Add(agent.AddedKey{PrivateKey: &userKey}))
	listen(t, "unix", s.AgentSocket, func(c net.Conn) { _ = agent.ServeAgent(keys, c) })
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	return key
}

// listen serves connections until the test ends and returns the address.
func listen(t testing.TB, network, address string, serve func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen(network, address)
	check(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return listener.Addr().String()
}

func (s *SSHServer) serve(c net.Conn) {
	connection, channels, requests, err := ssh.NewServerConn(c, s.config)
	if err != nil {
		return
	}
	defer connection.Close()
	go ssh.DiscardRequests(requests)
	for open := range channels {
		channel, requests, err := open.Accept()
		if err != nil {
			return
		}
		go s.session(channel, requests)
	}
}

var gitCommand = regexp.MustCompile(`^git-(upload-pack|receive-pack) '/?([^']+)'$`)

func (s *SSHServer) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for request := range requests {
		if request.Type != "exec" {
			_ = request.Reply(false, nil)
			continue
		}
		_ = request.Reply(true, nil)
		var payload struct{ Command string }
		_ = ssh.Unmarshal(request.Payload, &payload)
		code := s.run(payload.Command, channel)
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
		return
	}
}

func (s *SSHServer) run(line string, channel ssh.Channel) uint32 {
	m := gitCommand.FindStringSubmatch(line)
	if m == nil || strings.Contains(m[2], "..") {
		_, _ = io.WriteString(channel.Stderr(), "ERROR: Repository not found.\n")
		return 1
	}
	dir := filepath.Join(s.root, filepath.FromSlash(m[2]))
	if _, err := os.Stat(dir); err != nil {
		_, _ = io.WriteString(channel.Stderr(), "ERROR: Repository not found.\n")
		return 1
	}
	cmd := command("", m[1], dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = channel, channel, channel.Stderr()
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		return uint32(exit.ExitCode())
	}
	return 0
}
