package remote

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

func sshRepo(t *testing.T) (server *gitopstest.SSHServer, dir string, ids []string) {
	t.Helper()
	root := t.TempDir()
	dir = filepath.Join(root, "acme", "shop.git")
	ids, err := gitopstest.Bare(dir,
		gitopstest.Commit{Files: gitopstest.Shop()}, gitopstest.Commit{Files: gitopstest.Files{"a.yaml": "2\n"}})
	require.NoError(t, err)
	server = gitopstest.NewSSHServer(t, root)
	t.Setenv("SSH_AUTH_SOCK", server.AgentSocket)
	t.Setenv("SSH_KNOWN_HOSTS", server.KnownHosts)
	return server, dir, ids
}

func TestSSH(t *testing.T) {
	server, dir, ids := sshRepo(t)
	for _, setting := range []string{"true", "false"} {
		gitopstest.RunGit(t, dir, "config", "uploadpack.allowAnySHA1InWant", setting)
		r := newReader(t, Options{})
		ref := model.Ref{Repo: server.URL + "/acme/shop.git", Branch: "main", At: yamlPlace()}
		source := readOne(t, r, ref)
		assert.Equal(t, "2\n", gitopstest.Content(t, source.FS, "a.yaml"))
		assert.Equal(t, ids[1], source.Commit)
		ref.Commit = ids[0]
		source = readOne(t, r, ref)
		assert.Equal(t, "kind: Workload\n", gitopstest.Content(t, source.FS, "workload/shop.yaml"))
		assert.Equal(t, "# shop\n", gitopstest.Content(t, source.FS, "README.md"))
	}
}

func TestSSHErrors(t *testing.T) {
	server, _, _ := sshRepo(t)
	limits := wire.Limits{Stall: 5 * time.Second}
	ref := model.Ref{Repo: server.URL + "/acme/nope.git", Branch: "main", At: yamlPlace()}
	d := readError(t, newReader(t, Options{Limits: limits}), ref)
	assert.Equal(t, giterror.RuleAccessDenied, d.Rule)
	assert.Contains(t, d.Message, "was not found, or the credentials may not see it: over ssh, with the keys of the agent")

	ref.Repo = server.URL + "/acme/shop.git"
	other := gitopstest.NewSSHServer(t, t.TempDir())
	t.Setenv("SSH_AUTH_SOCK", other.AgentSocket)
	d = readError(t, newReader(t, Options{Limits: limits}), ref)
	assert.Equal(t, giterror.RuleAccessDenied, d.Rule)
	assert.Contains(t, d.Message, "unable to authenticate")

	t.Setenv("SSH_AUTH_SOCK", "")
	d = readError(t, newReader(t, Options{Limits: limits}), ref)
	assert.Equal(t, giterror.RuleAccessDenied, d.Rule)
	assert.Contains(t, d.Message, "SSH agent not found")
	assert.Contains(t, d.Hint, "ssh-add")

	t.Setenv("SSH_AUTH_SOCK", server.AgentSocket)
	t.Setenv("SSH_KNOWN_HOSTS", other.KnownHosts)
	d = readError(t, newReader(t, Options{Limits: limits}), ref)
	assert.Equal(t, giterror.RuleAccessDenied, d.Rule)
	assert.Contains(t, d.Message, "the host is not in known_hosts")

	t.Setenv("SSH_KNOWN_HOSTS", filepath.Join(t.TempDir(), "none"))
	d = readError(t, newReader(t, Options{Limits: limits}), ref)
	assert.Contains(t, d.Message, "known_hosts")

	require.NoError(t, os.WriteFile(other.KnownHosts, nil, 0o600))
	t.Setenv("SSH_KNOWN_HOSTS", server.KnownHosts)
	ref.Repo = "ssh://git@127.0.0.1:1/acme/shop.git"
	d = readError(t, newReader(t, Options{Limits: limits}), ref)
	assert.Equal(t, giterror.RuleHostUnreachable, d.Rule)
	assert.Contains(t, d.Message, "127.0.0.1:1 cannot be reached: connection refused")
}
