package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

func TestParseNetrc(t *testing.T) {
	t.Parallel()
	known := func(netrc, host string) *credentials.Credential {
		file := filepath.Join(t.TempDir(), "netrc")
		require.NoError(t, os.WriteFile(file, []byte(netrc), 0o600))
		a, err := giturl.ParseAddress("https://" + host + "/acme/shop")
		require.NoError(t, err)
		c, err := credentials.NewKeyring(gitopstest.Environment("NETRC", file), nil, nil).Known(t.Context(), model.Tenant, a)
		require.NoError(t, err)
		return c
	}
	const netrc = `
machine A.example login u password p account x
macdef init
machine evil.example password stolen

machine b.example password q
machine c.example login nobody
default login anonymous password everywhere
`
	assert.Equal(t, &credentials.Credential{User: "u", Password: "p", Origin: "netrc"}, known(netrc, "a.example"))
	assert.Equal(t, &credentials.Credential{Password: "q", Origin: "netrc"}, known(netrc, "b.example"))
	for _, host := range []string{"evil.example", "c.example", "x", "d.example"} {
		assert.Nil(t, known(netrc, host), host)
	}
	assert.Nil(t, known("machine", "a.example"))
	assert.Nil(t, known("password x login y", "y"))
}

func TestGitCredential(t *testing.T) {
	home := t.TempDir()
	config := filepath.Join(home, "config")
	require.NoError(t, os.WriteFile(config, []byte("[credential]\n\thelper = \"!f() { test \\\"$1\\\" = get && echo username=me && echo password=from-helper; }; f\"\n"), 0o600))
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	name, password, err := credentials.GitCredential(t.Context(), "https", "example.com", "/acme/shop", "")
	require.NoError(t, err)
	assert.Equal(t, "me", name)
	assert.Equal(t, "from-helper", password)

	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	name, password, err = credentials.GitCredential(t.Context(), "https", "example.com", "/acme/shop", "")
	require.NoError(t, err)
	assert.Empty(t, name+password, "nobody is asked, and nobody answers")

	_, _, err = credentials.GitCredential(t.Context(), "https", "example.com\nhost=evil.example", "/x", "")
	require.Error(t, err)
}

// TestS10CredentialHelpersOfRepositories runs in a work tree whose configuration names a program, as a helper and in a bare
// repository below it. Only helpers of the user are asked, without what is secret to kalypso.
func TestS10CredentialHelpersOfRepositories(t *testing.T) {
	work, home := t.TempDir(), t.TempDir()
	gitopstest.RunGit(t, work, "init", "-q")
	ran := filepath.Join(home, "ran")
	gitopstest.RunGit(t, work, "config", "credential.helper", "!touch '"+ran+"'; :")
	config, seen := filepath.Join(home, "config"), filepath.Join(home, "seen")
	require.NoError(t, os.WriteFile(config, []byte("[credential]\n\thelper = \"!f() { env | grep -e s3cr3t -e ^SSH_AUTH_SOCK > '"+seen+"'; ls -A >> '"+seen+"'; echo username=me; echo password=from-helper; }; f\"\n"), 0o600))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, name := range []string{credentials.EnvGitHub, credentials.EnvGH, credentials.EnvSource, "KALYPSO_OTHER_TOKEN", "KALYPSO_GITHUB_APP_PRIVATE_KEY_FILE"} {
		t.Setenv(name, "s3cr3t")
	}
	t.Setenv("SSH_AUTH_SOCK", "/agent")
	t.Chdir(work)
	for _, dir := range []string{"", filepath.Join(work, ".git")} {
		if dir != "" {
			t.Setenv("GIT_DIR", dir)
			t.Setenv("TMPDIR", work)
		}
		t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
		_, password, err := credentials.GitCredential(t.Context(), "https", "example.com", "/acme/shop", "")
		require.NoError(t, err)
		assert.Empty(t, password)
		assert.NoFileExists(t, ran, "GIT_DIR=%s", dir)

		t.Setenv("GIT_CONFIG_GLOBAL", config)
		_, password, err = credentials.GitCredential(t.Context(), "https", "example.com", "/acme/shop", "")
		require.NoError(t, err)
		assert.Equal(t, "from-helper", password)
		environ, err := os.ReadFile(seen)
		require.NoError(t, err)
		assert.NotContains(t, string(environ), "s3cr3t")
		assert.Contains(t, string(environ), "SSH_AUTH_SOCK=/agent")
		assert.NotContains(t, string(environ), "\n.git\n", "the directory is empty")
	}
	left, err := filepath.Glob(filepath.Join(work, "kalypso-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestS11HostsThatLookAlike(t *testing.T) {
	t.Parallel()
	k := credentials.NewKeyring(gitopstest.Environment(credentials.EnvGitHub, "token-github"), nil, nil)
	for name, want := range map[string]bool{
		"https://github.com/a/b": true, "https://GITHUB.com:443/a/b": true, "https://github.com./a/b": true,
		"https://github.com:8443/a/b": false, "https://gist.github.com/a/b": false, "https://github.com.evil.example/a": false,
		"https://evilgithub.com/a": false, "https://xn--gthub-n4a.com/a": false, "http://github.com/a/b": false,
	} {
		a, err := giturl.ParseAddress(name)
		require.NoError(t, err, name)
		c, err := k.Known(t.Context(), model.Tenant, a)
		require.NoError(t, err, name)
		assert.Equal(t, want, c != nil, name)
	}
}

func TestS12CredentialsDoNotPrint(t *testing.T) {
	t.Parallel()
	c := credentials.Credential{User: "me", Password: "hunter2", Origin: "netrc"}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%+v", &c)} {
		assert.NotContains(t, text, "hunter2")
	}
}
