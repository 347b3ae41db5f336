package gitopstest

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"encoding/pem"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// Shop is an application repository with files that are read and files that are not.
func Shop() Files {
	return Files{
		".sourceignore":         "docs/\n",
		".environments/dev.yml": "kind: Environment\n",
		".github/ci.yaml":       "on: push\n",
		"README.md":             "# shop\n",
		"docs/guide.yaml":       "a: 1\n",
		"workload/shop.yaml":    "kind: Workload\n",
		"workload/big.bin":      strings.Repeat("x", 1000),
		"workload/a/b/deep.yml": "kind: ConfigMap\n",
	}
}

// Content returns the text of a file.
func Content(t testing.TB, fsys fs.FS, name string) string {
	t.Helper()
	data, err := fs.ReadFile(fsys, name)
	check(t, err)
	return string(data)
}

// NewBare makes a bare repository in a new folder and returns the ids of its commits.
func NewBare(t testing.TB, commits ...Commit) (dir string, ids []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "repo.git")
	ids, err := Bare(dir, commits...)
	check(t, err)
	return dir, ids
}

// RunGit runs git in a folder and returns what it prints, without blanks around it.
func RunGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := Git(dir, args...)
	check(t, err)
	return strings.TrimSpace(out)
}

// Write writes files into a folder.
func Write(t testing.TB, dir string, files Files) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		check(t, os.MkdirAll(filepath.Dir(file), 0o755))
		check(t, os.WriteFile(file, []byte(text), 0o600))
	}
}

// Environment returns the environment with variables, given as names and values in turn.
func Environment(pairs ...string) func(string) string {
	values := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return values[name] }
}

// Authority returns the host and port of a URL.
func Authority(t testing.TB, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	check(t, err)
	return u.Host
}

// WithPassword lets in only requests with a password.
func WithPassword(password string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return BasicAuth(password, next) }
}

// ShownSecrets returns the secrets that a server was shown, in order, without repetitions.
func ShownSecrets(server *Server) []string {
	var secrets []string
	for _, request := range server.Requests() {
		_, secret, _ := (&http.Request{Header: http.Header{"Authorization": {request.Authorization}}}).BasicAuth()
		if len(secrets) == 0 || secrets[len(secrets)-1] != secret {
			secrets = append(secrets, secret)
		}
	}
	return secrets
}

// SigningKey returns a key that signs commits, as a file of OpenSSH, and its public half. It is always the same.
func SigningKey(t testing.TB) (file []byte, public ed25519.PublicKey) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	return PrivateKeyFile(t, key), key.Public().(ed25519.PublicKey)
}

// PrivateKeyFile returns a private key as a file of OpenSSH.
func PrivateKeyFile(t testing.TB, key crypto.PrivateKey) []byte {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "test")
	check(t, err)
	return pem.EncodeToMemory(block)
}
